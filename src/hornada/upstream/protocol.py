"""The network seam: one way to call a model server, whatever client stands behind it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Timeouts(Struct, frozen=True, kw_only=True):
    """Deadlines in seconds: to connect, to the first byte of the answer (or the next byte of a stream), and in all."""

    connect: float = 10
    first_byte: float = 600
    total: float = 600


class Fault(StrEnum):
    """How a call ended without an answer."""

    UNREACHABLE = "unreachable"
    """Surely not sent: refused, name not found, connect deadline, TLS failure."""
    TIMEOUT = "timeout"
    """Sent; the first-byte or total deadline passed."""
    RESET = "reset"
    """Sent, at least in part; the connection ended before the answer was whole."""
    GARBLED = "garbled"
    """What came back was no HTTP answer."""
    TOO_LARGE = "too_large"
    """The answer went over the limit."""


STATUSES = range(100, 600)
"""What a status can be (RFC 9110, 15): an answer with any other is GARBLED."""


class Answer(Struct, frozen=True):
    """A whole answer. Header names are lower case; ``body`` is decoded from its transfer encoding."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Failure(Struct, frozen=True):
    """No answer. ``message`` is for people and holds neither secrets nor the request."""

    fault: Fault
    message: str


class AnswerStream(Protocol):
    """An answer whose body arrives in pieces. Always close it; closing before the end drops the connection."""

    status: int
    headers: Mapping[str, str]

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Pieces as they arrive, undelayed; raises StreamBroken when the body ends early or a deadline passes."""
        ...

    async def aclose(self) -> None:
        """Lets the connection go; at once if the body was not read to its end."""
        ...


class StreamBroken(Exception):
    """A stream ended before its body was whole."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Turns(Protocol):
    """Who decides when a call that is in no hurry hears of its answer."""

    def tell(self, waiter: "asyncio.Future[Answer | Failure]", answer: Answer) -> None:
        """Gives the answer to whoever waits for it, now or in one of the next turns of the event loop."""
        ...


class Upstream(Protocol):
    """One model server. Cancelling the task that waits closes the connection at once, so the server frees its slot."""

    async def send(
        self,
        path: str,
        body: bytes,
        timeouts: Timeouts,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        turns: Turns | None = None,
    ) -> Answer | Failure:
        """POSTs a JSON body to ``path`` below the base address (``/chat/completions``) and reads the whole answer.

        ``turns``: the call is one of very many; it may be told of its answer a little later.
        """
        ...

    async def stream(
        self, path: str, body: bytes, timeouts: Timeouts, *, headers: Mapping[str, str] | None = None
    ) -> AnswerStream | Failure:
        """The same, returning as soon as the head of the answer is there."""
        ...

    async def get(self, path: str, timeouts: Timeouts, *, max_bytes: int) -> Answer | Failure:
        """GETs ``path`` below the base address, or below the host's root when it starts with ``//``."""
        ...

    async def close(self) -> None:
        """Drops every connection."""
        ...
