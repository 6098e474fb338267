"""Reads the SQLite ledger of a stopped server and holds it against what must be true at every commit."""

import hashlib
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hornada.core.segment import unpack

Row = dict[str, Any]
Chunk = tuple[str, int]


@dataclass
class Snapshot:
    """The rows of a ledger at one moment."""

    files: list[Row]
    batches: list[Row]
    chunks: dict[Chunk, Row]
    segments: list[Row]
    entries: list[Row]

    def committed(self) -> set[int]:
        """The lines (from 0) whose results are durable; for ledgers that hold the chunks of one batch."""
        return {
            row["first_line"] + bit
            for row in self.chunks.values()
            for bit in range(row["n"])
            if row["done"][bit // 8] >> bit % 8 & 1
        }


def snapshot(ledger: Path, folder: Path) -> Snapshot:
    """Reads a copy, so that the ledger itself stays as the crash left it."""
    copy = folder / "copy.db"
    for suffix in ("", "-wal"):
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
        if Path(f"{ledger}{suffix}").exists():
            shutil.copyfile(f"{ledger}{suffix}", f"{copy}{suffix}")
    with closing(sqlite3.connect(copy)) as database:
        database.row_factory = sqlite3.Row
        tables = {
            name: [dict(row) for row in database.execute(f"SELECT * FROM {name}")]  # noqa: S608 - names from here
            for name in ("file", "batch", "chunk", "segment", "ledger_entry")
        }
    chunks = {(row["batch"], row["idx"]): row for row in tables["chunk"]}
    return Snapshot(tables["file"], tables["batch"], chunks, tables["segment"], tables["ledger_entry"])


def check(found: Snapshot, blobs: Path) -> None:
    """The invariants that hold at every commit."""
    check_bits(found)
    check_segments(found, blobs)
    check_entries(found)


def check_bits(found: Snapshot) -> None:
    """Each set bit has exactly one segment line, each segment line its bit, and the counts say the same."""
    lines: dict[Chunk, Counter[int]] = {}
    ok: Counter[Chunk] = Counter()
    for row in found.segments:
        chunk = (row["batch"], row["idx"])
        entries = unpack(bytes(row["lines"]))
        assert len(entries) == row["n_ok"] + row["n_failed"], f"segment {row} counts other lines than its index"
        lines.setdefault(chunk, Counter()).update(entry.line for entry in entries)
        ok[chunk] += sum(entry.ok for entry in entries)
    for chunk, row in found.chunks.items():
        bits = Counter(bit for bit in range(row["n"]) if row["done"][bit // 8] >> bit % 8 & 1)
        assert lines.get(chunk, Counter()) == bits, f"chunk {chunk}: its bits are not its segments' lines"
        assert (row["n_ok"], row["n_ok"] + row["n_failed"]) == (ok[chunk], bits.total()), f"chunk {chunk}: counts"


def check_segments(found: Snapshot, blobs: Path) -> None:
    """Every committed segment's bytes lie where its row says, with its hash."""
    for row in found.segments:
        with (blobs / row["object"]).open("rb") as blob:
            blob.seek(row["byte_off"])
            data = blob.read(row["byte_len"])
        assert hashlib.sha256(data).hexdigest() == row["sha256"], f"segment {row['object']} at {row['byte_off']}"


def check_entries(found: Snapshot) -> None:
    """The ledger bills every committed 2xx answer of a batch that still has its segments, once."""
    billed: Counter[str] = Counter()
    for row in found.entries:
        billed[row["batch"]] += row["lines"]
    for batch in {row["batch"] for row in found.segments}:
        answered = sum(row["n_ok"] for row in found.segments if row["batch"] == batch)
        assert billed[batch] == answered, f"{billed[batch]} lines billed, {answered} answered"


def check_growth(before: Snapshot, after: Snapshot) -> None:
    """From one moment to a later one, nothing that was committed is taken back and epochs only grow."""
    epochs = {row["id"]: row["stage_epoch"] for row in after.batches}
    for row in before.batches:
        assert epochs[row["id"]] >= row["stage_epoch"], f"the stage epoch of {row['id']} fell"
    for chunk, row in after.chunks.items():
        if chunk in before.chunks:
            assert row["epoch"] >= before.chunks[chunk]["epoch"], f"the epoch of {chunk} fell"
    if after.chunks:
        assert after.committed() >= before.committed(), "a committed line lost its bit"
    sources = {row["source"] for row in after.entries}
    assert sources >= {row["source"] for row in before.entries}, "a ledger entry is gone"
