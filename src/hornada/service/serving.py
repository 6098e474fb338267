"""``hornada serve``: one process with the API and the worker."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import uvicorn

from hornada.api.app import build
from hornada.api.services import Readiness, Services
from hornada.config import Config, Origin
from hornada.core.catalog import Server
from hornada.core.errors import Unavailable
from hornada.engine import crashpoint
from hornada.engine.looper import Looper
from hornada.service.lock import Locked, lock
from hornada.service.reload import LOOK_S, Reloader
from hornada.service.tuning import tune
from hornada.service.wiring import Engine, Installation

log = logging.getLogger("hornada")

GRACE_S = 20.0
"""Seconds that lines and calls in flight get when the process is asked to stop."""
_CANNOT_START = 2


def serve(config: Config, origin: Origin | None = None) -> int:
    """Serves until SIGTERM or SIGINT; 0 after a graceful stop, 2 when it cannot start.

    ``origin``: where the configuration is read again when it changes, or on SIGHUP.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    crashpoint.arm(os.environ.get("HORNADA_CRASH_AT"))
    import uvloop

    try:
        with _listen(config) as listener, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            lock(Path(config.data))
            runner.run(_serve(config, origin, listener))
    except (Locked, Unavailable, OSError, ValueError) as error:
        sys.stderr.write(f"hornada cannot start: {error}\n")
        return _CANNOT_START
    return 0


@contextlib.contextmanager
def _listen(config: Config) -> Iterator[socket.socket]:
    host, port = config.server.host, config.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    with listener:
        yield listener


async def _serve(config: Config, origin: Origin | None, listener: socket.socket) -> None:
    async with _engine(config) as engine, _reloading(engine, config, origin):
        first = config.bootstrap
        made = await engine.admission.bootstrap(first.organization, first.key, first.credit)
        host, port = listener.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        app = build(services(engine, config))
        server = Quiet(
            uvicorn.Config(
                app,
                http="httptools",
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=int(GRACE_S),
            )
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.handle_exit, number, None)
        tune()
        _announce(address, made)
        await server.serve(sockets=[listener])


@contextlib.asynccontextmanager
async def _reloading(engine: Engine, config: Config, origin: Origin | None) -> AsyncIterator[None]:
    """Follows the configuration for as long as it is open."""
    if origin is None:
        yield
        return

    async def apply(found: Config) -> None:
        logging.getLogger().setLevel(found.server.log_level.upper())
        await engine.adopt(installation(found))

    reloader = Reloader(config, origin, apply)
    looper = Looper("configuration", reloader.once, LOOK_S)

    def hang_up() -> None:
        reloader.ask()
        looper.ring()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hang_up)
    task = asyncio.create_task(looper.run())
    try:
        yield
    finally:
        looper.stop()
        await task


class Quiet(uvicorn.Server):
    """uvicorn without its own signal handling, which would end the process by the signal instead of with 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to the caller."""
        yield


@contextlib.asynccontextmanager
async def _engine(config: Config) -> AsyncIterator[Engine]:
    engine = await Engine.open(installation(config))
    engine.start()
    try:
        yield engine
    finally:
        await engine.stop(GRACE_S)


def installation(config: Config) -> Installation:
    """What an engine runs on, as the configuration says."""
    return Installation(
        database=config.storage.database,
        blobs=config.storage.blobs,
        limits=config.limits,
        models=config.models,
        aliases=config.aliases,
        plans=config.plans,
        operator_key=config.server.operator_key,
        billing=config.billing,
        upstream=tuple(Server(url=url, api_key=config.upstream_api_key) for url in config.upstream),
    )


def services(engine: Engine, config: Config) -> Services:
    """What the HTTP room needs."""

    async def ready() -> Readiness:
        troubles = engine.troubles
        return Readiness(not troubles, troubles)

    def metrics() -> bytes:
        from hornada.service.metrics import render

        return render(engine)

    return Services(
        files=engine.files,
        batches=engine.batches,
        admission=engine.admission,
        meter=engine.meter,
        gateway=engine.gateway,
        catalog=engine.models.catalog,
        billing=engine.billing,
        currency=config.billing.currency,
        ready=ready,
        metrics=metrics,
        dialects=config.server.dialects,
        administration=engine.administration,
        survey=engine.survey,
        curator=engine.curator,
        waiting_for=engine.outlook.waiting_for,
        batches_enabled=config.server.batches,
    )


def _announce(address: str, key: str | None) -> None:
    """Says where the server is and, at the very first start, the key that was made."""
    sys.stdout.write(f"Hornada listens on {address}\n")
    if key is not None:
        sys.stdout.write(_WELCOME.format(address=address, key=key))
    sys.stdout.flush()


_WELCOME = """
This is the first start: here is a key. It is shown only now.

    {key}

Try it with curl:

    curl {address}/v1/models -H "Authorization: Bearer {key}"
    curl {address}/v1/files -H "Authorization: Bearer {key}" -F purpose=batch -F file=@requests.jsonl
    curl {address}/v1/batches -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\
      -d '{{"input_file_id": "file-...", "endpoint": "/v1/chat/completions", "completion_window": "24h"}}'

Or from Python (pip install openai):

    from openai import OpenAI
    client = OpenAI(base_url="{address}/v1", api_key="{key}")
    file = client.files.create(file=open("requests.jsonl", "rb"), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    print(client.batches.retrieve(batch.id).status)

"""
