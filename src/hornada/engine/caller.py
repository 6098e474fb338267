"""Sends one line to its model once and judges what comes back."""

import logging
from collections.abc import Callable, Mapping

from msgspec import Struct

from hornada.core.answer import Answered, envelope, error_body, read_answer
from hornada.core.body import check_request, with_model, with_priority
from hornada.core.catalog import Catalog, Model
from hornada.core.errors import Code, Refusal
from hornada.core.limits import Limits
from hornada.core.line import Reply
from hornada.core.money import BillingRules, Charge, amount, charge
from hornada.engine import crashpoint
from hornada.engine.declined import declined_line
from hornada.engine.held import Held
from hornada.engine.models import called
from hornada.engine.retries import Again, Elsewhere, Kind, Result
from hornada.engine.servers import Servers, told
from hornada.engine.tally import Tally
from hornada.engine.turnstile import Turnstile
from hornada.upstream.protocol import Answer, Failure, Fault, Timeouts

log = logging.getLogger("hornada")

_BUSY = frozenset({429, 502, 503})
_FAILED = frozenset({408, 500, 504})
_REMEMBERED = 256
OURS = frozenset({401, 403})
"""Statuses with which a model server refuses Hornada's own credentials: never the user's fault."""


class Caller:
    """One attempt of a line: checks its body as a regular call's would be, resolves its model, sends it, judges."""

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        servers: Servers,
        limits: Limits,
        billing: BillingRules = BillingRules(),  # noqa: B008 - frozen
        tally: Tally | None = None,
    ) -> None:
        self._catalog = catalog
        self._tally = tally or Tally()
        self._missing = billing.missing_usage
        self._servers = servers
        self._turnstile = Turnstile()
        self._resolved_in: Catalog | None = None
        self._resolved: dict[tuple[frozenset[str] | None, str, str], Model] = {}
        self.adopt(limits)

    def adopt(self, limits: Limits) -> None:
        """Takes over changed limits; what has begun keeps those that it began with."""
        self._max_bytes = limits.response_bytes
        total = limits.upstream_timeout_s
        self._timeouts = Timeouts(connect=min(10.0, total), first_byte=total, total=total)

    @property
    def longest_s(self) -> float:
        """How long one call may take, in seconds."""
        return self._timeouts.connect + self._timeouts.total

    async def attempt(self, held: Held, line: int) -> Result:
        """Sends line ``line`` of a chunk."""
        try:
            asked = self._asked(held, line)
            if not isinstance(asked, _Asked):
                return asked
            answer = await self._reach(asked)
            return _failure(answer) if isinstance(answer, Failure) else self._judge(answer, asked)
        except Exception:
            chunk = held.work.chunk
            log.exception("line %d of batch_%s could not be sent", chunk.span.first + line, chunk.batch)
            body = envelope(Code.INTERNAL_ERROR, "The request could not be sent.", kind="server_error")
            return Again(Kind.FAILED, why="the request could not be sent."), Reply(ok=False, status=500, body=body)

    def _asked(self, held: Held, line: int) -> "_Asked | Result":
        """What a line asks for, of which model; or what it comes to without being sent."""
        request, source = held.requests[line], held.work.source
        endpoint, body = source.endpoint, request.body
        try:
            asked = check_request(endpoint, body)
            model = self._called(source.models, asked.model, endpoint)
        except Refusal as refusal:
            return None, _refused(held, line, refusal)
        if model.name != held.work.chunk.model:
            return Elsewhere(model.name)
        sent = body if model.batch_priority is None else with_priority(body, model.batch_priority)
        return _Asked(model, asked.model, endpoint, body, sent)

    def _called(self, listed: frozenset[str] | None, name: str, endpoint: str) -> Model:
        """As ``called``, remembered for as long as the catalog stays the same."""
        catalog = self._catalog()
        if catalog is not self._resolved_in or len(self._resolved) > _REMEMBERED:
            self._resolved_in, self._resolved = catalog, {}
        key = listed, name, endpoint
        model = self._resolved.get(key)
        if model is None:
            model = self._resolved[key] = called(catalog, listed, name, endpoint)
        return model

    async def _reach(self, asked: "_Asked") -> Answer | Failure:
        """Asks one server after another until one can be reached."""
        model, traffic = asked.model, self._tally.of(asked.model.name).batch
        way = self._servers.way(model)
        try:
            while True:
                station = way.go()
                name = station.server.model or model.name
                sent = asked.sent if asked.name == name else with_model(asked.sent, name)
                crashpoint.reach("calls_in_flight")
                path, timeouts = asked.endpoint.removeprefix("/v1"), way.hurried(self._timeouts)
                ticket, answered = traffic.begin(), False
                try:
                    call = station.upstream.send(path, sent, timeouts, max_bytes=self._max_bytes, turns=self._turnstile)
                    answer = await call
                    answered = not isinstance(answer, Failure)
                finally:
                    traffic.end(ticket, answered=answered)
                if not way.onward(answer, busy=False):
                    return answer
        finally:
            way.leave()

    def _judge(self, answer: Answer, asked: "_Asked") -> Result:
        status = answer.status
        if 200 <= status < 300:
            read = read_answer(answer.body)
            if read is not None:
                if read.usage is not None:  # as _charge, which most answers do not need
                    cost = amount(asked.model.price, read.usage)
                    return Reply(True, status, read.body, read.usage, cost, read.odd)  # noqa: FBT003 - a hot path
                due = self._charge(asked, read)
                return Reply(
                    ok=True, status=status, body=read.body, usage=due.usage, cost=due.amount, estimated=due.estimated
                )
            message = "The model server's answer is not a result."
            return Again(Kind.FAILED, why=message), _upstream_error(502, message)
        return _refusal(answer)

    def _charge(self, asked: "_Asked", read: Answered) -> Charge:
        return charge(
            asked.model.price,
            read.usage,
            odd=read.odd,
            missing=self._missing,
            endpoint=asked.endpoint,
            asked=asked.body,
            answer=read.body,
        )


