"""Files that are no JSONL at all, told from their beginning before anything is checked or sent."""

import shlex
from pathlib import Path

import msgspec

from hornada.client.faults import BadInput
from hornada.client.input import BLANK, opened
from hornada.core.jsonl import BOM

_HEAD = 1 << 20
_LINES = 20
_MARKS = (b",", b"\t", b";")


def refuse_strange(path: Path) -> None:
    """Raises BadInput for a table, a JSON list, JSON over several lines, text or bytes: what it is, and what helps.

    A file that may be JSONL with faults passes: its check says more.
    """
    with opened(path) as source:
        head = source.read(_HEAD + 1)
    rows = head.removeprefix(BOM).split(b"\n")
    first = [row for row in (rows[:-1] if len(head) > _HEAD else rows) if row.strip(BLANK)][:_LINES]
    found = _kind(first) if first else None
    if found is not None:
        what, helps = found
        raise BadInput(f"{path} is {what} and no JSONL, one request a line. {helps.format(shlex.quote(str(path)))}")


def _kind(rows: list[bytes]) -> tuple[str, str] | None:
    """What these first lines are, and what to do."""
    start = rows[0].strip(BLANK)
    if start.startswith(b"[") and (len(rows) == 1 or _parsed(start) is None):
        return "one JSON list", "To take it apart: jq -c '.[]' {} > requests.jsonl"
    if any(isinstance(_parsed(row), dict) for row in rows):
        return None
    if b"\0" in rows[0]:
        return "no text in UTF-8", "Unpack an archive first, and save a spreadsheet as CSV."
    if start.startswith(b"{"):
        several = "JSON over several lines", "To put each request on one: jq -c . {} > requests.jsonl"
        return several if start == b"{" else None
    if len(rows) > 1 and any(all(mark in row for row in rows[:5]) for mark in _MARKS):
        return "a table", "Called .csv, hornada submit and hornada run make requests of its rows."
    return "text", 'A line is such as {{"custom_id": "1", "body": {{...}}}}.'


def _parsed(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
