"""Rows: the only room with SQL."""

from pathlib import Path
from typing import TYPE_CHECKING

from hornada.core.clock import Clock, SystemClock
from hornada.store.database import Database

if TYPE_CHECKING:
    from hornada.store.exclusive import Exclusive

__all__ = ["connect", "exclusive_lock"]


async def connect(url: str, clock: Clock, connections: int = 8) -> Database:
    """Opens the ledger at ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://user@host/db``.

    SQLite takes its time from ``clock``. PostgreSQL tells the time itself, the same for every process, unless
    ``clock`` is another than the machine's: then that is bound, so that a test can set it. ``connections``: the most
    that PostgreSQL gets.

    Raises ValueError for any other URL, and where what PostgreSQL needs is not installed; Unavailable when a file
    cannot be opened (PostgreSQL: at the first use).
    """
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from hornada.store.sqlite import Sqlite

        return await Sqlite.open(Path(rest[1:]), clock)
    if scheme in {"postgresql", "postgres"}:
        try:
            from hornada.store.postgres import Postgres
        except ModuleNotFoundError as error:
            message = f"postgresql:// needs the extra postgres: pip install 'hornada[postgres]' ({error})"
            raise ValueError(message) from None
        return Postgres(url, None if isinstance(clock, SystemClock) else clock, connections)
    message = f"a database is sqlite:///file or postgresql://user@host/name, not {scheme}://…"
    raise ValueError(message)


def exclusive_lock(url: str) -> "Exclusive | None":
    """The lock on a PostgreSQL ledger, not yet taken; None for a file, whose folder is locked instead."""
    if url.startswith("sqlite:"):
        return None
    from hornada.store.exclusive import Exclusive

    return Exclusive(url)
