"""Reading an input file: what a line is, what is wrong with it, and where the chunks lie."""

import gzip
import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornada.core import jsonl
from hornada.core.chunk import CHUNK_LINES, Span
from hornada.core.jsonl import Checked, Checker, parse_requests
from hornada.core.line import Request
from tests.core.lines import CHAT, EMBEDDINGS, body, check, embedding, encode, found, line, rules

BOM = b"\xef\xbb\xbf"


def ids(data: bytes) -> list[str]:
    """The ids of a file without findings, read back chunk by chunk."""
    checked = check(data)
    assert checked.findings == ()
    requests = read_spans(data, checked)
    assert len(requests) == checked.total
    return [request.custom_id for request in requests]


def read_spans(data: bytes, checked: Checked) -> list[Request]:
    requests: list[Request] = []
    for span in checked.spans:
        part = parse_requests(data[span.offset : span.offset + span.length], at_start=span.offset == 0)
        assert (span.first, span.n) == (len(requests), len(part))
        requests += part
    return requests


@pytest.mark.parametrize(
    ("data", "custom_ids"),
    [
        (line("a"), ["a"]),
        (line("a") + b"\n" + line("b"), ["a", "b"]),
        (BOM + line("a") + b"\n" + line("b") + b"\n", ["a", "b"]),
        (BOM + b"\n" + line("a"), ["a"]),
        (line("a") + b"\r\n" + line("b") + b"\r\n", ["a", "b"]),
        (line("a") + b"\n\n\n\n", ["a"]),
        (b"\n" + line("a") + b"\n \t \r\n" + line("b"), ["a", "b"]),
        (b"  " + line("a") + b"\t\n", ["a"]),
        (line("a", body=body("left\u2028right\u0085\u2029")) + b"\n" + line("b"), ["a", "b"]),
        (line("a", method="post"), ["a"]),
        (line("a", method="PoSt"), ["a"]),
        (line("a", method=..., url=...), ["a"]),
        (line("i" * 512), ["i" * 512]),
        (line("🙂" * 512), ["🙂" * 512]),
        (line("pedido-ñ") + b"\n" + line("日本-🙂") + b"\n" + line('q"uo\\te') + b"\n" + line("../'; --"), None),
        (line("a", body=body(stream=False)) + b"\n" + line("b", body=body(stream=None)), ["a", "b"]),
        (line("a", note="extra"), ["a"]),
        (line("a", body=body("a\0b")), ["a"]),
        (line("a", body=body(seed=9007199254740993 * 10**40)), ["a"]),
        (line("a", body={"model": "m-chat"}), ["a"]),
        (line("a", body=body(stream="yes")), ["a"]),
        (line("a") + b"\n" + line("b", body=body(model="Turbo")), ["a", "b"]),
        (b'{"body":{"messages":[],"model":"m-chat"},"custom_id":"a"}', ["a"]),
        (b'{"\\u0063ustom_id":"a","body":{"\\u006dodel":"m-chat","x":{"model":1,"model":2}}}', ["a"]),
    ],
)
def test_these_files_are_right(data: bytes, custom_ids: list[str] | None) -> None:
    assert ids(data) == (custom_ids or ["pedido-ñ", "日本-🙂", 'q"uo\\te', "../'; --"])


