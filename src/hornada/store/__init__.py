"""Rows: the only room with SQL."""

from pathlib import Path

from hornada.core.clock import Clock, SystemClock
from hornada.store.database import Database

__all__ = ["connect"]


async def connect(url: str, clock: Clock) -> Database:
    """Opens the ledger at ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://user@host/db``.

    SQLite takes its time from ``clock``. PostgreSQL tells the time itself, the same for every process, unless
    ``clock`` is another than the machine's: then that is bound, so that a test can set it.

    Raises ValueError for any other URL; Unavailable when a file cannot be opened (PostgreSQL: at the first use).
    """
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from hornada.store.sqlite import Sqlite

        return await Sqlite.open(Path(rest[1:]), clock)
    if scheme in {"postgresql", "postgres"}:
        from hornada.store.postgres import Postgres

        return Postgres(url, None if isinstance(clock, SystemClock) else clock)
    message = f"a database is sqlite:///file or postgresql://user@host/name, not {scheme}://…"
    raise ValueError(message)
