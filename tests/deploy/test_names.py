"""Whatever a deployment names of the product exists there: settings, flags, commands, routes, metrics."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from hornada.cli.app import app
from hornada.config.settings import SETTINGS
from hornada.config.sources import NO_SETTINGS
from hornada.service.metrics import NAMES
from tests.deploy.files import DEPLOY, ROOT

OF_COMPOSE = {"HORNADA_IMAGE"}
"""What compose itself replaces."""
FILES = [path for path in sorted(DEPLOY.rglob("*")) if path.is_file()]
COMMANDS = get_command(app).commands  # type: ignore[attr-defined]


def found(pattern: str) -> list[tuple[str, str]]:
    return [
        (path.relative_to(DEPLOY).as_posix(), name)
        for path in FILES
        for name in sorted(set(re.findall(pattern, path.read_text())))
    ]


def test_settings() -> None:
    known = {setting.variable for setting in SETTINGS} | NO_SETTINGS | OF_COMPOSE
    names = found(r"\bHORNADA_[A-Z0-9_]+\b")
    assert {path for path, _ in names} >= {"Dockerfile", "compose/compose.yaml", "systemd/hornada.service"}
    assert [(path, name) for path, name in names if name not in known] == []


def test_metrics() -> None:
    names = found(r"\b(?<!/)hornada_[a-z_]+\b")
    known = {*NAMES, *(f"{name}_{kind}" for name in NAMES for kind in ("bucket", "count", "sum"))}
    assert "helm/hornada/templates/worker.yaml" in {path for path, _ in names}
    assert [(path, name) for path, name in names if name not in known] == []


def test_routes() -> None:
    known = set(re.findall(r"`GET (/[a-z]+)`", (ROOT / "docs" / "reference" / "routes.md").read_text()))
    names = found(r"(?<![\w.])/(?:healthz|readyz|metrics)\b")
    assert {name for _, name in names} == {"/healthz", "/readyz", "/metrics"}
    assert [name for _, name in names if name not in known] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_commands_and_their_flags(path: Path) -> None:
    text = path.read_text()
    lines = re.findall(
        r"ExecStart=\S+ (.*)|args: \[(.*)\]|command: \[(migrate)\]|^CMD \[(\"serve\")\]", text, re.MULTILINE
    )
    for line in lines:
        words = [word.strip('",') for word in "".join(line).split()]
        flags = {name for parameter in COMMANDS[words[0]].params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= flags