@pytest.mark.parametrize(
    ("data", "findings"),
    [
        (line("a") + b"\n\n\n{oops\n", [(4, "invalid_json_line", None)]),
        (line("a") + b"\r" + line("b") + b"\r" + line("c"), [(1, "invalid_json_line", None)]),
        (line("a") + b"\n" + BOM + line("b"), [(2, "invalid_json_line", None)]),
        (line("a") + b"\n" + line("b\xe9").decode().encode("latin-1"), [(2, "invalid_json_line", None)]),
        (line("a").replace(b"hi", b"half \\ud83d emoji"), [(1, "invalid_json_line", None)]),
        (line("a").replace(b'"hi"', b"NaN"), [(1, "invalid_json_line", None)]),
        (line("a").replace(b"hi", b"a\ttab"), [(1, "invalid_json_line", None)]),
        (b'{"custom_id":"a",' + line("b")[1:], [(1, "invalid_json_line", None)]),
        (line("a", note=1, body=body(model="m-chat"))[:-1] + b',"note":2}', [(1, "invalid_json_line", None)]),
        (line("a")[:-1] + b',"\\u0075rl":"/v1/chat/completions"}', [(1, "invalid_json_line", None)]),
        (b'{"custom_id":"a","body":{"model":"m-chat"},"body":{}}', [(1, "invalid_json_line", None)]),
        (b'{"custom_id":"a","body":{"model":"m-chat","model":"m-chat"}}', [(1, "invalid_json_line", None)]),
        (b'{"custom_id":"a","body":{"model":"m-chat","\\u006dodel":"m"}}', [(1, "invalid_json_line", None)]),
        (b"[" + line("a") + b"]", [(1, "invalid_json_line", None)]),
        (line("a") + b",\n" + line("b") + b",\n", [(1, "invalid_json_line", None), (2, "invalid_json_line", None)]),
        (line("a") + line("b"), [(1, "invalid_json_line", None)]),
        (b'null\n42\n"x"\ntrue\n[]\n' + line("a"), [(number, "invalid_json_line", None) for number in range(1, 6)]),
        (b"{'custom_id': 'a'}", [(1, "invalid_json_line", None)]),
        (gzip.compress(line("a"), mtime=0).replace(b"\n", b""), [(1, "invalid_json_line", None)]),
        (b"\xff\xfe" + line("a").decode().encode("utf-16-le"), [(1, "invalid_json_line", None)]),
        (b"\n\n \r\n", [(None, "empty_file", None)]),
        (b"", [(None, "empty_file", None)]),
        (BOM, [(None, "empty_file", None)]),
        (line("a", custom_id=7), [(1, "invalid_request", "custom_id")]),
        (line("a", custom_id=None), [(1, "invalid_request", "custom_id")]),
        (line("a", custom_id=...), [(1, "missing_required_parameter", "custom_id")]),
        (line(""), [(1, "invalid_request", "custom_id")]),
        (line("i" * 513), [(1, "invalid_request", "custom_id")]),
        (line("a").replace(b'"a"', b'"a\\ud83d"'), [(1, "invalid_request", "custom_id")]),
        (
            b"\n".join(map(line, "aaba")),
            [(2, "duplicate_custom_id", "custom_id"), (4, "duplicate_custom_id", "custom_id")],
        ),
        (b"\n".join([line("i" * 100)] * 2), [(2, "duplicate_custom_id", "custom_id")]),
        (line("a") + b"\n" + line("a").replace(b'"a"', b'"\\u0061"'), [(2, "duplicate_custom_id", "custom_id")]),
        (line("a", method="GET"), [(1, "invalid_request", "method")]),
        (line("a", method="PO\u017fT"), [(1, "invalid_request", "method")]),
        (line("a", method=None), [(1, "invalid_request", "method")]),
        (line("a", url="/v1/embeddings"), [(1, "url_mismatch", "url")]),
        (line("a", url="/chat/completions"), [(1, "url_mismatch", "url")]),
        (line("a", url=CHAT + "/"), [(1, "url_mismatch", "url")]),
        (line("a", url="http://127.0.0.1:9" + CHAT), [(1, "url_mismatch", "url")]),
        (line("a", url=None) + b"\n" + line("b", url=5), [(1, "url_mismatch", "url"), (2, "url_mismatch", "url")]),
        (line("a", body="x"), [(1, "invalid_request", "body")]),
        (line("a", body=None), [(1, "invalid_request", "body")]),
        (line("a", body=[]), [(1, "invalid_request", "body")]),
        (line("a", body=...), [(1, "missing_required_parameter", "body")]),
        (line("a", body={}), [(1, "missing_required_parameter", "body.model")]),
        (line("a", body=body(model=None)), [(1, "invalid_request", "body.model")]),
        (line("a", body=body(model="")), [(1, "invalid_request", "body.model")]),
        (line("a", body=body(stream=True)), [(1, "stream_not_supported", "body.stream")]),
        (line("a") + b"\n" + line("b", body=body(model="m-other")), [(2, "model_mismatch", "body.model")]),
        (line("a") + b"\n" + line("b", body=body(model="m-ghost")), [(2, "model_mismatch", "body.model")]),
        (line("a", body=body(model="m-ghost")), [(1, "model_not_found", "body.model")]),
        (line("a", body=body(model="m-secret")), [(1, "model_not_found", "body.model")]),
        (line("a", body=body(model="m-nobatch")), [(1, "model_not_batchable", "body.model")]),
        (line("a", body=body(model="m-text")), [(1, "model_not_batchable", "body.model")]),
        (
            line("a", url="/x", method="PUT", body=body(model="m-ghost", stream=True)),
            [
                (1, "invalid_request", "method"),
                (1, "url_mismatch", "url"),
                (1, "model_not_found", "body.model"),
                (1, "stream_not_supported", "body.stream"),
            ],
        ),
        (
            b"\n".join(
                [
                    line("a"),
                    b"{oops",
                    line("c"),
                    line("a"),
                    line("e", url=EMBEDDINGS),
                    line("f", body=body(model="m-other")),
                    line("g", url=EMBEDDINGS, body=body(model="m-other")),
                ]
            ),
            [
                (2, "invalid_json_line", None),
                (4, "duplicate_custom_id", "custom_id"),
                (5, "url_mismatch", "url"),
                (6, "model_mismatch", "body.model"),
                (7, "url_mismatch", "url"),
                (7, "model_mismatch", "body.model"),
            ],
        ),
    ],
)
def test_these_files_are_wrong(data: bytes, findings: Sequence[object]) -> None:
    assert found(data) == findings
    assert check(data).spans == ()


