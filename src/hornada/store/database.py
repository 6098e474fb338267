"""One seam over SQLite and PostgreSQL: the same statements run on both.

Statements name parameters as ``:name``. Four words in braces stand for what the databases spell differently:
``{now}`` the database's clock in microseconds since 1970, ``{skip_locked}`` ``FOR UPDATE SKIP LOCKED`` or nothing,
``{for_update}`` ``FOR UPDATE`` or nothing (SQLite's write transactions are exclusive from their first statement),
``{joined}`` the aggregate that strings texts together, ``{joined}(text, between)``.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

Value = str | int | float | bytes | None
T = TypeVar("T")

ALONE = "A view of one statement was asked a second one."


class Row(Protocol):
    """A row that answers to column names."""

    def __getitem__(self, name: str, /) -> Any: ...


class Tx(Protocol):
    """A transaction. Every method raises Unavailable when the database does not answer."""

    async def rows(self, sql: str, **params: Value) -> Sequence[Row]:
        """All rows."""
        ...

    async def row(self, sql: str, **params: Value) -> Row | None:
        """The first row, if there is one."""
        ...

    async def run(self, sql: str, **params: Value) -> int:
        """Runs a statement that answers no rows; the number of rows it changed."""
        ...

    async def many(self, sql: str, params: Sequence[Mapping[str, Value]]) -> None:
        """Runs one statement for each set of parameters."""
        ...


class Database(Protocol):
    """A ledger. Open one with ``hornada.store.connect(url, clock)``."""

    def read(self, *, single: bool = False) -> AbstractAsyncContextManager[Tx]:
        """A consistent view; several at a time; must not write.

        ``single``: for one statement, whose view is its own, so that nothing has to begin and to end: one trip.
        """
        ...

    def write(self, *, durable: bool = True) -> AbstractAsyncContextManager[Tx]:
        """A durable transaction: on disk when the block has ended, undone if it raises.

        ``durable`` false: a crash of the database may undo it a moment later, where that makes it cheaper.
        """
        ...

    async def transact(self, work: Callable[[Tx], Coroutine[Any, Any, T]]) -> T:
        """``work`` as one durable transaction, in one trip where the database is of this process.

        It waits for nothing but its statements and touches nothing of the event loop, on which it may not run.
        """
        ...

    async def migrate(self) -> list[int]:
        """Brings the schema to this version and gives the steps that it took; several processes may do so at once.

        Raises Broken when a newer version made the database unusable for this one.
        """
        ...

    async def close(self) -> None:
        """Closes every connection."""
        ...
