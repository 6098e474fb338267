"""Regular calls: checked, resolved, let in ahead of every line, passed to a model server and back untouched."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hornada.core.account import Principal
from hornada.core.answer import read_answer
from hornada.core.body import Asked, check_request, with_model
from hornada.core.catalog import Catalog, Model
from hornada.core.errors import Code, Refusal
from hornada.core.limits import Limits
from hornada.core.money import BillingRules, Charge, charge, charge_stream
from hornada.core.stream_usage import ENDPOINTS as CAN_REPORT
from hornada.core.stream_usage import with_stream_usage
from hornada.engine.caller import OURS, retry_after
from hornada.engine.capacity import Gate, Gates
from hornada.engine.declined import Declined, declined
from hornada.engine.events import Events
from hornada.engine.models import called
from hornada.engine.servers import Servers, Way, told
from hornada.engine.tally import Tally
from hornada.engine.usage import UsageRecord
from hornada.upstream.protocol import Answer, AnswerStream, Failure, Fault, StreamBroken, Timeouts

_BUSY = frozenset({429, 503})
_REFUSAL_BYTES = 1024 * 1024


class Called(Struct, frozen=True):
    """A 2xx answer, its body as received."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Gateway:
    """``record`` is told of every answered call, once, when it has ended; one that only told an error is none.

    ``admit`` is asked with the caller's organization before a call is sent; it raises a Refusal to stop it.
    """

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        servers: Servers,
        gates: Gates,
        *,
        limits: Limits,
        record: Callable[[UsageRecord], None],
        admit: Callable[[str], Awaitable[None]],
        billing: BillingRules = BillingRules(),  # noqa: B008 - frozen
        tally: Tally | None = None,
    ) -> None:
        self._catalog = catalog
        self._tally = tally or Tally()
        self._servers = servers
        self._gates = gates
        self._record = record
        self._admit = admit
        self._billing = billing
        self.adopt(limits)

    def adopt(self, limits: Limits) -> None:
        """Takes over changed limits; what has begun keeps those that it began with."""
        self.request_bytes = limits.request_bytes
        self._max_bytes = limits.response_bytes
        silence = limits.upstream_timeout_s
        self._timeouts = Timeouts(connect=min(10.0, silence), first_byte=silence, total=silence)
        self._stream_timeouts = replace(self._timeouts, total=math.inf)

    async def call(self, principal: Principal, endpoint: str, body: bytes) -> "Called | CalledStream | Declined":
        """One regular call to ``endpoint`` (such as ``/v1/embeddings``).

        Cancelling it closes the connection to the model server. A CalledStream must be closed. Raises Refusal: what
        ``check_request`` and ``admit`` raise, MODEL_NOT_FOUND, MODEL_OVERLOADED, UPSTREAM_ERROR, UPSTREAM_TIMEOUT.
        """
        asked = check_request(endpoint, body)
        model = called(self._catalog(), principal.models, asked.model, endpoint)
        await self._admit(principal.org)
        asking = self._asking_usage(endpoint, asked, body)
        seat = _Seat(self._gates.of(model), self._servers.way(model))
        stream = None
        try:
            answer = await self._reach(seat, model, endpoint, asked, asking or body)
            if isinstance(answer, Answer):
                return self._whole(principal, model, endpoint, body, answer)
            if not 200 <= answer.status < 300:
                return _refused(model, Answer(answer.status, answer.headers, await _start_of(answer)))
            if not _is_events(answer.headers):
                return self._whole(principal, model, endpoint, body, await self._gathered(seat, answer))
            events = Events(hide_usage=asking is not None)
            stream = CalledStream(answer, seat, events, partial(self._note_stream, principal, model, endpoint, body))
            return stream
        finally:
            if stream is None:
                seat.leave()

    def _asking_usage(self, endpoint: str, asked: Asked, body: bytes) -> bytes | None:
        """The body of a stream that asks for its usage where the client does not; None: nothing is to be added."""
        ask = asked.stream and self._billing.ask_stream_usage and endpoint in CAN_REPORT
        return with_stream_usage(body) if ask else None

    async def _reach(
        self, seat: "_Seat", model: Model, endpoint: str, asked: Asked, body: bytes
    ) -> Answer | AnswerStream:
        """Asks one server after another until one can be reached and takes the call.

        If the last one cannot be reached, an earlier one's word that it is busy is the answer.
        """
        path, way, busy = endpoint.removeprefix("/v1"), seat.way, None
        traffic = self._tally.of(model.name).regular
        while True:
            station = way.go()
            name = station.server.model or model.name
            sent = body if name == asked.model else with_model(body, name)
            answer: Answer | AnswerStream | Failure
            if asked.stream:
                begun = station.upstream.stream(path, sent, way.hurried(self._stream_timeouts))
                answer = await traffic.timed(begun)
            else:
                timeouts = way.hurried(self._timeouts)
                whole = station.upstream.send(path, sent, timeouts, max_bytes=self._max_bytes)
                answer = await traffic.timed(whole)
            if not isinstance(answer, Failure):
                seat.heard(answer.status)
            if way.onward(answer, busy=True):
                busy = await _word_of(answer) or busy
            elif not isinstance(answer, Failure):
                return answer
            elif busy is not None:
                return busy
            else:
                raise refusal(answer)

    async def _gathered(self, seat: "_Seat", stream: AnswerStream) -> Answer:
        """An answer that is no stream of events though one was asked for, whole, to be judged like any other."""
        try:
            async with asyncio.timeout(self._timeouts.total):
                body = await _body_of(stream, self._max_bytes)
        except TimeoutError:
            failure = Failure(Fault.TIMEOUT, "The answer did not end in time.")
        except StreamBroken as broken:
            failure = broken.failure
        else:
            seat.way.whole()
            return Answer(stream.status, {**stream.headers, "content-type": "application/json"}, body)
        finally:
            await stream.aclose()
        seat.way.heard(failure)
        raise refusal(failure)

    def _whole(
        self, principal: Principal, model: Model, endpoint: str, body: bytes, answer: Answer
    ) -> Called | Declined:
        if not 200 <= answer.status < 300:
            return _refused(model, answer)
        read = read_answer(answer.body)
        if read is None:
            raise Refusal(Code.UPSTREAM_ERROR, "The model server's answer is not a result.")
        due = charge(
            model.price,
            read.usage,
            odd=read.odd,
            missing=self._billing.missing_usage,
            endpoint=endpoint,
            asked=body,
            answer=read.body,
        )
        self._note(principal, model, endpoint, due)
        return Called(answer.status, answer.headers, answer.body)

    def _note_stream(self, principal: Principal, model: Model, endpoint: str, body: bytes, events: Events) -> None:
        if events.fruitless:
            return
        usage, odd = events.usage()
        missing, written = self._billing.missing_usage, events.written if usage is None else 0
        due = charge_stream(model.price, usage, odd=odd, missing=missing, asked=body, written=written)
        self._note(principal, model, endpoint, due)

    def _note(self, principal: Principal, model: Model, endpoint: str, due: Charge) -> None:
        self._tally.of(model.name).regular.used(due.usage)
        self._record(UsageRecord(principal, model, endpoint, due))


