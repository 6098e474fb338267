"""What --help shows."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from hornada.cli.app import app

WIDTH = 80


def commands(command: Any, path: str = "hornada") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, f"{path} {name}")


@pytest.mark.parametrize(
    ("path", "command"), [pytest.param(*each, id=each[0]) for each in commands(typer.main.get_command(app))]
)
def test_no_text_is_cut(path: str, command: Any) -> None:
    shown = command.get_help(command.context_class(command, info_name=path, terminal_width=WIDTH))
    _, _, texts = shown.partition("\n")
    assert [line for line in texts.splitlines() if line.rstrip().endswith("...")] == []
