"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SUFFIX = ".partial"


class Partial:
    """What is to become the file ``target``; written at ``path``, beside it."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + SUFFIX)

    def commit(self) -> None:
        """Makes the bytes durable and puts them in the target's place."""
        with self.path.open("rb") as written:
            os.fsync(written.fileno())
        self.path.replace(self.target)

    def drop(self) -> None:
        """Leaves the target as it was."""
        self.path.unlink(missing_ok=True)


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of ``target`` when the block ends without an error."""
    partial = Partial(target)
    try:
        yield partial.path
        partial.commit()
    except BaseException:
        partial.drop()
        raise
