"""Requests a minute over HTTP: what every counted call is told, and how a refused upload is turned away."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from hornada.api.call import JSON_LIMIT, Call, Headers, Response, start
from hornada.engine.meter import Meter, Metered

if TYPE_CHECKING:
    from hornada.engine.shared_meter import SharedMeter

LINGER_BYTES = 128 * 1024 * 1024
LINGER_S = 5.0


async def count(call: Call, meter: "Meter | SharedMeter") -> None:
    """Counts a call of a known caller; raises Refusal RATE_LIMIT_EXCEEDED. Whatever answers it carries the headers."""
    metered = await meter.take(call.principal)
    if metered is None:
        return
    call.send.headers = headers(metered)
    if metered.wait_s is not None and _much_to_come(call):
        call.closing = call.lingering = True
    metered.check()


def headers(metered: Metered) -> Headers:
    """OpenAI's names; ``reset`` is a duration such as ``1s`` or ``1m0s``: until nothing counts any more."""
    minutes, seconds = divmod(metered.reset_s, 60)
    reset = f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
    return (
        (b"x-ratelimit-limit-requests", b"%d" % metered.limit),
        (b"x-ratelimit-remaining-requests", b"%d" % metered.remaining),
        (b"x-ratelimit-reset-requests", reset.encode()),
    )


async def linger(call: Call, response: Response) -> None:
    """Answers at once and reads on for a moment before the connection closes.

    A client that stops sending when it sees the answer costs nothing more. One that listens only when it has sent
    everything (openai-node 6) would see a reset instead of the answer if the connection closed at once.
    """
    await start(call.send, response)
    await call.send({"type": "http.response.body", "body": response.body, "more_body": True})
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            await _forget(call, LINGER_BYTES)
    await call.send({"type": "http.response.body", "body": b""})


async def _forget(call: Call, most: int) -> None:
    """Reads and forgets up to ``most`` bytes of the body."""
    more = True
    while more and most > 0:
        message = await call.receive()
        most -= len(message.get("body", b""))
        more = message.get("more_body", False)


def _much_to_come(call: Call) -> bool:
    """Whether the body is too long to be read past on a connection that stays open, or of unknown length."""
    if call.header(b"transfer-encoding") is not None:
        return True
    declared = call.header(b"content-length") or "0"
    return not declared.isdecimal() or len(declared) > 18 or int(declared) > JSON_LIMIT
