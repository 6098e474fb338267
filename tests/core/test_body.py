"""The little that the gateway asks of a call's body, and the replacement of its model."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornada.core.body import Asked, _examine, _glance, check_request, with_model, with_priority
from hornada.core.errors import Refusal

CHAT = "/v1/chat/completions"
MESSAGES = '"messages":[{"role":"user","content":"hi"}]'


def refusal(endpoint: str, body: bytes) -> tuple[str, str | None, str]:
    with pytest.raises(Refusal) as caught:
        check_request(endpoint, body)
    return caught.value.code.value, caught.value.param, caught.value.message


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        (CHAT, f'{{"model":"m",{MESSAGES}}}'),
        (CHAT, f' {{\n{MESSAGES} ,"unknown":1e400,"seed":{10**300},"model":"m","stream":null}}\n'),
        (CHAT, f'{{"\\u006dodel":"m",{MESSAGES}}}'),
        (CHAT, f'{{"model":"m",{MESSAGES},"tools":[{{"model":1,"model":2}}]}}'),
        ("/v1/completions", '{"model":"m","prompt":""}'),
        ("/v1/completions", '{"model":"m","prompt":[[1],[2]]}'),
        ("/v1/embeddings", '{"model":"m","input":"x"}'),
        ("/v1/embeddings", '{"model":"m","input":[ 1 ]}'),
        ("/v1/responses", '{"model":"m","input":[{"role":"user"}]}'),
        ("/v1/moderations", '{"model":"m","input":["x"]}'),
        ("/v1/rerank", '{"model":"m","query":"q","documents":["d"]}'),
        ("/v1/other", '{"model":"m"}'),
    ],
)
def test_these_bodies_pass(endpoint: str, body: str) -> None:
    assert check_request(endpoint, body.encode()) == Asked("m", stream=False)


def test_a_stream_is_asked_for_by_true_alone() -> None:
    assert check_request(CHAT, f'{{"model":"m","stream":true,{MESSAGES}}}'.encode()).stream
    assert not check_request(CHAT, f'{{"model":"m","stream":false,{MESSAGES}}}'.encode()).stream


@pytest.mark.parametrize(
    ("endpoint", "body", "code", "param"),
    [
        (CHAT, b"", "invalid_json", None),
        (CHAT, b"{", "invalid_json", None),
        (CHAT, b"[]", "invalid_json", None),
        (CHAT, b" 1", "invalid_json", None),
        (CHAT, b'{"a":"\xff"}', "invalid_json", None),
        (CHAT, b'{"a":"\\ud83d"}', "invalid_json", None),
        (CHAT, b'{"a":NaN}', "invalid_json", None),
        (CHAT, b'{"model":"m","a":' + b"[" * 128 + b"]" * 128 + b"}", "invalid_json", None),
        (CHAT, b'{"model":"m","a":' + b"[" * 1_000_000, "invalid_json", None),
        (CHAT, f'{{"model":"m","model":"m",{MESSAGES}}}'.encode(), "invalid_json", "model"),
        (CHAT, f'{{"model":"m","m\\u006fdel":"n",{MESSAGES}}}'.encode(), "invalid_json", "model"),
        (CHAT, f'{{"model":1e400,"model":"m",{MESSAGES}}}'.encode(), "invalid_json", "model"),
        (CHAT, f"{{{MESSAGES}}}".encode(), "missing_required_parameter", "model"),
        (CHAT, f'{{"model":null,{MESSAGES}}}'.encode(), "invalid_type", "model"),
        (CHAT, f'{{"model":1e400,{MESSAGES}}}'.encode(), "invalid_type", "model"),
        (CHAT, f'{{"model":"",{MESSAGES}}}'.encode(), "invalid_value", "model"),
        (CHAT, b'{"model":"m"}', "missing_required_parameter", "messages"),
        (CHAT, b'{"model":"m","messages":null}', "invalid_type", "messages"),
        (CHAT, b'{"model":"m","messages":"hi"}', "invalid_type", "messages"),
        (CHAT, b'{"model":"m","messages":{}}', "invalid_type", "messages"),
        (CHAT, b'{"model":"m","messages":[ ]}', "invalid_value", "messages"),
        (CHAT, b'{"model":"m","messages":[{},"hi"]}', "invalid_type", "messages[1]"),
        (CHAT, f'{{"model":"m",{MESSAGES},"stream":1}}'.encode(), "invalid_type", "stream"),
        (CHAT, f'{{"model":"m",{MESSAGES},"stream":"true"}}'.encode(), "invalid_type", "stream"),
        ("/v1/completions", b'{"model":"m"}', "missing_required_parameter", "prompt"),
        ("/v1/completions", b'{"model":"m","prompt":null}', "invalid_type", "prompt"),
        ("/v1/embeddings", b'{"model":"m"}', "missing_required_parameter", "input"),
        ("/v1/embeddings", b'{"model":"m","input":{}}', "invalid_type", "input"),
        ("/v1/embeddings", b'{"model":"m","input":[\n]}', "invalid_value", "input"),
        ("/v1/rerank", b'{"model":"m","query":"q"}', "missing_required_parameter", "documents"),
        ("/v1/rerank", b'{"model":"m","documents":["d"]}', "missing_required_parameter", "query"),
    ],
)
def test_these_bodies_are_refused(endpoint: str, body: bytes, code: str, param: str | None) -> None:
    assert refusal(endpoint, body)[:2] == (code, param)


def test_refusals_speak_like_openai() -> None:
    missing = refusal(CHAT, b'{"model":"m"}')
    wrong = refusal(CHAT, b'{"model":"m","messages":"hi"}')
    assert missing[2] == "Missing required parameter: 'messages'."
    assert wrong[2] == "Invalid type for 'messages': expected an array of objects, but got a string instead."


VALUES = st.sampled_from(
    ['"m"', '""', "null", "1e400", "[]", "[1]", "[{}]", "[{},1]", "{}", "true", '"\\ud83d"', "[ ]"]
)
FIELDS = st.sampled_from(["model", "messages", "prompt", "input", "query", "documents", "stream", "m\\u006fdel", "x"])
MEMBERS = st.lists(st.tuples(FIELDS, VALUES).map(lambda pair: f'"{pair[0]}": {pair[1]}'), max_size=5)


@given(
    st.sampled_from([CHAT, "/v1/completions", "/v1/embeddings", "/v1/rerank"]),
    st.sampled_from(["", '"model":"m",']),
    MEMBERS,
)
def test_a_glance_passes_nothing_that_a_close_look_refuses(endpoint: str, head: str, members: list[str]) -> None:
    body = ("{" + head + ",".join([*members, '"end":0']) + "}").encode()
    asked = _glance(endpoint, body)
    if asked is not None:
        assert _examine(endpoint, body) == asked


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"model":"a","x":1}', '{"model":"NEW","x":1}'),
        (' { "model" :\n "a" , "x" : 1E2 }\n', ' { "model" :\n "NEW" , "x" : 1E2 }\n'),
        ('{"x":{"model":"a"},"model":"a"}', '{"x":{"model":"a"},"model":"NEW"}'),
        ('{"x":"\\"model\\":\\"a\\"","model":"a"}', '{"x":"\\"model\\":\\"a\\"","model":"NEW"}'),
        ('{"x\\"model":"a","model":"a"}', '{"x\\"model":"a","model":"NEW"}'),
        ('{"model":"a\\u0062\\"","x":"model"}', '{"model":"NEW","x":"model"}'),
        ('{"messages":[],"x":"é\u2028","model":"ñ"}', '{"messages":[],"x":"é\u2028","model":"NEW"}'),
        ('{"mod\\u0065l":"a","x": 1.50}', '{"model":"NEW","x":1.50}'),
        ('{"model":"N\\u0045W", "x":1}', '{"model":"N\\u0045W", "x":1}'),
    ],
)
def test_only_the_model_is_replaced(body: str, expected: str) -> None:
    assert with_model(body.encode(), "NEW") == expected.encode()


def test_a_new_name_may_need_escapes() -> None:
    assert json.loads(with_model(b'{"model":"a"}', 'q"\\\nñ')) == {"model": 'q"\\\nñ'}


def test_many_nested_models_before_the_one_that_counts_change_only_white_space() -> None:
    nested = ",".join(['{"model":"a"}'] * 50_000)
    body = f'{{"x": [{nested}], "y":1e2, "model":"a"}}'
    assert with_model(body.encode(), "b") == f'{{"x":[{nested}],"y":1e2,"model":"b"}}'.encode()


SPACE = st.sampled_from(["", " ", "\n", "\t "])
NESTED = st.sampled_from(
    ['"a"', '"model"', '{"model":"a"}', '["model",{"model" : "a"}]', '"\\"model\\":\\"a\\""', "1e400"]
)


@given(st.lists(st.tuples(st.sampled_from(["x", "y", 'z\\"model', "modell"]), NESTED, SPACE), max_size=3), SPACE)
def test_whatever_surrounds_the_model_stays(members: list[tuple[str, str, str]], space: str) -> None:
    before = "".join(f'"{key}"{gap}:{gap}{value},{gap}' for key, value, gap in members)
    after = "".join(f',{gap}"{key}":{value}' for key, value, gap in members)
    body = f'{{{before}"model"{space}:{space}"a"{after}}}'
    expected = f'{{{before}"model"{space}:{space}"b"{after}}}'
    assert with_model(body.encode(), "b") == expected.encode()


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (b'{"model":"m"}', b'{"model":"m","priority":10}'),
        (b' {"model" : "m" }\n ', b' {"model" : "m" ,"priority":10}\n '),
        (b'{"model":"m","seed":1e400,"x":"}"}', b'{"model":"m","seed":1e400,"x":"}","priority":10}'),
        (b'{"model":"m","x":{"priority":1}}', b'{"model":"m","x":{"priority":1},"priority":10}'),
        (b'{"model":"m","x":"\\u0070riority"}', b'{"model":"m","x":"\\u0070riority","priority":10}'),
    ],
)
def test_a_priority_is_added_behind_everything_else(body: bytes, sent: bytes) -> None:
    assert with_priority(body, 10) == sent
    assert json.loads(sent)["priority"] == 10


@pytest.mark.parametrize(
    "body", [b'{"priority":3,"model":"m"}', b'{"model":"m","priority":null}', b'{"\\u0070riority":3,"model":"m"}']
)
def test_the_user_s_own_priority_stands(body: bytes) -> None:
    assert with_priority(body, 10) == body
