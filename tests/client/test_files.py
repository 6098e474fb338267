"""Files of requests on this machine: check, split, estimate."""

import json
from pathlib import Path

import pytest

from hornada.client import BadInput, check, estimate, split
from hornada.client.strange import refuse_strange
from tests.client.conftest import line


def request(custom_id: str, model: str = "m", **body: object) -> bytes:
    return json.dumps({"custom_id": custom_id, "body": {"model": model, **body}}).encode() + b"\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "in.jsonl"


def test_everything_that_is_wrong_is_found_in_one_pass(path: Path) -> None:
    path.write_bytes(request("a") + b"\n{}\n" + request("a") + request("b", stream=True) + request("c", "n") + b"[\n")
    found = check(path)
    assert [(each.line, each.code.value) for each in found.findings] == [
        (3, "missing_required_parameter"),
        (3, "missing_required_parameter"),
        (4, "duplicate_custom_id"),
        (5, "stream_not_supported"),
        (6, "model_mismatch"),
        (7, "invalid_json_line"),
    ]
    assert found.total == 6


def test_a_file_without_faults_has_none_whatever_its_model(path: Path) -> None:
    path.write_bytes(line("a", "x") + b"\n" + line("b", "y"))
    found = check(path)
    assert (found.findings, found.total, found.model) == ((), 2, "m")
    assert [each.code.value for each in check(path, models=("other",)).findings] == ["model_not_found"] * 2
    assert [each.code.value for each in check(path, endpoint="/v1/embeddings").findings] == ["url_mismatch"] * 2


def test_more_findings_than_a_server_tells_can_be_asked_for(path: Path) -> None:
    path.write_bytes(b"{}\n" * 300)
    assert len(check(path).findings) == 100
    assert len(check(path, most_findings=1000).findings) == 600


def test_parts_hold_every_line_whole_and_in_order(path: Path, tmp_path: Path) -> None:
    lines = [request(f"é{i}", pad="x" * i) for i in range(25)]
    path.write_bytes(b"\xef\xbb\xbf" + b"\n\n".join(each.rstrip() for each in lines))
    parts = split(path, tmp_path / "parts", most_lines=10, most_bytes=500)
    assert [part.path.name for part in parts] == [f"in-{i + 1:04}.jsonl" for i in range(len(parts))]
    assert b"".join(part.path.read_bytes() for part in parts) == b"".join(lines)
    assert all(part.lines <= 10 and part.bytes <= 500 for part in parts)
    assert [part.bytes for part in parts] == [part.path.stat().st_size for part in parts]
    assert sum(part.lines for part in parts) == 25


def test_parts_can_hold_one_model_each(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"".join(request(str(i), model) for i, model in enumerate(["a", "b/c", "a", "a", "b/c"])))
    parts = split(path, tmp_path, most_lines=2, by_model=True)
    assert [(part.path.name, part.model, part.lines) for part in parts] == [
        ("in.a-0001.jsonl", "a", 2),
        ("in.b-c-0002.jsonl", "b/c", 2),
        ("in.a-0003.jsonl", "a", 1),
    ]


def test_a_line_that_no_part_can_hold_leaves_no_part_behind(path: Path, tmp_path: Path) -> None:
    path.write_bytes(request("a") + request("b", pad="x" * 500))
    with pytest.raises(BadInput, match=r"in.jsonl:2: This line has 5\d\d bytes; a part may have 300"):
        split(path, tmp_path / "parts", most_bytes=300)
    assert list((tmp_path / "parts").iterdir()) == []


def test_an_estimate_counts_what_lines_allow(path: Path) -> None:
    path.write_bytes(
        request("a", messages=[{"content": "x" * 400}], max_tokens=50)
        + request("b", "n", messages=[{"content": "y" * 400}], max_completion_tokens=70)
        + request("c", messages=[{"content": "z" * 400}])
    )
    found = estimate(path)
    assert (found.lines, found.models, found.input_tokens) == (3, ("m", "n"), 300)
    assert (found.output_tokens, found.unbounded) == (120, 1)
    assert estimate(path, output_tokens=60).output_tokens == 50 + 60 + 60


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[{"custom_id": "a"}, {"custom_id": "b"}]', "is one JSON list and no JSONL"),
        (b'[\n {"custom_id": "a"},\n {"custom_id": "b"}\n]\n', r"jq -c '\.\[\]' .*in.jsonl > requests.jsonl"),
        (b'{\n "custom_id": "a",\n "body": {}\n}\n', "is JSON over several lines"),
        (b"id;text\r\n1;hello\r\n", "is a table and no JSONL"),
        (b"# Notes\n\nhello\n", 'is text and no JSONL, one request a line. A line is such as {"custom_id": "1"'),
        (b"PK\x03\x04\0\0\xff\xfe", "is no text in UTF-8"),
    ],
)
def test_a_file_that_is_no_jsonl_at_all_is_told_in_one_message(path: Path, content: bytes, said: str) -> None:
    path.write_bytes(content)
    with pytest.raises(BadInput, match=said):
        refuse_strange(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b'\xef\xbb\xbf{"custom_id": "a"}',
        b"{'custom_id': 'a'}\n",
        b'{"custom_id": oops}\n',
        b'[1]\n{"custom_id": "a"}\n',
        b"id,text\n" + b'{"custom_id": "a"}\n',
        b'{"custom_id": "' + b"x" * (1 << 21),
    ],
    ids=range(8),
)
def test_a_file_that_may_be_jsonl_with_faults_is_left_to_its_check(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refuse_strange(path)
