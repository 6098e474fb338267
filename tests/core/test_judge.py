"""The fast look at a line never differs from the slow one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornada.core.batch import Finding
from hornada.core.judge import Judge
from tests.core.lines import CHAT, EMBEDDINGS, rules

KEYS = st.sampled_from(['"custom_id"', '"body"', '"url"', '"method"', '"note"', '"custom\\u005fid"', '"\\u0075rl"'])
BODY_KEYS = st.sampled_from(['"model"', '"stream"', '"input"', '"x"', '"m\\u006fdel"'])
SCALARS = st.sampled_from(
    [
        *('"a"', '"b"', '"POST"', '"post"', f'"{CHAT}"', f'"{EMBEDDINGS}"', '"m-chat"', '"Turbo"', '"m-ghost"', '""'),
        *("1", "1e400", "null", "true", "false", '"\\ud83d"', '"\\u0061"', f'"{"i" * 513}"', f'"{"i" * 512}"', "NaN"),
        *('["x","y"]', "[1,2]", "[[1],[2]]", '[1,"x"]', "[]", "[ ]", "{}", "[" * 130 + "]" * 130, "9" * 5000),
    ]
)


def objects(keys: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(keys, values).map(": ".join)
    return st.lists(member, max_size=5).map(lambda members: "{" + ", ".join(members) + "}")


RIGHT_BODY = st.sampled_from(
    ['{"model":"m-chat"}', '{"input":["x","y"],"model":"Turbo"}', '{"model":"m-chat","input":[[1],[2]],"stream":null}']
)
BODIES = RIGHT_BODY | objects(BODY_KEYS, SCALARS)
RIGHT = st.tuples(st.sampled_from(["a", "b", "c", "ñ" * 60]), RIGHT_BODY).map(
    lambda parts: f'{{"custom_id":"{parts[0]}","body":{parts[1]}}}'
)
LINES = RIGHT | objects(KEYS, SCALARS | BODIES)


@pytest.mark.parametrize("endpoint", [CHAT, EMBEDDINGS])
@given(lines=st.lists(LINES, max_size=8))
def test_with_and_without_the_fast_look_the_judgement_is_the_same(endpoint: str, lines: list[str]) -> None:
    quick, slow = Judge(rules(endpoint)), Judge(rules(endpoint))
    for number, text in enumerate(lines, 1):
        line = text.encode()
        expected = list(slow.faults(line, number))
        judged: list[Finding] = [] if quick.accepts(line, number) else list(quick.faults(line, number))
        assert judged == expected
        assert (quick.model, quick.inputs) == (slow.model, slow.inputs)


def test_the_second_of_two_plain_lines_is_accepted_at_the_first_look() -> None:
    judge = Judge(rules())
    lines = [f'{{"custom_id":"{name}","method":"POST","body":{{"model":"m-chat"}}}}'.encode() for name in "ab"]
    assert not list(judge.faults(lines[0], 1))
    assert judge.accepts(lines[1], 2)


MIB = 1 << 20
HEAD = b'{"custom_id":"a","body":{"model":"m-chat","x":'


@pytest.mark.parametrize(
    ("line", "fine"),
    [
        (HEAD + b'"' + b"a" * MIB + b'"}}', True),
        (b"[" * MIB, False),
        (b'{"a":' * (MIB // 5), False),
        (HEAD + b"[" * MIB, False),
        (HEAD + b"1" * 5000 + b"}}", True),
        (HEAD + b"1" * MIB + b"}}", True),
        (HEAD + b"1e400}}", True),
        (b"{" + b'"a":1,' * (MIB // 6) + b'"a":1}', False),
        (HEAD + b'1,"model":"m-chat"' * (MIB // 18) + b"}}", False),
        (HEAD + b'[{"model":1},' + b'{"model":"m"},' * (MIB // 14) + b"1]}}", True),
        (b"\\" * MIB, False),
        (HEAD + b'"' + b"\\" * (MIB // 2 * 2) + b'"}}', True),
        (HEAD + b'"' + b"\\" * (MIB // 2 * 2 + 1) + b'"}}', False),
        (HEAD + b'"' + b"\\\\" * (MIB // 2) + b'\\ud83d"}}', False),
        (HEAD + b'"' + b"\\ud83d" * (MIB // 6) + b'"}}', False),
        (b"[" * 200 + b'"' + b'\\"' * (MIB // 2), False),
        (b'"' * MIB, False),
        (HEAD + b"[" + b"[]," * (MIB // 3) + b"[]]}}", True),
        (HEAD + b'"' + b"\\u0000" * (MIB // 6) + b'"}}', True),
        (b"\0" * MIB, False),
    ],
    ids=range(20),
)
def test_hostile_lines_are_judged_at_once(line: bytes, fine: bool) -> None:
    judge = Judge(rules())
    judge.accepts(line, 1)
    assert (not list(judge.faults(line, 1))) is fine
