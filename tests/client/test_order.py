"""Results of servers that keep no order, and what becomes of lines without one."""

import json
import random
from pathlib import Path

import pytest

from hornada.client import Batch, Collected, Garbled
from hornada.client.collected import Choice
from hornada.client.order import Pool


def result(custom_id: str, status: int = 200) -> bytes:
    body = {"choices": [{"message": {"content": custom_id.upper()}}]}
    line = {"custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": None}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def request(custom_id: str) -> bytes:
    return json.dumps({"custom_id": custom_id, "body": {}}, ensure_ascii=False).encode() + b"\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path], list[str]]:
    """An input whose ids hold what splits lines elsewhere, its results out of order in two files, one lacking."""
    ids = [f"é\u2028{n}" for n in range(200)]
    source, output, errors = (tmp_path / name for name in ("in.jsonl", "out.jsonl", "err.jsonl"))
    source.write_bytes(b"\xef\xbb\xbf" + b"\r\n\n".join(request(each).rstrip() for each in ids))
    shuffled = random.Random(7).sample(ids[1:], len(ids) - 1)
    output.write_bytes(b"".join(result(each) for each in shuffled if int(each[2:]) % 10))
    errors.write_bytes(b"\n".join(result(each, 500) for each in shuffled if not int(each[2:]) % 10))
    return source, [output, errors], ids


def test_the_order_is_that_of_the_input(files: tuple[Path, list[Path], list[str]]) -> None:
    source, results, ids = files
    with Pool(results) as pool:
        found = list(Collected(Batch(id="b", status="completed"), source, pool))
    assert [each.custom_id for each in found] == ids[1:]
    assert [each.ok for each in found] == [bool(n % 10) for n in range(1, 200)]
    assert found[0].text == "É\u20281"


def test_what_failed_or_has_no_result_is_what_is_run_again(files: tuple[Path, list[Path], list[str]]) -> None:
    source, results, ids = files
    with Pool(results) as pool:
        again = list(Collected(Batch(id="b", status="expired"), source, pool).again(Choice()))
    assert [json.loads(line)["custom_id"] for line in again] == ids[::10]
    assert all(line.endswith(b"\n") for line in again)


def test_without_the_input_the_order_is_that_of_the_files(files: tuple[Path, list[Path], list[str]]) -> None:
    _, results, ids = files
    with Pool(results) as pool:
        found = list(Collected(Batch(id="b", status="completed"), None, pool))
    assert sorted(each.custom_id for each in found) == sorted(ids[1:])
    assert [each.ok for each in found] == sorted((each.ok for each in found), reverse=True)


def test_a_result_file_with_something_else_in_it_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(result("a") + b"<html>\n")
    with pytest.raises(Garbled, match=r"out.jsonl:2: This is no result line"):
        Pool([path])
