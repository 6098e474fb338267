"""``hornada serve``: a process with the API, the worker, or both."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import uvicorn
from starlette.types import ASGIApp

from hornada.api.app import build
from hornada.api.services import Services
from hornada.api.traffic import Traffic
from hornada.config import Config, Origin, ProcessRole, ServerSettings
from hornada.core.catalog import Server
from hornada.core.errors import Broken, Unavailable
from hornada.engine import crashpoint
from hornada.engine.looper import Looper
from hornada.service import logs
from hornada.service.edge import RENEW_S, Bounded, Renewal, shared
from hornada.service.ending import Cuttable, Ending, Quiet
from hornada.service.lock import Locked, data_folder, folders, lock
from hornada.service.reload import LOOK_S, Reloader
from hornada.service.standing import Standing
from hornada.service.tuning import tune
from hornada.service.welcome import announce
from hornada.service.wiring import Engine, Installation

if TYPE_CHECKING:
    from hornada.service.tracing import Tracing

log = logging.getLogger("hornada")

_CANNOT_START = 2
_REPLACED = 3


class Replaced(Exception):
    """Another process works on the database now."""


def serve(config: Config, origin: Origin | None = None) -> int:
    """Serves until SIGTERM or SIGINT; 0 after a graceful stop, 2 when it cannot start, 3 when another took its place.

    ``origin``: where the configuration is read again when it changes, or on SIGHUP.
    """
    logs.start(config.server)
    crashpoint.arm(os.environ.get("HORNADA_CRASH_AT"))
    import uvloop

    try:
        with _listen(config) as listener, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            folder = data_folder(config)
            if folder is not None:
                lock(folder)
            runner.run(_serve(config, origin, listener))
    except (Locked, Unavailable, Broken, OSError, ValueError) as error:
        sys.stderr.write(f"hornada cannot start: {error}\n")
        return _CANNOT_START
    except Replaced as error:
        sys.stderr.write(f"hornada ended: {error}\n")
        return _REPLACED
    return 0


@contextlib.contextmanager
def _listen(config: Config) -> Iterator[socket.socket]:
    host, port = config.server.host, config.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        shown = f"[{host}]" if ":" in host else host
        raise OSError(f"cannot listen on {shown}:{port}: {why}") from error
    with listener:
        yield listener


async def _serve(config: Config, origin: Origin | None, listener: socket.socket) -> None:
    async with _engine(config) as engine, _reloading(engine, config, origin):
        made = await _begin(engine, config)
        standing = Standing(engine, config)
        wanted = services(engine, config, standing)
        app = Cuttable(shared(build(wanted), config.server.cors_origins))
        listening = _http(app, config.server)
        server = Quiet(listening, app)
        ending = Ending(engine, server, standing, wanted.traffic, config.server.shutdown_grace_s)
        engine.on_taken = ending.at_once
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ending.asked)
        tune()
        host, port = listener.getsockname()[:2]
        if config.server.batches and config.role is not ProcessRole.API:
            engine.examiners.stand_ready()
        announce(host, port, made, secure=listening.is_ssl, dashboard=config.server.dashboard)
        async with _renewing(listening):
            await server.serve(sockets=[listener])
        if engine.taken is not None:
            raise Replaced(engine.taken)
    log.info("stopped")


async def _begin(engine: Engine, config: Config) -> str | None:
    """Makes the first organization where there is none; its key, if one was made here."""
    first, made = config.bootstrap, None
    if config.role is not ProcessRole.WORKER:
        made = await engine.admission.bootstrap(first.organization, first.key, first.credit)
    await _tell(engine, config)
    return made


async def _tell(engine: Engine, config: Config) -> None:
    """Logs what an operator should know about this start."""
    live = sum((await engine.live()).values())
    if live:
        log.info("%d batch%s on", live, " goes" if live == 1 else "es go")
    if not engine.models.catalog().models and not config.upstream:
        log.warning("there is no model: give --upstream URL, [[models]] in the configuration, or hornada admin model")
    key = config.bootstrap.key
    if key is not None and config.role is not ProcessRole.WORKER and not await engine.admission.knows(key):
        log.warning(
            "bootstrap.key is ignored: the database has organizations already, and it is no key of any of them; "
            "hornada admin key create makes one"
        )


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


def _http(app: ASGIApp, settings: ServerSettings) -> uvicorn.Config:
    """How HTTP is spoken, over TLS when there is a certificate."""
    config = uvicorn.Config(
        app,
        http=Bounded,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )
    config.load()
    return config


@contextlib.asynccontextmanager
async def _renewing(listening: uvicorn.Config) -> AsyncIterator[None]:
    """Follows the certificate, if there is one, for as long as it is open."""
    certificate, key = listening.ssl_certfile, listening.ssl_keyfile
    if listening.ssl is None or certificate is None or key is None:
        yield
        return
    looper = Looper("certificate", Renewal(listening.ssl, str(certificate), str(key)).once, RENEW_S)
    task = asyncio.create_task(looper.run())
    try:
        yield
    finally:
        looper.stop()
        await task


@contextlib.asynccontextmanager
async def _engine(config: Config) -> AsyncIterator[Engine]:
    with _tracing(config.server.otlp_endpoint) as tracing:
        engine = await Engine.open(replace(installation(config), tracing=tracing))
        engine.start()
        try:
            yield engine
        finally:
            await engine.stop(config.server.shutdown_grace_s)


@contextlib.contextmanager
def _tracing(endpoint: str | None) -> "Iterator[Tracing | None]":
    """What makes spans, as long as it is open; raises ValueError when the packages for it are missing."""
    if endpoint is None:
        yield None
        return
    try:
        from hornada.service.tracing import Tracing
    except ImportError as error:
        raise ValueError(f"server.otlp_endpoint needs the extra otel: pip install 'hornada[otel]' ({error})") from None
    tracing = Tracing(endpoint)
    try:
        yield tracing
    finally:
        tracing.close()


def installation(config: Config) -> Installation:
    """What an engine runs on, as the configuration says."""
    return Installation(
        folders=folders(config),
        keep=data_folder(config),
        database=config.storage.database,
        blobs=config.storage.blobs,
        migrate=config.storage.migrate,
        connections=config.storage.connections,
        shared=config.storage.shared,
        role=config.role,
        lease_ttl_s=config.engine.lease_ttl_s,
        limits=config.limits,
        models=config.models,
        aliases=config.aliases,
        plans=config.plans,
        operator_key=config.server.operator_key,
        billing=config.billing,
        webhooks=config.webhooks,
        upstream=tuple(
            Server(url=url, api_key=config.upstream_api_key, ca_file=config.upstream_ca_file) for url in config.upstream
        ),
    )


def services(engine: Engine, config: Config, standing: Standing | None = None) -> Services:
    """What the HTTP room needs."""
    stands = standing or Standing(engine, config)
    traffic = Traffic()

    async def metrics() -> bytes:
        from hornada.service.metrics import render

        return render(engine, traffic, await engine.live(), await engine.courier.backlog())

    return Services(
        files=engine.files,
        uploads=engine.uploads,
        batches=engine.batches,
        joining=engine.joining,
        pace=engine.pace,
        watching=engine.watching,
        retrying=engine.retrying,
        checkups=engine.checkups,
        admission=engine.admission,
        meter=engine.meter,
        gateway=engine.gateway,
        load=engine.outlook.load,
        catch_up=engine.catch_up,
        catalog=engine.models.catalog,
        billing=engine.billing,
        currency=config.billing.currency,
        ready=stands.ready,
        stopping=lambda: stands.stopping,
        traffic=traffic,
        access_log=config.server.access_log,
        traced=engine.tracing.call if engine.tracing else None,
        metrics=metrics,
        dialects=config.server.dialects,
        administration=engine.administration,
        survey=engine.survey,
        webhooks=engine.webhooks,
        webhooks_enabled=config.webhooks.enabled,
        curator=engine.curator,
        batches_enabled=config.server.batches,
        dashboard_enabled=config.server.dashboard,
        calls=config.role is not ProcessRole.WORKER,
    )