def test_a_pretty_printed_request_is_refused_from_its_first_line() -> None:
    assert found(b'{\n  "custom_id": "a",\n  "body": {}\n}')[0] == (1, "invalid_json_line", None)


def test_at_most_a_hundred_findings_are_kept_in_line_order() -> None:
    findings = found(b"{oops\n" * 150)
    assert findings == [(number, "invalid_json_line", None) for number in range(1, 101)]


def test_the_model_is_what_its_name_resolves_to() -> None:
    assert check(line("a", body=body(model="Turbo"))).model == "m-chat"
    assert check(b"{oops").model is None


def test_every_name_that_lines_have_for_the_model_is_kept_once() -> None:
    named = [line("a", body=body(model="Turbo")), line("b"), line("c", body=body(model="Turbo"))]
    assert check(b"\n".join(named)).names == ("Turbo", "m-chat")


def test_messages_name_the_limit_and_the_value_but_never_quote_a_whole_line() -> None:
    data = b"\n".join(
        [
            line("i" * 600),
            line("b", url="/u" * 300),
            line("c", method="M" * 300),
            line("d", body=body(model="m" * 300)),
            line("n" * 300),
            line("n" * 300),
            b'{"' + b"k" * 300 + b'":1,"' + b"k" * 300 + b'":2}',
            b"{" + b"x" * 3000,
        ]
    )
    messages = [finding.message for finding in check(data).findings]
    assert "expected 1 to 512 characters, but got 600" in messages[0]
    assert len(messages) == 7
    assert max(map(len, messages)) < 350


def test_a_finding_about_an_id_names_the_line_that_had_it_first() -> None:
    [finding] = check(line("a") + b"\n\n" + line("a")).findings
    assert "'a'" in finding.message
    assert "line 1" in finding.message
    assert finding.line == 3


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", BOM])
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_a_line_may_be_as_long_as_the_limit_without_its_ending_and_no_longer(
    ending: bytes, mark: bytes, block: int
) -> None:
    size = len(line("a"))
    right, wrong = check(mark + line("a") + ending, rules(line_bytes=size), block=block), rules(line_bytes=size - 1)
    assert right.findings == ()
    [finding] = check(mark + line("a") + ending, wrong, block=block).findings
    assert (finding.line, finding.code) == (1, "invalid_json_line")
    assert f"has {size} bytes" in finding.message
    assert f"at most {size - 1}" in finding.message


@pytest.mark.parametrize("block", [1000, 1 << 20])
def test_a_line_far_over_the_limit_is_counted_and_not_kept(block: int) -> None:
    data = line("a") + b"\n" + line("b", body=body("x" * 50_000)) + b"\r\n" + line("c") + b"\n" + b" " * 5000 + b"\n{"
    [long, broken] = check(data, rules(line_bytes=1000), block=block).findings
    assert (long.line, broken.line) == (2, 5)
    assert f"has {len(line('b', body=body('x' * 50_000)))} bytes" in long.message


def test_an_overlong_line_does_not_fill_the_memory() -> None:
    checker = Checker(rules(line_bytes=1000))
    for _ in range(1000):
        checker.feed(b"x" * 1000)
    assert len(checker._open.kept) < 1100
    assert [finding.line for finding in checker.finish().findings] == [1]


def test_as_many_requests_as_the_limit_pass_and_one_more_ends_the_reading() -> None:
    lines = [line(str(number)) for number in range(4)]
    assert check(b"\n\n".join(lines[:3]) + b"\n", rules(lines=3)).total == 3
    assert check(b"\n\n".join(lines[:3]) + b"\n", rules(lines=3)).findings == ()
    checked = check(b"{oops\n" + b"\n".join(lines) + b"\n{oops", rules(lines=3))
    assert [(finding.line, finding.code) for finding in checked.findings] == [
        (None, "too_many_tasks"),
        (1, "invalid_json_line"),
    ]
    assert checked.total == 4


def test_findings_without_a_line_come_first_inside_the_hundred() -> None:
    findings = found(b"{oops\n" * 150, rules(lines=120))
    assert findings[0] == (None, "too_many_tasks", None)
    assert len(findings) == 100
    assert findings[-1] == (99, "invalid_json_line", None)


