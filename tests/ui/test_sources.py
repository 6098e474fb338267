"""The dashboard's sources: words in both languages, libraries as they were published, nothing from elsewhere."""

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hornada.ui import files

STATIC = Path(files.__file__).parent / "static"
VENDOR = STATIC / "vendor"
OWN = sorted(path for path in STATIC.rglob("*.js") if VENDOR not in path.parents)
ROW = re.compile(r"^\| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \| ([0-9a-f]{64}) \|$", re.MULTILINE)
LONGEST = 400


def words(language: str) -> dict[str, str]:
    """The texts of a language by their keys."""
    found: dict[str, str] = json.loads((STATIC / "strings" / f"{language}.json").read_text(encoding="utf-8"))
    return found


def holes(text: str) -> set[str]:
    """The places in a text where values go."""
    return set(re.findall(r"\{(\w+)\}", text))


def test_both_languages_say_the_same_things_with_the_same_values() -> None:
    english, spanish = words("en"), words("es")
    assert english.keys() == spanish.keys()
    assert [key for key in english if holes(english[key]) != holes(spanish[key])] == []
    assert [key for key, text in {**english, **spanish}.items() if not text.strip()] == []


def test_every_text_that_is_asked_for_is_there_and_every_one_that_is_there_is_asked_for() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in OWN)
    known = set(words("en"))
    whole = set(re.findall(r'"([a-z_]+(?:\.[a-z_0-9]+)*)"', source))
    begun = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)*)\.\$\{", source))
    forms = {key.rsplit(".", 1)[0] for key in known if key.endswith((".one", ".other"))}
    asked = set(re.findall(r'\bt\("([^"]+)"', source)) | set(re.findall(r'\bcounted\("([^"]+)"', source)) - forms
    assert asked - known == set()
    unasked = {
        key
        for key in known
        if key not in whole
        and key.rsplit(".", 1)[0] not in whole & forms
        and not any(key.startswith(f"{each}.") for each in begun)
    }
    assert unasked == set()


def test_libraries_are_the_files_that_were_published_with_their_licences() -> None:
    rows = ROW.findall((VENDOR / "README.md").read_text(encoding="utf-8"))
    assert len(rows) >= 5
    noted = {"README.md"}
    for name, _, version, licence, text, _, digest in rows:
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert licence.split("-", maxsplit=1)[0] in (VENDOR / text).read_text(encoding="utf-8")
        noted |= {name, text}
    assert {path.name for path in VENDOR.iterdir()} == noted


def test_nothing_is_written_as_markup_or_fetched_from_elsewhere() -> None:
    for path in OWN:
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|dangerously|document\.write|eval\(", source), path
        addresses = set(re.findall(r"https?://[\w.]+", source))
        assert addresses <= {"http://127.0.0.1"}, path
    for path in STATIC.rglob("*.css"):
        assert "url(" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("path", [*OWN, *sorted((STATIC / "styles").iterdir())], ids=lambda path: path.name)
def test_a_source_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(("// ", "/* "))
    assert len(text.splitlines()) <= LONGEST


def test_every_file_of_the_dashboard_is_in_the_wheel_and_can_be_sent(tmp_path: Path) -> None:
    root = STATIC.parents[3]
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=root, check=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        packed = set(wheel.namelist())
    own = {path.relative_to(root / "src").as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert own - packed == set()
    assert {Path(name).suffix for name in own} - {".md"} <= files.MEDIA.keys()
