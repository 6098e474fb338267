"""Tables and heads of the pages."""

from collections.abc import Iterable, Sequence


def head(title: str, text: str) -> str:
    """The first lines of a page."""
    return f"<!-- Written by `make reference`; do not edit. -->\n\n# {title}\n\n{text}\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars inside cells are escaped."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def code(text: object) -> str:
    """Text set as code; an empty one stays empty."""
    return f"`{text}`" if text not in (None, "") else ""
