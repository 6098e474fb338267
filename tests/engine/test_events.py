"""Streams of events, however they are cut."""

import json

import pytest

import hornada.engine.events as streaming
from hornada.core.batch import Usage
from hornada.engine.events import Events


def event(value: object, end: str = "\n") -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}{end}{end}".encode()


def said(text: str, **more: object) -> dict[str, object]:
    return {"choices": [{"delta": {"content": text}}], **more}


USED = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
DONE = b"data: [DONE]\n\n"
WHOLE = event(said("añb")) + b": ping\n\n" + event(said("c", usage=None)) + event(USED) + DONE
SHOWN = event(said("añb")) + b": ping\n\n" + event(said("c", usage=None)) + DONE


def passed(events: Events, data: bytes, size: int) -> bytes:
    pieces = [events.feed(data[at : at + size]) for at in range(0, len(data), size)]
    return b"".join([*pieces, events.rest()])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_event_that_tells_the_usage_is_kept_from_the_client(size: int, end: str) -> None:
    events = Events(hide_usage=True)
    turned = end.encode()
    assert passed(events, WHOLE.replace(b"\n", turned), size) == SHOWN.replace(b"\n", turned)
    assert (events.usage(), events.written) == ((Usage(5, 0, 2), False), 5)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_client_that_asked_gets_every_byte_at_once(size: int) -> None:
    events = Events(hide_usage=False)
    for at in range(0, len(WHOLE), size):
        assert events.feed(WHOLE[at : at + size]) == WHOLE[at : at + size]
    assert events.rest() == b""
    assert (events.usage(), events.written) == ((Usage(5, 0, 2), False), 5)


@pytest.mark.parametrize(
    "kept",
    [
        {"choices": [], "usage": None, "prompt_filter_results": []},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}},
        {"choices": []},
        {"error": {"message": "no"}},
    ],
)
def test_an_event_that_tells_more_or_less_than_the_usage_passes(kept: dict[str, object]) -> None:
    assert passed(Events(hide_usage=True), event(kept), 10) == event(kept)


def test_half_an_event_at_the_end_passes_too() -> None:
    assert passed(Events(hide_usage=True), DONE + b"data: {", 4) == DONE + b"data: {"


def test_the_usage_of_a_response_is_found_in_its_last_event() -> None:
    events = Events(hide_usage=False)
    events.feed(b"event: response.output_text.delta\n" + event({"type": "response.output_text.delta", "delta": "abc"}))
    events.feed(
        b"event: response.completed\n" + event({"response": {"usage": {"input_tokens": 4, "output_tokens": 9}}})
    )
    assert (events.usage(), events.written) == ((Usage(4, 0, 9), False), 3)


def test_what_is_written_counts_in_every_shape() -> None:
    events = Events(hide_usage=False)
    for delta in ({"reasoning_content": "ab"}, {"reasoning": "ab"}, {"tool_calls": [1]}, {"content": None}):
        events.feed(event({"choices": [{"delta": delta}]}))
    events.feed(event({"choices": [{"text": "ab"}, {"text": "ab"}]}))
    assert events.written == 2 + 2 + 3 + 4


def test_a_clamped_usage_is_told() -> None:
    events = Events(hide_usage=True)
    events.feed(event({"choices": [], "usage": {"prompt_tokens": -5, "completion_tokens": 2}}))
    assert events.usage() == (Usage(0, 0, 2), True)


def test_an_endless_event_passes_and_does_not_gather(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MOST", 100)
    events = Events(hide_usage=True)
    data = b"data: " + b"x" * 1000 + b"\n\n" + event(USED) + DONE
    assert passed(events, data, 30) == data.replace(event(USED), b"")


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    "said",
    [
        event({"error": {"message": "out of memory", "code": 500}}),
        event({"error": "out of memory"}) + DONE,
        event({"type": "error", "code": "server_error", "message": "no"}),
        event({"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error"}}}),
        event({"error": {"message": "no"}})[:-2],
    ],
)
def test_a_stream_that_tells_only_an_error_is_fruitless(said: bytes, size: int) -> None:
    events = Events(hide_usage=True)
    assert passed(events, said, size) == said
    assert events.fruitless


@pytest.mark.parametrize(
    "data", [WHOLE, event({"error": None}), event(said("a")) + event({"error": {"message": "no"}})]
)
def test_a_stream_that_tells_no_error_or_has_written_something_is_not(data: bytes) -> None:
    events = Events(hide_usage=True)
    passed(events, data, 10_000)
    assert not events.fruitless


@pytest.mark.parametrize("hide", [True, False])
def test_text_is_counted_whether_it_was_read_at_once_or_at_the_end(hide: bool) -> None:
    events = Events(hide_usage=hide)
    text = 'an error \\u0041 failed; the "usage" is null ' * 50
    pieces = [event(said(text if at % 3 else "plain")) for at in range(90)]
    assert b"".join(map(events.feed, pieces)) == b"".join(pieces)
    assert events.written == 60 * len(text.encode()) + 30 * len(b"plain")
    assert events.written == 60 * len(text.encode()) + 30 * len(b"plain"), "once"
    assert events.usage() == (None, False)


def test_more_than_is_kept_unread_is_read_on_the_way() -> None:
    events = Events(hide_usage=True)
    for _ in range(100):
        events.feed(event(said("x" * 1000, usage=None)))
    assert sum(map(len, events._unread)) < 70_000
    assert events.written == 100_000


def test_an_event_with_escaped_keys_is_read_all_the_same() -> None:
    events = Events(hide_usage=True)
    escaped = event(USED).replace(b"usage", rb"\u0075sage")
    assert events.feed(event(said("a")) + escaped + DONE) == event(said("a")) + DONE
    assert events.usage() == (Usage(5, 0, 2), False)


def test_a_usage_told_with_every_event_is_the_last_one() -> None:
    events = Events(hide_usage=True)
    for n in (1, 2, 3):
        told = event(said("a", usage={"prompt_tokens": 5, "completion_tokens": n}))
        assert events.feed(told) == told
    events.feed(event(said("b")))
    assert events.usage() == (Usage(5, 0, 3), False)


def test_a_server_that_writes_nothing_but_an_error_is_fruitless() -> None:
    events = Events(hide_usage=True)
    events.feed(event({"error": {"message": "no"}}))
    assert events.fruitless
    events.feed(event(said("a")))
    assert not events.fruitless
