"""What is told at one glance over many lines is what a look at each of them tells."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hornada.core import jsonl
from hornada.core.glance import Glance
from hornada.core.strict import MAX_DEPTH
from tests.core.lines import CHAT, EMBEDDINGS, body, check, embedding, line, rules

FIRST = line("first") + b"\n"


def seen(*lines: bytes) -> bool:
    return Glance({CHAT}, {"m-chat": None}).over(lines) is not None


@pytest.mark.parametrize(
    "spelled",
    [
        line("a"),
        line("a", method=...),
        line("a", url=...),
        line("a", method=..., url=...),
        line("a", method="post"),
        line("日本", body=body("é\u2028🙂")),
        line("i" * 512),
        line("a", body=body("a\\b\n", stream=False)),
        line("a", body=body(tools=[{"model": {"model": 1}}])),
        json.dumps(json.loads(line("a")), separators=(",", ":")).encode(),
        line("a").replace(b": [", b": " + b"[" * (MAX_DEPTH - 4)).replace(b"]}", b"]" * (MAX_DEPTH - 4) + b"}"),
    ],
)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_lines_in_the_usual_spelling_are_clean_at_a_glance(spelled: bytes, ending: bytes) -> None:
    assert seen(line("b") + ending, spelled + ending)
    assert check(FIRST + spelled + ending).findings == ()


PLAIN = b'{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m-chat"}}'


@pytest.mark.parametrize(
    "spelled",
    [
        PLAIN[:-1] + b', "body": {"model": "m-chat"}}',
        PLAIN[:-1] + b', "url": "/v1/chat/completions", "body": {"model": "m-chat"}}',
        PLAIN[:-1] + b', "custom_id": "a"}',
        PLAIN[:-1] + b', "custom_id": {}}',
        PLAIN[:-1] + b', "note": {}}',
        PLAIN[:-2] + b', "model": "m-chat", "x": {}}}',
        PLAIN[:-2] + b', "\\u006dodel": "m-chat", "x": {}}}',
        PLAIN[:-2] + b', "x": "\xff", "y": {}}}',
        PLAIN[:-2] + b', "x": "\\ud83d", "y": {}}}',
        PLAIN[:-2] + b', "x": NaN, "y": {}}}',
        PLAIN[:-2] + b', "stream": true, "y": {}}}',
        PLAIN[:-2] + b', "x": ' + b'{"y":' * MAX_DEPTH + b"{}" + b"}" * MAX_DEPTH + b"}}",
        PLAIN[:-2] + b', "x": ' + b"[" * (MAX_DEPTH - 1) + b"{}" + b"]" * (MAX_DEPTH - 1) + b"}}",
        PLAIN.replace(b'"method"', b'"custom_id": "b", "method"'),
        PLAIN.replace(b'"body"', b'"url": "/v1/chat/completions", "body"'),
        PLAIN.replace(b'"body"', b'"method": "POST", "body"'),
        PLAIN.replace(b'"a"', b'""'),
        PLAIN.replace(b'"a"', b'"' + b"i" * 513 + b'"'),
        PLAIN.replace(b"POST", b"PUT"),
        PLAIN.replace(b"/chat", b"/cat"),
        PLAIN.replace(b"m-chat", b"m-other"),
        PLAIN.replace(b'"m-chat"', b"1"),
        PLAIN.replace(b'"m-chat"', b'["m-chat"]'),
        PLAIN + b"}}",
        PLAIN + PLAIN,
        PLAIN[:40],
        b"",
    ],
)
def test_lines_with_a_fault_are_not(spelled: bytes) -> None:
    assert not seen(PLAIN + b"\n", spelled + b"\n", PLAIN + b"\n")
    assert seen(PLAIN + b"\n", PLAIN + b"\n")


def test_a_value_that_is_cut_by_a_line_feed_is_two_broken_lines() -> None:
    data = FIRST + PLAIN.replace(b'", "method"', b'"\n, "method"') + b"\n" + PLAIN + PLAIN + b"\n"
    assert [finding.line for finding in check(data).findings] == [2, 3, 4]


KEYS = st.sampled_from(["custom_id", "method", "url", "body", "note", "\\u0075rl", "bod\\u0079", "custom\\u005fid"])
MODELS = st.sampled_from(
    ['"model": "m-chat"', '"model": "Turbo"', '"model": 1', '"\\u006dodel": "m-chat"', '"x": "}}"']
)
MORE = st.sampled_from(
    ['"x": {}', '"stream": false', '"stream": true', '"x": {"model": 1}', '"x": "\\ud83d"', '"input": ["a", "b"]']
)
BODIES = st.lists(MODELS | MORE, max_size=4).map(lambda members: "{" + ", ".join(members) + "}")
TEXTS = st.sampled_from(
    ["", "a", "b", "é", "i" * 41, "i" * 512, "i" * 513, 'q\\"', "\\\\", '\\", \\"body\\": {', "POST", "post", CHAT]
).map(lambda text: f'"{text}"')
VALUES = TEXTS | BODIES | st.sampled_from(["null", "1", "{}", "[]"])
GOOD = '"model": "m-chat"'


@st.composite
def odd_lines(draw: st.DrawFn) -> bytes:
    """A line that begins or ends as a clean one does, and may be one."""
    members = [
        ("custom_id", draw(TEXTS)),
        *draw(st.sampled_from([[], [("method", '"POST"')], [("url", f'"{CHAT}"')], [("method", "1"), ("url", "{}")]])),
        *draw(st.lists(st.tuples(KEYS, VALUES), max_size=2)),
        ("body", "{" + ", ".join([GOOD, *draw(st.lists(MODELS | MORE, max_size=2))]) + "}"),
        *draw(st.lists(st.tuples(KEYS, VALUES), max_size=2)),
    ]
    comma, colon = draw(st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : ")]))
    return ("{" + comma.join(f'"{key}"{colon}{value}' for key, value in members) + "}").encode()


@settings(deadline=None)
@given(st.lists(odd_lines(), min_size=1, max_size=3), st.sampled_from([b"\n", b"\r\n"]), st.sampled_from([200, 10_000]))
def test_the_glance_changes_nothing(lines: list[bytes], ending: bytes, line_bytes: int) -> None:
    data = FIRST + ending.join([line("before"), *lines, line("after"), b""])
    for given_rules in (rules(line_bytes=line_bytes), rules(EMBEDDINGS), rules(lines=3)):
        assert check(data, given_rules) == check(data, given_rules, block=1)


@settings(deadline=None)
@example([0] * 350, 1 << 20, 1 << 20, 500)
@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=250),
    st.sampled_from([1, 900, 5000, 1 << 20]),
    st.sampled_from([400, 10_000, 1 << 20]),
    st.integers(250, 500),
)
def test_chunks_and_long_lines_are_the_same_at_a_glance(
    sizes: list[int], block: int, chunk_bytes: int, line_bytes: int
) -> None:
    lines = [line(str(number), body=body("x" * size)) + b"\n" for number, size in enumerate(sizes)]
    limits, data = rules(line_bytes=line_bytes), FIRST + b"".join(lines)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(jsonl, "CHUNK_BYTES", chunk_bytes)
        for given_rules in (rules(), limits):
            assert check(data, given_rules, block=block) == check(data, given_rules, block=1)


@pytest.mark.parametrize("ids", ["ab", "aa", "aba", "abcb"])
@pytest.mark.parametrize("longer", [0, 40, 41])
def test_ids_are_compared_within_a_run_and_with_those_before(ids: str, longer: int) -> None:
    lines = [line(each + "i" * longer) + b"\n" for each in ids]
    repeated = [number for number, each in enumerate(ids, 2) if each in ids[: number - 2]]
    for block in (1 << 20, len(FIRST) + len(lines[0]), len(FIRST) + 2 * len(lines[0])):
        findings = check(FIRST + b"".join(lines), block=block).findings
        assert [(finding.line, finding.code) for finding in findings] == [
            (number, "duplicate_custom_id") for number in repeated
        ]


def test_embedding_inputs_of_runs_are_counted() -> None:
    data = b"".join(embedding(str(number), ["x", "y"]) + b"\n" for number in range(50))
    assert check(data, rules(EMBEDDINGS), block=1000).inputs == 100
