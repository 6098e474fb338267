"""Tables for people."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import typer


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows below their heads, each column as wide as it has to be."""
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def moment(seconds: float | None) -> str:
    """A time in seconds since 1970, in UTC."""
    return "-" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%SZ}"
