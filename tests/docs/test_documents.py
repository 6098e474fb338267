"""What the documents show works: links lead somewhere, settings are accepted, programs are programs."""

import ast
import json
import re
from pathlib import Path

import pytest

from hornada.config import load

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(language: str) -> list[tuple[str, str]]:
    """Every fenced block in a language, with where it stands."""
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [
        (str(path.relative_to(ROOT)), block)
        for path in DOCUMENTS
        for block in fence.findall(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_link_leads_to_a_file_that_exists(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert missing == []


def test_every_page_is_listed() -> None:
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md") if path.name != "README.md"]
    assert [page for page in pages if f"({page})" not in listed] == []


@pytest.mark.parametrize(("where", "block"), blocks("toml"))
def test_settings_that_are_shown_are_accepted(where: str, block: str, tmp_path: Path) -> None:
    file = tmp_path / "hornada.toml"
    file.write_text(block, encoding="utf-8")
    load(file, {}, {})


@pytest.mark.parametrize(("where", "block"), blocks("python"))
def test_python_that_is_shown_is_python(where: str, block: str) -> None:
    ast.parse(block, where)


@pytest.mark.parametrize(("where", "block"), blocks("json"))
def test_lines_that_are_shown_are_json(where: str, block: str) -> None:
    for line in block.splitlines():
        assert {"custom_id", "body"} <= json.loads(line).keys()


def test_pinned_requirements_name_no_place_to_get_them_from() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        assert re.findall(r"^.*(?:://|--index|--find-links|--extra).*$", path.read_text(), re.MULTILINE) == []
