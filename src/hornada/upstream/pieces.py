"""An answer's body in pieces, between the connection that reads it and the caller that takes it."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from hornada.upstream.protocol import Failure, StreamBroken

if TYPE_CHECKING:
    import asyncio

    from hornada.upstream.connection import Connection

WAITING_BYTES = 256 * 1024
"""When more than this waits to be taken, the connection is not read."""


class AnswerPieces:
    """An AnswerStream. Whatever has arrived since the last piece was taken comes as one piece.

    ``gap``: seconds that the server may be silent while the caller waits for it.
    """

    __slots__ = ("_connection", "_gap", "_over", "_pieces", "_size", "_waiter", "headers", "status")

    def __init__(self, connection: "Connection", gap: float) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._connection = connection
        self._gap = gap
        self._pieces: list[bytes] = []
        self._size = 0
        self._over: Failure | bool = False
        self._waiter: asyncio.Future[None] | None = None

    # --- the connection's side -----------------------------------------------------------------------------------

    def push(self, piece: bytes) -> bool:
        """Adds what has arrived; whether there is room for more."""
        self._pieces.append(piece)
        self._size += len(piece)
        self._wake()
        return self._size <= WAITING_BYTES

    def end(self, failure: Failure | None) -> None:
        """The body is whole, or will never be."""
        self._over = failure or True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the caller's side -----------------------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The stream itself; it can be read once."""
        return self

    async def __anext__(self) -> bytes:
        """The next piece; raises StreamBroken when the body ends early or a deadline passes."""
        if not self._pieces and self._over is False:
            self._waiter = self._connection.wait_for_more(self._gap)
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._pieces:
            return self._take()
        if isinstance(self._over, Failure):
            raise StreamBroken(self._over)
        raise StopAsyncIteration

    def _take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        if self._size > WAITING_BYTES and self._over is False:
            self._connection.read_on()
        self._size = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def aclose(self) -> None:
        """Lets the connection go; at once if the body was not read to its end."""
        if self._over is False:
            self._over = True
            self._connection.drop(self)
