"""One HTTP/1.1 client connection: writes a request, reads its answer, says whether it can be used again.

It keeps no timer: ``deadline`` is a moment that whoever owns the connection looks at now and then.
"""

import asyncio
import select
from typing import Protocol, cast

import httptools

from hornada.upstream.fields import Fields
from hornada.upstream.pieces import AnswerPieces
from hornada.upstream.protocol import STATUSES, Answer, Failure, Fault, Timeouts, Turns

HEAD_BYTES = 64 * 1024
"""The most that a head (or trailers, or the framing of chunks) may take without a byte of a body."""
_SLICE = 256 * 1024
_NEVER = float("inf")
_FRESH_S = 0.01
_CODING = len(b"transfer-encoding")


class Owner(Protocol):
    """Who hears what becomes of a connection."""

    def free(self, connection: "Connection") -> None:
        """The connection can take another request."""
        ...

    def lost(self, connection: "Connection") -> None:
        """The connection is gone."""
        ...


class _UnaskedError(Exception):
    """The server talks although nobody asked it anything."""


class Connection(asyncio.Protocol):
    """A connection to ``label`` (host and port, for messages); one call at a time."""

    _transport: asyncio.Transport

    def __init__(self, owner: Owner, label: str, loop: asyncio.AbstractEventLoop) -> None:
        self._owner = owner
        self._label = label
        self.loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._poll = select.poll()
        self._waiter: asyncio.Future[Answer | Failure] | None = None
        self._into: AnswerPieces | None = None
        self._turns: Turns | None = None
        self._rest: memoryview | None = None
        self._paused = False
        self._total = _NEVER
        self._max_bytes = 0
        self._begin_answer()
        self.alive = False
        self.deadline = _NEVER
        self.idle_since = 0.0

    # --- calls -------------------------------------------------------------------------------------------------------

    def ask(
        self,
        head: bytes,
        body: bytes,
        timeouts: Timeouts,
        *,
        end: float,
        max_bytes: int,
        into: AnswerPieces | None = None,
        turns: Turns | None = None,
    ) -> "asyncio.Future[Answer | Failure]":
        """Sends one request; what it answers is the answer, or only its head when the body goes ``into`` pieces.

        ``end``: when, on the loop's clock, the call is over in any case. Whoever is cancelled while waiting calls
        ``give_up``.
        """
        waiter: asyncio.Future[Answer | Failure] = self.loop.create_future()
        self._waiter = waiter
        self._into = into
        self._turns = turns
        self._max_bytes = max_bytes
        self._total = end
        self.deadline = min(self.loop.time() + timeouts.first_byte, end)
        self._begin_answer()
        self._write(head, body)
        return waiter

    def give_up(self, waiter: "asyncio.Future[Answer | Failure]", into: AnswerPieces | None = None) -> None:
        """Nobody waits for this answer any more: closes the connection at once if it is still under way."""
        if self._waiter is waiter or (into is not None and self._into is into):
            self._waiter = self._into = None
            self.abort()

    def fit(self, now: float) -> bool:
        """Whether an idle connection may be used: not too old, and nothing (such as the server's farewell) unread.

        What has just answered is not asked: the loop has only just read from it, and the question is a system call.
        """
        fresh = now - self.idle_since < _FRESH_S
        return self.alive and now < self.deadline and (fresh or not self._poll.poll(0))

    def expire(self) -> None:
        """Its deadline has passed."""
        if self._waiter is None and self._into is None:
            self.abort()
        else:
            self.fail(Fault.TIMEOUT, f"{self._label} did not answer in time.")

    def fail(self, fault: Fault, message: str) -> None:
        """Ends the call under way, if there is one, and closes the connection."""
        waiter, into = self._waiter, self._into
        self._waiter = self._into = None
        self.abort()
        if waiter is not None:
            if not waiter.done():
                waiter.set_result(Failure(fault, message))
        elif into is not None:
            into.end(Failure(fault, message))

    def abort(self) -> None:
        """Closes the socket at once."""
        self.alive = False
        self.deadline = _NEVER
        self._rest = None
        self._transport.abort()

    # --- a body in pieces --------------------------------------------------------------------------------------------

    def wait_for_more(self, gap: float) -> asyncio.Future[None]:
        """Something to wait on; from now the server may be silent for ``gap`` seconds."""
        self.deadline = min(self.loop.time() + gap, self._total)
        return self.loop.create_future()

    def read_on(self) -> None:
        """There is room for more pieces."""
        if self.alive:
            self._transport.resume_reading()

    def drop(self, pieces: AnswerPieces) -> None:
        """Nobody wants the rest of these pieces."""
        if self._into is pieces:
            self._into = None
            self.abort()

    # --- the answer as the parser finds it ---------------------------------------------------------------------------

    def _begin_answer(self) -> None:
        self._fields: list[tuple[bytes, bytes]] = []
        self._pieces: list[bytes] = []
        self._headers: Fields | None = None
        self._status = 0
        self._size = 0
        self._silent = 0
        self._complete = False
        self._reusable = False
        self._fault: str | None = None

    def on_message_begin(self) -> None:
        """A status line starts; after a whole answer that is one that nobody asked for, and the parser stops."""
        if self._complete:
            raise _UnaskedError

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which is dropped (RFC 9110, 6.5.1)."""
        if self._headers is None:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """The head is whole; if it is an interim one (1xx), another follows."""
        status = self._status = self._parser.get_status_code()
        if 100 <= status < 200:
            return
        fields = self._fields
        self._headers = Fields(fields)
        self.deadline = self._total
        if self._silent > HEAD_BYTES and sum(len(n) + len(v) + 4 for n, v in fields) > HEAD_BYTES:
            self._fault = f"sent a head of more than {HEAD_BYTES} bytes"
        codings = [value for name, value in fields if len(name) == _CODING and name.lower() == b"transfer-encoding"]
        if codings and (len(codings) > 1 or codings[0].lower() != b"chunked"):
            self._fault = self._fault or "sent a transfer encoding that nobody asked for"
        if status not in STATUSES:
            self._fault = f"answered with the status {status}, which HTTP does not know"
        self._silent = 0

    def on_body(self, piece: bytes) -> None:
        """Bytes of the body."""
        self._pieces.append(piece)
        self._size += len(piece)
        self._silent = 0

    def on_message_complete(self) -> None:
        """The answer is whole, or it was an interim one."""
        if self._headers is None:
            self._fields.clear()
        else:
            self._complete = True
            self._reusable = self._parser.should_keep_alive()

    # --- what the transport says -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not derived from it
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self.alive = True

    def data_received(self, data: bytes) -> None:
        """Bytes from the server."""
        if self._waiter is None and self._into is None:
            self.abort()
            return
        self._silent += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._reusable = False
            if not self._complete:
                self._fault = self._fault or "sent what is no HTTP answer"
        if self._complete:
            self._finish()
        else:
            self._progress()

    def eof_received(self) -> None:
        """The server sends no more: the end of a body without a length (RFC 9112, 6.3), or a loss."""
        self.alive = False
        headers = self._headers
        if headers is None or self._complete or "content-length" in headers or "transfer-encoding" in headers:
            return
        self._complete = True
        self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.alive = False
        if self._waiter is not None or self._into is not None:
            what = "it answered" if self._headers is None else "its answer was whole"
            how = "closed" if exc is None else "broke"
            self.fail(Fault.RESET, f"{self._label} {how} the connection before {what}.")
        del self._parser  # it holds methods of this object: a cycle
        self._owner.lost(self)

    def pause_writing(self) -> None:
        """The server takes no more for now."""
        self._paused = True

    def resume_writing(self) -> None:
        """It takes more."""
        self._paused = False
        self._write_rest()

    # --- between the two ---------------------------------------------------------------------------------------------

    def _write(self, head: bytes, body: bytes) -> None:
        if len(body) <= _SLICE:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._rest = memoryview(body)
            self._write_rest()

    def _write_rest(self) -> None:
        while self._rest is not None and not self._paused:
            piece, rest = self._rest[:_SLICE], self._rest[_SLICE:]
            self._rest = rest or None
            self._transport.write(piece)

    def _progress(self) -> None:
        if self._silent > HEAD_BYTES:
            self._fault = f"sent a head of more than {HEAD_BYTES} bytes"
        if self._fault is not None or self._size > self._max_bytes:
            self._reject()
        elif self._into is not None and self._headers is not None:
            self._hand_over(self._into, self._headers)

    def _finish(self) -> None:
        headers, waiter, into = self._headers, self._waiter, self._into
        if headers is None or self._fault is not None or self._size > self._max_bytes:
            self._reject()
            return
        if into is not None:
            self._hand_over(into, headers)
            self._into = None
            self._let_go()
            into.end(None)
            return
        self._waiter = None
        pieces = self._pieces
        answer = Answer(self._status, headers, pieces[0] if len(pieces) == 1 else b"".join(pieces))
        self._let_go()
        if waiter is None or waiter.done():
            return
        if self._turns is None:
            waiter.set_result(answer)
        else:
            self._turns.tell(waiter, answer)

    def _hand_over(self, into: AnswerPieces, headers: Fields) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(Answer(self._status, headers, b""))
        self.deadline = self._total
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            if not into.push(pieces[0] if len(pieces) == 1 else b"".join(pieces)) and not self._complete:
                self._transport.pause_reading()

    def _reject(self) -> None:
        if self._fault is not None:
            self.fail(Fault.GARBLED, f"{self._label} {self._fault}.")
        else:
            self.fail(Fault.TOO_LARGE, f"{self._label} sent an answer of more than {self._max_bytes} bytes.")

    def _let_go(self) -> None:
        if self.alive and self._reusable and self._rest is None and not self._transport.get_write_buffer_size():
            self._owner.free(self)
        else:
            self.abort()
