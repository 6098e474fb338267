"""The only place where things are wired: starts what a command asks for."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager

from hornada.config import Config, Origin
from hornada.core.run import Progress, RunRequest

Ask = Callable[[str, str, bytes], tuple[int, bytes]]
"""Method, path with its query, and body; answers status and body."""


def serve(config: Config, origin: Origin | None = None) -> int:
    """Serves until stopped; the exit code (0 after a graceful stop, 2 when it cannot start).

    ``origin``: where the configuration is read again when it changes.
    """
    from hornada.service.serving import serve as run

    return run(config, origin)


def local(config: Config, key: str | None) -> AbstractContextManager[Ask]:
    """The routes without a server, over the ledger of the configuration: see ``service.local.opened``."""
    from hornada.service.local import opened

    return opened(config, key)


def run_file(request: RunRequest) -> AsyncIterator[Progress]:
    """Runs one file without a server. Raises Unreachable; closing the iterator keeps what is done."""
    from hornada.service.onefile import run_file as run

    return run(request)
