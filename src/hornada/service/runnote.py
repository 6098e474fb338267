"""What ``hornada run`` notes in ``OUT.hornada``: whose results lie in OUT, or whose progress is kept."""

import hashlib
import os
import shutil
from pathlib import Path

import msgspec
from msgspec import Struct

from hornada.core.run import Occupied

_FILE = "run.json"
_LOCK = "lock"


class Note(Struct, frozen=True, kw_only=True):
    """A run as far as it is known.

    ``input`` is for messages; ``sha256``, ``model``, ``endpoint`` and ``recipe`` tell runs apart. ``bytes``: the size
    of the finished output, None before. ``replaces``: an output that is there may be replaced. ``merges``: the lines
    that failed in it are run again, and their results take the places of those. ``cost`` in micro-units. ``kinds``:
    how many failed, by the kind of failure.
    """

    input: str
    sha256: str
    model: str
    endpoint: str
    total: int = 0
    completed: int = 0
    failed: int = 0
    bytes: int | None = None
    replaces: bool = False
    recipe: str = ""
    merges: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    kinds: dict[str, int] = {}

    def same(self, other: "Note") -> bool:
        """Whether both are runs of one input that asks one model the same."""
        return all(getattr(self, part) == getattr(other, part) for part in ("sha256", "model", "endpoint", "recipe"))


def read(folder: Path) -> Note | None:
    """The note in a folder; None when there is none that can be read."""
    try:
        return msgspec.json.decode((folder / _FILE).read_bytes(), type=Note)
    except (OSError, msgspec.MsgspecError):
        return None


def write(folder: Path, note: Note) -> None:
    """Replaces the note, whole or not at all."""
    partial = folder / (_FILE + ".partial")
    with partial.open("wb") as out:
        out.write(msgspec.json.encode(note))
        out.flush()
        os.fsync(out.fileno())
    partial.replace(folder / _FILE)


def clear(folder: Path) -> None:
    """Removes everything but the note and the lock."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name not in {_FILE, _LOCK}:
            path.unlink()


def digest(path: Path) -> str:
    """SHA-256 of a file, lower-case hex."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def check(kept: Note | None, asked: Note, output: Path, folder: Path) -> None:
    """Raises Occupied where going on would drop what is not this run's: an output, or progress of another run."""
    size = output.stat().st_size if output.exists() else 0
    if kept is None:
        if size:
            raise Occupied(f"{output} is there already, and no run of hornada is known to have written it.")
    elif kept.bytes is None:
        if not kept.same(asked):
            raise Occupied(f"{folder} keeps {_progress(kept)} of {_whose(kept, asked)}.")
        if size and not kept.replaces:
            raise Occupied(f"{output} is there already; it was written by something else since the run began.")
    elif size and size != kept.bytes:
        raise Occupied(f"{output} was changed since hornada wrote it.")
    elif size and not kept.same(asked):
        raise Occupied(f"{output} holds the {kept.total:,} results of {_whose(kept, asked)}.")


def _progress(kept: Note) -> str:
    return f"{kept.completed + kept.failed:,} of {kept.total:,} lines" if kept.total else "the progress"


def _whose(kept: Note, asked: Note) -> str:
    if kept.sha256 != asked.sha256:
        return f"another input, {kept.input}" if kept.input != asked.input else f"an earlier {kept.input}"
    if kept.model != asked.model:
        return f"this input with another model, {kept.model or 'none'}"
    if kept.recipe != asked.recipe:
        return "this input with another prompt or other parameters"
    return f"this input at another endpoint, {kept.endpoint}"
