"""Regular calls against model servers that answer as a test says."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from hornada.core.account import Plan, Principal, Role
from hornada.core.batch import Usage
from hornada.core.catalog import Catalog, Model, Price, Server
from hornada.core.errors import Code, Refusal
from hornada.core.limits import Limits
from hornada.core.money import BillingRules, Charge
from hornada.engine.capacity import Gates
from hornada.engine.declined import Declined
from hornada.engine.gateway import Called, CalledStream, Gateway
from hornada.engine.servers import Servers
from hornada.engine.usage import UsageRecord
from hornada.upstream import connect
from tests.upstream.conftest import Handler, Visit, serving

CHAT, EMBED = "/v1/chat/completions", "/v1/embeddings"
BODY = b'{ "model": "m",  "messages": [{"role":"user","content":"\xc2\xbfQu\xc3\xa9?"}], "x": 1e2 }'
ANSWER = b'{"id":"a","choices":[],\n "usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}'


class Front:
    """A gateway with one model, ``m`` (alias ``Em``), and what it recorded."""

    def __init__(
        self,
        *ports: int,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        price: Price = Price(),  # noqa: B008
        billing: BillingRules = BillingRules(),  # noqa: B008
        **server: str,
    ) -> None:
        self.model = Model(
            name="m",
            servers=tuple(Server(url=f"http://127.0.0.1:{port}/v1", **server) for port in ports),
            endpoints=frozenset({CHAT}),
            price=price,
        )
        self.catalog = Catalog(models={"m": self.model}, aliases={"Em": "m"})
        self.servers = Servers(connect)
        self.gates = Gates()
        self.records: list[UsageRecord] = []
        self.gateway = Gateway(
            lambda: self.catalog,
            self.servers,
            self.gates,
            limits=limits,
            record=self.records.append,
            admit=self.admit,
            billing=billing,
        )

    async def admit(self, org: str) -> None:
        """Lets every organization but ``poor`` start a call."""
        if org == "poor":
            raise Refusal(Code.INSUFFICIENT_CREDITS, "nothing left")

    async def call(
        self, body: bytes = BODY, endpoint: str = CHAT, models: frozenset[str] | None = None, org: str = "o"
    ) -> Called | CalledStream | Declined:
        principal = Principal(org=org, member="u", key="k", role=Role.MEMBER, plan=Plan(), models=models)
        return await self.gateway.call(principal, endpoint, body)

    @property
    def inside(self) -> int:
        return self.gates.of(self.model).regular


Open = Callable[..., Front]


@pytest.fixture
async def front() -> AsyncIterator[Open]:
    opened: list[Front] = []

    def open_front(*ports: int, **more: Any) -> Front:
        opened.append(Front(*ports, **more))
        return opened[-1]

    yield open_front
    for each in opened:
        assert each.inside == 0, "every call that went in has come out"
        await each.servers.close()


def answering(body: bytes = ANSWER, status: str = "200 OK", headers: bytes = b"") -> Handler:
    async def handler(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.answer(body, status=status, headers=headers)

    return handler


async def refused(front: Front, **call: object) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        await front.call(**call)
    return refusal.value


def sent(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[2]


# --- both ways untouched -----


async def test_body_and_answer_pass_byte_for_byte(front: Open):
    async with serving(answering()) as server:
        called = await front(server.port).call()
    assert isinstance(called, Called)
    assert (called.status, called.body) == (200, ANSWER)
    assert sent(server.seen[0]) == BODY
    assert server.seen[0].startswith(b"POST /v1/chat/completions ")


async def test_an_alias_reaches_the_server_as_the_name_of_the_model(front: Open):
    async with serving(answering()) as server:
        await front(server.port).call(BODY.replace(b'"m"', b'"Em"'))
    assert sent(server.seen[0]) == BODY


async def test_a_server_is_asked_by_its_own_name_for_the_model(front: Open):
    async with serving(answering()) as server:
        await front(server.port, model="org/m-7b").call()
    assert sent(server.seen[0]) == BODY.replace(b'"m"', b'"org/m-7b"')


async def test_an_answered_call_is_recorded_with_its_usage(front: Open):
    async with serving(answering()) as server:
        opened = front(server.port)
        await opened.call()
    (record,) = opened.records
    assert (record.model.name, record.endpoint, record.charge.usage) == ("m", CHAT, Usage(input=7, output=3))


async def test_an_answer_without_usage_is_recorded_too(front: Open):
    async with serving(answering(b'{"choices":[]}')) as server:
        opened = front(server.port)
        await opened.call()
    (record,) = opened.records
    assert record.charge == Charge(Usage(input=2, output=0), 0, estimated=True)


async def test_a_call_is_inside_the_gate_while_it_runs_and_cancelling_it_drops_the_connection(front: Open):
    asked, gone = asyncio.Event(), asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.request()
        asked.set()
        if await visit.gone():
            gone.set()

    async with serving(handler) as server:
        opened = front(server.port)
        call = asyncio.create_task(opened.call())
        await asked.wait()
        assert opened.inside == 1
        call.cancel()
        await asyncio.wait_for(gone.wait(), 60)
        assert opened.inside == 0
    assert opened.records == []


# --- which model, which server -----


async def test_an_unknown_model_is_not_found(front: Open):
    refusal = await refused(front(1), body=BODY.replace(b'"m"', b'"other"'))
    assert (refusal.code, refusal.param) == (Code.MODEL_NOT_FOUND, "model")
    assert "Models that this key may use: m, " in refusal.message


@pytest.mark.parametrize("models", [frozenset({"m"}), frozenset({"Em"}), None])
async def test_a_key_for_a_model_reaches_it(front: Open, models: frozenset[str] | None):
    async with serving(answering()) as server:
        assert isinstance(await front(server.port).call(models=models), Called)


async def test_a_key_for_other_models_does_not_find_it(front: Open):
    assert (await refused(front(1), models=frozenset({"n"}))).code is Code.MODEL_NOT_FOUND


async def test_a_model_that_does_not_offer_the_endpoint_is_not_found_there(front: Open):
    refusal = await refused(front(1), body=b'{"model":"m","input":"a"}', endpoint=EMBED)
    assert refusal.code is Code.MODEL_NOT_FOUND
    assert EMBED in refusal.message


async def test_a_body_without_messages_is_refused_before_any_server_is_asked(front: Open):
    async with serving(answering()) as server:
        refusal = await refused(front(server.port), body=b'{"model":"m"}')
    assert (refusal.code, refusal.param) == (Code.MISSING_REQUIRED_PARAMETER, "messages")
    assert server.seen == []


async def test_another_server_takes_over_for_one_that_cannot_be_reached(front: Open):
    async with serving(answering()) as gone:
        pass
    async with serving(answering()) as server:
        opened = front(gone.port, server.port)
        for _ in range(3):
            assert isinstance(await opened.call(), Called)
    assert len(server.seen) == 3


async def test_a_call_that_may_have_been_executed_is_not_sent_to_another_server(front: Open):
    async def handler(visit: Visit) -> None:
        await visit.request()

    async with serving(handler) as first, serving(handler) as second:
        refusal = await refused(front(first.port, second.port))
    assert refusal.code is Code.UPSTREAM_ERROR
    assert len(first.seen) + len(second.seen) == 1


# --- what goes wrong -----


async def test_a_server_that_cannot_be_reached_is_an_upstream_error(front: Open):
    async with serving(answering()) as gone:
        pass
    assert (await refused(front(gone.port))).code is Code.UPSTREAM_ERROR


async def test_a_server_that_does_not_answer_in_time_is_an_upstream_timeout(front: Open):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.gone()

    async with serving(handler) as server:
        refusal = await refused(front(server.port, limits=Limits(upstream_timeout_s=0.1)))
    assert refusal.code is Code.UPSTREAM_TIMEOUT


async def test_an_answer_over_the_limit_is_an_upstream_error(front: Open):
    async with serving(answering()) as server:
        refusal = await refused(front(server.port, limits=Limits(response_bytes=20)))
    assert refusal.code is Code.UPSTREAM_ERROR


@pytest.mark.parametrize(
    "body", [b"<html>", b"[1]", b'{"a":', b"", b'data: {"a":1}\n\n', b'{"error":{"message":"no"}}']
)
async def test_a_success_that_is_no_result_is_an_upstream_error(front: Open, body: bytes):
    async with serving(answering(body)) as server:
        opened = front(server.port)
        assert (await refused(opened)).code is Code.UPSTREAM_ERROR
    assert opened.records == []


@pytest.mark.parametrize("stream", [False, True])
async def test_a_status_that_http_does_not_know_is_an_upstream_error(front: Open, stream: bool):
    body = BODY.replace(b'"x"', b'"stream": true, "x"') if stream else BODY
    async with serving(answering(status="999 Odd")) as server:
        opened = front(server.port)
        assert (await refused(opened, body=body)).code is Code.UPSTREAM_ERROR
    assert opened.records == []


@pytest.mark.parametrize("status", ["429 No", "503 No"])
async def test_a_busy_server_is_an_overloaded_model_with_its_wait(front: Open, status: str):
    async with serving(answering(b"{}", status, b"Retry-After: 1.2\r\n")) as server:
        refusal = await refused(front(server.port))
    assert (refusal.code, refusal.retry_after) == (Code.MODEL_OVERLOADED, 2)


@pytest.mark.parametrize(("status", "capacity"), [("429 No", 4), ("503 No", 4), ("500 No", 8), ("400 No", 8)])
async def test_a_refused_call_makes_lines_give_way(front: Open, status: str, capacity: int):
    async with serving(answering(b"{}", status)) as server:
        opened = front(server.port)
        gate = opened.gates.of(opened.model)
        for _ in range(4):
            gate.try_line()
        with contextlib.suppress(Refusal):
            await opened.call()
    assert gate.capacity == capacity


@pytest.mark.parametrize("stream", [False, True])
async def test_when_answers_begin_is_measured_beside_lines_and_without(front: Open, stream: bool):
    body = BODY.replace(b'"x"', b'"stream": %s, "x"' % (b"true" if stream else b"false"))
    async with serving(answering()) as server:
        opened = front(server.port)
        gate = opened.gates.of(opened.model)
        for _ in range(2):
            for _ in range(20):
                called = await opened.call(body)
                if isinstance(called, CalledStream):
                    await called.aclose()
            gate.try_line()
    gate.tick(waiting=False)
    assert gate.harm.ratio is not None


@pytest.mark.parametrize("status", ["401 No", "403 No", "302 Go", "307 Go"])
async def test_what_concerns_us_and_not_the_user_is_an_upstream_error(front: Open, status: str):
    body = b'{"error":{"message":"Incorrect API key provided: sk-model"}}'
    async with serving(answering(body, status)) as server:
        refusal = await refused(front(server.port, api_key="sk-model"))
    assert refusal.code is Code.UPSTREAM_ERROR
    assert "sk-model" not in refusal.message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "body", "message", "kind", "param", "code"),
    [
        (400, {"error": {"message": "no", "type": "t", "param": "p", "code": "c"}}, "no", "t", "p", "c"),
        (400, {"error": {"message": "no", "type": "t", "code": 400}}, "no", "t", None, "400"),
        (422, {"object": "error", "message": "no", "code": 422}, "no", "invalid_request_error", None, "422"),
        (404, {"detail": "Not Found"}, "Not Found", "invalid_request_error", None, None),
        (422, {"detail": [{"loc": ["body"]}]}, '[{"loc":["body"]}]', "invalid_request_error", None, None),
        (400, {"error": "no"}, "no", "invalid_request_error", None, None),
        (400, {}, "The model server answered with status 400.", "invalid_request_error", None, None),
        (501, {"error": {"message": "no", "code": 501}}, "no", "server_error", None, "501"),
    ],
)
async def test_a_server_s_own_refusal_keeps_its_status_and_words(
    front: Open, status: int, body: dict, message: str, kind: str, param: str | None, code: str | None, stream: bool
):
    said = BODY.replace(b'"x"', b'"stream": true, "x"') if stream else BODY
    async with serving(answering(json.dumps(body).encode(), f"{status} No")) as server:
        opened = front(server.port)
        declined = await opened.call(said)
    assert declined == Declined(status=status, message=message, kind=kind, param=param, code=code)
    assert opened.records == []


async def test_plain_text_is_wrapped(front: Open):
    async with serving(answering(b"upstream request\nis too odd", "400 No")) as server:
        declined = await front(server.port).call()
    assert isinstance(declined, Declined)
    assert "upstream request is too odd" in declined.message


async def test_a_refusal_that_is_nested_too_deeply_is_still_a_refusal(front: Open):
    async with serving(answering(b'{"detail":' + b"[" * 3000 + b"]" * 3000 + b"}", "400 No")) as server:
        declined = await front(server.port).call()
    assert isinstance(declined, Declined)
    assert declined.status == 400


# --- streams -----

ASKED = BODY.replace(b'"x"', b'"stream": true, "x"')
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
EVENTS = (
    b'data: {"choices":[{"delta":{"content":"a"}}],"usage":null}\n\n',
    b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n',
    b"data: [DONE]\n\n",
)


def streaming(*pieces: bytes, head: bytes = HEAD) -> Handler:
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(head, *pieces)

    return handler


async def opened_stream(front: Front) -> CalledStream:
    stream = await front.call(ASKED)
    assert isinstance(stream, CalledStream), stream
    return stream


async def test_a_stream_passes_and_what_its_end_reports_is_recorded(front: Open):
    async with serving(streaming(*EVENTS)) as server:
        opened = front(server.port)
        stream = await opened_stream(opened)
        assert opened.inside == 1
        assert b"".join([piece async for piece in stream]) == EVENTS[0] + EVENTS[2]
        await stream.aclose()
        await stream.aclose()
    assert [record.charge.usage for record in opened.records] == [Usage(input=5, output=2)]
    assert sent(server.seen[0]) == ASKED[:-1].rstrip() + b' ,"stream_options":{"include_usage":true}}'


async def test_the_usage_of_a_response_is_found_in_its_last_event_however_it_is_cut(front: Open):
    event = b'event: response.completed\r\ndata: {"response":{"usage":{"input_tokens":4,"output_tokens":9}}}\r\n\r\n'
    async with serving(streaming(b"data: {}\n\n" * 30_000, event[:50], event[50:])) as server:
        opened = front(server.port)
        stream = await opened_stream(opened)
        async for _ in stream:
            pass
        await stream.aclose()
    assert [record.charge.usage for record in opened.records] == [Usage(input=4, output=9)]


async def test_a_stream_that_is_given_up_drops_its_connection_and_is_recorded_once(front: Open):
    gone = asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD, EVENTS[0])
        if await visit.gone():
            gone.set()

    async with serving(handler) as server:
        opened = front(server.port)
        stream = await opened_stream(opened)
        await anext(aiter(stream))
        await stream.aclose()
        await asyncio.wait_for(gone.wait(), 60)
    assert [record.charge for record in opened.records] == [Charge(Usage(input=2, output=1), 0, estimated=True)]


async def test_a_stream_that_breaks_off_is_an_upstream_error_after_what_came(front: Open):
    head = HEAD[:-2] + b"Content-Length: 999\r\n\r\n"
    async with serving(streaming(EVENTS[0], head=head)) as server:
        stream = await opened_stream(front(server.port))
        assert await anext(stream) == EVENTS[0]
        with pytest.raises(Refusal) as broken:
            await anext(stream)
        await stream.aclose()
    assert broken.value.code is Code.UPSTREAM_ERROR


# --- what is charged -----

PRICED = Price(input=1_000_000, output=10_000_000)


def charges(front: Front) -> list[Charge]:
    return [record.charge for record in front.records]


async def test_a_caller_without_balance_is_refused_before_any_server_is_asked(front: Open):
    async with serving(answering()) as server:
        opened = front(server.port)
        refusal = await refused(opened, org="poor")
    assert (refusal.code, server.seen, opened.records) == (Code.INSUFFICIENT_CREDITS, [], [])


async def test_a_refused_call_costs_nothing(front: Open):
    async with serving(answering(b'{"detail":"no"}', "400 No")) as server:
        opened = front(server.port)
        await opened.call()
    assert opened.records == []


async def test_a_stream_without_usage_is_charged_for_prompt_and_text(front: Open):
    async with serving(
        streaming(EVENTS[0], b'data: {"choices":[{"delta":{"content":"bcdef"}}]}\n\n', EVENTS[2])
    ) as server:
        opened = front(server.port, price=PRICED)
        stream = await opened_stream(opened)
        assert len([piece async for piece in stream]) >= 1
        await stream.aclose()
    assert charges(opened) == [Charge(Usage(input=2, output=2), 22, estimated=True)]


async def test_a_client_that_leaves_a_stream_is_charged_for_what_was_written(front: Open):
    text = b'data: {"choices":[{"delta":{"content":"' + b"x" * 40 + b'"}}]}\n\n'

    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD, text)
        await visit.gone()

    async with serving(handler) as server:
        opened = front(server.port, price=PRICED)
        stream = await opened_stream(opened)
        assert await anext(stream) == text
        await stream.aclose()
    assert charges(opened) == [Charge(Usage(input=2, output=10), 102, estimated=True)]


async def test_a_client_that_asked_for_the_usage_itself_gets_it(front: Open):
    own = ASKED.replace(b"true", b'true,"stream_options":{"include_usage":true}')
    async with serving(streaming(*EVENTS)) as server:
        opened = front(server.port)
        stream = await opened.call(own)
        assert isinstance(stream, CalledStream)
        assert b"".join([piece async for piece in stream]) == b"".join(EVENTS)
        await stream.aclose()
    assert sent(server.seen[0]) == own
    assert charges(opened)[0].usage == Usage(input=5, output=2)


async def test_where_the_setting_says_so_no_server_is_asked_for_usage(front: Open):
    rules = BillingRules(ask_stream_usage=False, missing_usage="zero")
    async with serving(streaming(EVENTS[0], EVENTS[2])) as server:
        opened = front(server.port, price=PRICED, billing=rules)
        stream = await opened_stream(opened)
        assert b"".join([piece async for piece in stream]) == EVENTS[0] + EVENTS[2]
        await stream.aclose()
    assert sent(server.seen[0]) == ASKED
    assert charges(opened) == [Charge(Usage(), 0, estimated=True)]


async def test_the_usage_is_asked_for_under_the_server_s_own_name_of_the_model_too(front: Open):
    async with serving(streaming(*EVENTS)) as server:
        opened = front(server.port, model="org/m-7b")
        await (await opened_stream(opened)).aclose()
    assert json.loads(sent(server.seen[0])) == json.loads(ASKED) | {
        "model": "org/m-7b",
        "stream_options": {"include_usage": True},
    }


def headed(kind: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\n\r\n"


@pytest.mark.parametrize("kind", [b"application/json", b"text/plain", b"text/html; charset=utf-8"])
async def test_a_stream_that_was_answered_whole_is_passed_on_as_json_and_charged_by_its_usage(front: Open, kind: bytes):
    async with serving(streaming(ANSWER[:20], ANSWER[20:], head=headed(kind))) as server:
        opened = front(server.port, price=PRICED)
        called = await opened.call(ASKED)
    assert isinstance(called, Called)
    assert (called.status, called.headers["content-type"], called.body) == (200, "application/json", ANSWER)
    assert charges(opened) == [Charge(Usage(input=7, output=3), 37, estimated=False)]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (b"application/json", b'{"error":{"message":"no"}}'),
        (b"text/html", b"<html>Welcome</html>"),
        (b"application/json", b""),
        (b"text/plain", b"data: {}\n\n"),
    ],
)
async def test_a_stream_that_was_answered_with_no_result_is_an_upstream_error(front: Open, kind: bytes, body: bytes):
    async with serving(streaming(body, head=headed(kind))) as server:
        opened = front(server.port, price=PRICED)
        assert (await refused(opened, body=ASKED)).code is Code.UPSTREAM_ERROR
    assert opened.records == []


async def test_what_is_no_stream_is_read_within_the_limits_of_an_answer(front: Open):
    async with serving(streaming(ANSWER, head=headed(b"application/json"))) as server:
        opened = front(server.port, limits=Limits(response_bytes=len(ANSWER) - 1))
        assert (await refused(opened, body=ASKED)).code is Code.UPSTREAM_ERROR
    assert opened.records == []


async def test_what_is_no_stream_is_waited_for_as_long_as_an_answer(front: Open):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(headed(b"application/json")[:-2] + b"Content-Length: 99\r\n\r\n{")
        await visit.gone()

    async with serving(handler) as server:
        opened = front(server.port, limits=Limits(upstream_timeout_s=0.1))
        assert (await refused(opened, body=ASKED)).code is Code.UPSTREAM_TIMEOUT
    assert opened.records == []


async def test_a_stream_of_an_error_alone_passes_and_costs_nothing(front: Open):
    error = b'data: {"error":{"message":"out of memory","code":500}}\n\n'
    async with serving(streaming(error)) as server:
        opened = front(server.port, price=PRICED)
        stream = await opened_stream(opened)
        assert b"".join([piece async for piece in stream]) == error
        await stream.aclose()
    assert opened.records == []
