"""The routes without a server: what ``hornada admin`` calls when none is running."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace
from starlette.types import Message

from hornada.api.app import App, build
from hornada.config import Config, ProcessRole
from hornada.core.errors import Taken
from hornada.core.ids import new_secret
from hornada.service import Ask
from hornada.service.lock import Locked, data_folder, lock
from hornada.service.serving import installation, services
from hornada.service.wiring import Engine


@contextmanager
def opened(config: Config, key: str | None) -> Iterator[Ask]:
    """Opens the ledger of the configuration, runs no loop, and calls the application over it with ``key``.

    Where several processes share the ledger this one joins none of them, takes no lock and ends no lease; they are told
    at once what it has changed.
    Without a key the caller is the operator: who can open the ledger can do everything. Raises Locked while another
    process holds the data folder or the database, Unavailable and ValueError when the ledger cannot be opened.
    """
    secret = config.server.operator_key or new_secret()
    config = replace(config, role=ProcessRole.ALL, server=replace(config.server, operator_key=secret))
    folder = data_folder(config)
    held = None if folder is None else lock(folder)
    try:
        with asyncio.Runner() as runner:
            try:
                engine = runner.run(Engine.open(installation(config)))
            except Taken as error:
                raise Locked(str(error)) from error
            app = build(services(engine, config))
            try:
                yield lambda method, path, body: runner.run(_call(app, method, path, body, key or secret))
            finally:
                runner.run(engine.stop(0))
    finally:
        if held is not None:
            os.close(held)


async def _call(app: App, method: str, path: str, body: bytes, key: str) -> tuple[int, bytes]:
    raw, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": [(b"authorization", b"Bearer " + key.encode()), (b"content-length", str(len(body)).encode())],
    }
    answer: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    async def send(message: Message) -> None:
        answer.append(message)

    await app(scope, receive, send)
    return answer[0]["status"], b"".join(message.get("body", b"") for message in answer[1:])
