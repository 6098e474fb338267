"""What becomes of a line, and how its result is written down."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from hornada.core.batch import StopReason, Usage
from hornada.core.errors import Refusal


class Request(Struct, frozen=True, gc=False):
    """One line of an input file as it goes to a model server. ``body`` is the user's bytes."""

    custom_id: str
    body: bytes


class Reply(Struct, frozen=True, gc=False):
    """A line that was answered or refused: ``ok`` for the output file, else for the error file.

    ``body`` is JSON on one line, safe for every reader. ``usage`` and ``cost`` (micro-units) are what it is charged
    for; a line that was refused costs nothing.
    """

    ok: bool
    status: int
    body: bytes
    usage: Usage = Usage()
    cost: int = 0
    estimated: bool = False
    """The usage that the model server reported was missing or clamped."""


class Stopped(Struct, frozen=True):
    """A line that its batch stopped before it had a result."""

    reason: StopReason


Outcome = Reply | Stopped


class LineWriter(Protocol):
    """Spells result lines for one dialect. ``line`` counts requests from 0; every answer ends in one LF."""

    def reply(self, batch: str, line: int, custom_id: str, reply: Reply) -> bytes:
        """The line of an answered or refused request."""
        ...

    def stopped(self, batch: str, line: int, custom_id: str, reason: StopReason) -> bytes:
        """The line of a request that never ran."""
        ...

    def request_id(self, batch: str, line: int, custom_id: str) -> str:
        """The ``request_id`` of a line's response."""
        ...


class Spelling(Struct, frozen=True):
    """What the engine needs of a dialect, as plain values: how lines are written and how a refusal would read.

    ``refused`` gives the HTTP status and the body that a regular call would have got, with that request id.
    """

    lines: LineWriter
    refused: Callable[[Refusal, str], tuple[int, bytes]]