class _Asked(Struct, gc=False):
    """A line that is about to be sent: to which model and under which name; its body, and as it is sent."""

    model: Model
    name: str
    endpoint: str
    body: bytes
    sent: bytes


def _refused(held: Held, line: int, refusal: Refusal) -> Reply:
    chunk = held.work.chunk
    request_id = held.spelling.lines.request_id(chunk.batch, chunk.span.first + line, held.requests[line].custom_id)
    status, body = held.spelling.refused(refusal, request_id)
    return Reply(ok=False, status=status, body=error_body(status, body))


def _refusal(answer: Answer) -> Result:
    """What a non-2xx answer comes to."""
    status = answer.status
    if status in OURS or status < 400:
        return _upstream_error(502, f"The model server answered with status {status}.")
    reply = Reply(ok=False, status=status, body=declined_line(status, answer.body))
    why = f"its server answers with status {status}."
    if status in _BUSY:
        return Again(Kind.BUSY, retry_after(answer.headers), why=why), reply
    if status in _FAILED:
        return Again(Kind.FAILED, retry_after(answer.headers), why=why), reply
    return reply


def _failure(failure: Failure) -> tuple[Again, Reply]:
    """No answer; a line that was not sent was asked of every server of its model."""
    code, message = told(failure)
    status = 504 if failure.fault is Fault.TIMEOUT else 502
    reply = Reply(ok=False, status=status, body=envelope(code, message, kind="server_error"))
    unreached = failure.fault is Fault.UNREACHABLE
    return Again(Kind.BUSY if unreached else Kind.FAILED, unreached=unreached, why=failure.message), reply


def _upstream_error(status: int, message: str) -> Reply:
    return Reply(ok=False, status=status, body=envelope(Code.UPSTREAM_ERROR, message, kind="server_error"))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: ``retry-after-ms`` before ``retry-after``; a date or nonsense is None."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "")
        try:
            seconds = float(text) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None