class _Seat:
    """A regular call's place: in its model's gate, and on its way among the servers."""

    def __init__(self, gate: Gate, way: Way) -> None:
        self._gate = gate
        self.way = way
        self._beside = gate.beside
        self._entered = gate.enter()

    def heard(self, status: int) -> None:
        """A server's answer begins with this status; the gate learns from that."""
        if 200 <= status < 300:
            self._gate.began(self._entered, beside=self._beside)
        else:
            self._gate.status(status)

    def leave(self) -> None:
        """The call has ended."""
        self.way.leave()
        self._gate.leave()


class CalledStream:
    """A 2xx answer whose events arrive in pieces, as received. Always close it."""

    def __init__(self, stream: AnswerStream, seat: _Seat, events: Events, record: Callable[[Events], None]) -> None:
        self.status = stream.status
        self.headers = stream.headers
        self._stream = stream
        self._pieces = aiter(stream)
        self._events = events
        self._seat = seat
        self._record = record
        self._closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """The next piece; raises Refusal UPSTREAM_ERROR or UPSTREAM_TIMEOUT when the answer breaks off."""
        piece = b""
        while not piece:
            try:
                piece = await anext(self._pieces)
            except StreamBroken as broken:
                self._seat.way.heard(broken.failure)
                raise refusal(broken.failure) from broken
            except StopAsyncIteration:
                self._seat.way.whole()
                if rest := self._events.rest():
                    return rest
                raise
            piece = self._events.feed(piece)
        return piece

    async def aclose(self) -> None:
        """Ends the call, wherever it is; what it used until then is recorded."""
        if self._closed:
            return
        self._closed = True
        self._seat.leave()
        self._record(self._events)
        await self._stream.aclose()


def _is_events(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith("text/event-stream")


def refusal(failure: Failure) -> Refusal:
    """What a call that got no answer is refused with."""
    return Refusal(*told(failure))


async def _word_of(answer: Answer | AnswerStream | Failure) -> Answer | None:
    """What a server that does not take the call has said; its connection is let go."""
    if isinstance(answer, Failure):
        return None
    if not isinstance(answer, Answer):
        await answer.aclose()
    return Answer(answer.status, answer.headers, b"")


def _refused(model: Model, answer: Answer) -> Declined:
    """A non-2xx answer: the model server's own refusal, unless it speaks of itself or of Hornada's rights there."""
    if answer.status in _BUSY:
        wait = retry_after(answer.headers)
        message = f"The model '{model.name}' is busy; its server answered with status {answer.status}."
        raise Refusal(Code.MODEL_OVERLOADED, message, retry_after=None if wait is None else math.ceil(wait))
    if answer.status in OURS or answer.status < 400:
        raise Refusal(Code.UPSTREAM_ERROR, f"The model server answered with status {answer.status}.")
    return declined(answer.status, answer.body)


async def _body_of(stream: AnswerStream, most: int) -> bytes:
    pieces, size = [], 0
    async for piece in stream:
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise StreamBroken(Failure(Fault.TOO_LARGE, f"The answer has more than {most} bytes."))
    return b"".join(pieces)


async def _start_of(stream: AnswerStream) -> bytes:
    """The body of a refusal that was to be a stream, as far as it can be had."""
    pieces, size = [], 0
    try:
        async for piece in stream:
            pieces.append(piece)
            size += len(piece)
            if size > _REFUSAL_BYTES:
                break
    except StreamBroken:
        pass
    finally:
        await stream.aclose()
    return b"".join(pieces)