@pytest.mark.parametrize(
    ("value", "inputs"),
    [
        ("one", 1),
        (["a", "b", "c"], 3),
        ([1, 2, 3], 1),
        ([[1, 2], [3]], 2),
        ([1, "a"], 2),
        ([], 1),
        ([{"text": "a"}, {"text": "b"}], 1),
        (None, 1),
        ({"a": ["b", "c"]}, 1),
        (["[", "]"], 2),
    ],
)
@pytest.mark.parametrize("extra", [{}, {"note": 1}])
def test_embedding_inputs_are_counted(value: object, inputs: int, extra: dict[str, int]) -> None:
    lines = [embedding("a", "x"), encode({"custom_id": "b", "body": {"model": "m-chat", "input": value}, **extra})]
    assert check(b"\n".join(lines), rules(EMBEDDINGS)).inputs == 1 + inputs


def test_too_many_embedding_inputs_in_all_are_refused() -> None:
    data = b"\n".join(embedding(str(number), ["x"] * 20) for number in range(5))
    assert check(data, rules(EMBEDDINGS, embedding_inputs=100)).findings == ()
    [finding] = check(data, rules(EMBEDDINGS, embedding_inputs=99)).findings
    assert (finding.line, finding.code) == (None, "too_many_tasks")
    assert "100 embedding inputs; at most 99" in finding.message


def test_chat_files_have_no_embedding_inputs() -> None:
    assert check(line("a")).inputs == 0


def test_chunks_hold_a_hundred_lines() -> None:
    lines = [line(str(number)) + b"\n" for number in range(250)]
    spans = check(b"\n" + b"".join(lines)).spans
    sizes = [sum(map(len, lines[at : at + CHUNK_LINES])) for at in (0, 100, 200)]
    assert spans == (
        Span(0, 100, 1, sizes[0]),
        Span(100, 100, 1 + sizes[0], sizes[1]),
        Span(200, 50, 1 + sizes[0] + sizes[1], sizes[2]),
    )


def test_chunks_are_cut_by_size_too(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = line("a") + b"\n", line("b", body=body("x" * 500))
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 3 * len(small))
    data = small + b"\n" * 1000 + line("c") + b"\n" + line("d") + b"\n\n" + large
    offset = len(small) + 1000
    assert check(data).spans == (
        Span(0, 1, 0, len(small)),
        Span(1, 2, offset, 2 * len(small)),
        Span(3, 1, offset + 2 * len(small) + 1, len(large)),
    )


def test_bodies_come_back_byte_for_byte() -> None:
    spelled = b'{ "model" : "m-chat","x":1E2, "y":[ 1.0,\t"\\/\\u0061"],"z":null }'
    data = b'{"custom_id": "a", "body": ' + spelled + b' , "method":"POST"}\r\n'
    assert read_spans(data, check(data)) == [Request("a", spelled)]


PIECES = st.sampled_from(
    [
        line("a"),
        line("b", body=body("é\u2028")),
        line("c", body=body(model="m-other")),
        line("d", url="/x", note=1),
        line("e" * 300),
        b'{"custom_id":"f","body":{"model":"m-chat"}}',
        b"{oops",
        b"\xff",
        b"",
        b"  \t",
        b"\r",
        BOM,
        b"\n",
        b"\r\n",
        b"\n",
    ]
)


@given(st.lists(PIECES, max_size=20).map(b"".join), st.lists(st.integers(0, 6000)), st.sampled_from([100, 200, 10_000]))
def test_however_a_file_is_cut_the_result_is_the_same(data: bytes, cuts: list[int], line_bytes: int) -> None:
    given_rules = rules(line_bytes=line_bytes, lines=5)
    whole = check(data, given_rules)
    checker = Checker(given_rules)
    places = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    for start, end in itertools.pairwise(places):
        checker.feed(data[start:end])
    assert checker.finish() == whole
    assert check(data, given_rules, block=1) == whole


GOOD = st.sampled_from(["", " ", "\t\r", "{}", "BOM"]) | st.text(min_size=1, max_size=5)


@given(st.lists(st.tuples(GOOD, st.sampled_from([b"\n", b"\r\n", b"\n\n"])), max_size=250), st.booleans())
def test_reading_the_chunks_gives_what_was_checked(lines: list[tuple[str, bytes]], marked: bool) -> None:
    data, expected = BOM if marked else b"", []
    for text, ending in lines:
        if text.strip(" \t\r") and text not in expected:
            data += line(text, body=body(text))
            expected.append(text)
        data += ending
    checked = check(data)
    assert [request.custom_id for request in read_spans(data, checked)] == expected
    assert checked.total == len(expected)
