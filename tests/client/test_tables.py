"""Tables as people keep them."""

import csv
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from hornada.client.faults import BadInput
from hornada.client.joined import Joint
from hornada.client.tables import Column, open_table, open_writer
from hornada.core.result import Result


def rows(path: Path) -> list[dict[str, Any]]:
    return list(open_table(path))


def test_a_csv_of_excel_is_read_with_its_mark_line_ends_and_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbfid,text\r\n1,"a, ""b""\r\nc"\r\n\r\n2,\xc3\xb1\xe2\x80\xa8\r\n')
    assert rows(path) == [{"id": "1", "text": 'a, "b"\r\nc'}, {"id": "2", "text": "ñ\u2028"}]
    path.write_text("id;text\n1;a,b\n", "utf-8")
    assert rows(path) == [{"id": "1", "text": "a,b"}]
    tabs = tmp_path / "a.tsv"
    tabs.write_text("id\ttext\n1\ta,b\n", "utf-8")
    assert rows(tabs) == [{"id": "1", "text": "a,b"}]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "has no header"),
        (b"a,a\n1,2\n", "names the column 'a' twice"),
        (b"a,b\n1,2\n1\n", "row 2 has 1 cells, but the header names 2 columns"),
        (b"a,b\n1,2,3\n", "row 1 has 3 cells"),
        (b"a\n\xff\n", "is not UTF-8"),
        ("a\n1\n".encode("utf-16"), "is not UTF-8"),
        (b'a\n"x"y\n', "row 1 is not CSV"),
    ],
)
def test_a_broken_csv_is_told_with_its_place(content: bytes, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=fault):
        rows(path)


def test_records_have_the_columns_of_all_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1, "b": null}\n\n{"a": 2.5, "b": "x", "c": [1]}\n{"c": "t", "d": true}\n', "utf-8")
    table = open_table(path)
    assert [(column.name, column.kind) for column in table.columns] == [
        ("a", "number"),
        ("b", "text"),
        ("c", "json"),
        ("d", "truth"),
    ]
    assert next(iter(table)) == {"a": 1, "b": None}
    path.write_text('{"a": 1}\n[1]\n', "utf-8")
    with pytest.raises(BadInput, match=r"a.jsonl:2: This line is no JSON object"):
        open_table(path)


def test_parquet_keeps_its_types_through_a_run(tmp_path: Path) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    day = dt.date(2026, 1, 2)
    parquet.write_table(pa.table({"day": [day, None], "tags": [["a"], []], "n": pa.array([1, 2], pa.int8())}), path)
    joint = Joint(open_table(path).columns)
    writer = open_writer(out, joint.columns)
    for row in open_table(path):
        writer.write(joint.row(row, Result(custom_id="x", text="hi", status_code=200, output_tokens=2)))
    writer.close()
    written = parquet.read_table(out)
    assert written.schema.field("n").type == pa.int8()
    assert written.to_pylist()[0] == {
        "day": day,
        "tags": ["a"],
        "n": 1,
        "answer": "hi",
        "status_code": 200,
        "input_tokens": None,
        "output_tokens": 2,
        "error_code": None,
        "error": None,
    }


def test_what_is_no_parquet_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR?")
    with pytest.raises(BadInput, match="is no Parquet file"):
        open_table(path)


def test_rows_are_written_as_csv_and_as_json_that_no_reader_cuts(tmp_path: Path) -> None:
    row = {"a": "x\u2028\n", "b": {"k": [1]}, "c": None, "d": True, "e": 0.5}
    columns = [Column(name) for name in row]
    for name in ("out.csv", "out.jsonl"):
        writer = open_writer(tmp_path / name, columns)
        writer.write(row)
        writer.close()
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as written:
        assert list(csv.reader(written)) == [list("abcde"), ["x\u2028\n", '{"k": [1]}', "", "true", "0.5"]]
    text = (tmp_path / "out.jsonl").read_text("utf-8")
    assert text.isascii()
    assert json.loads(text) == row


def test_a_column_of_the_table_keeps_its_name_beside_ours() -> None:
    joint = Joint([Column("answer"), Column("answer_2"), Column("error")])
    names = [column.name for column in joint.columns]
    assert names[:4] == ["answer", "answer_2", "error", "answer_3"]
    assert "error_2" in names
    row = joint.row({"answer": "mine", "error": "mine"}, Result(custom_id="a", error="bad", status_code=400))
    assert (row["answer"], row["error_2"], row["status_code"]) == ("mine", "bad", 400)
    assert joint.failed(row)
    assert not joint.failed(joint.row({"error": "mine"}, Result(custom_id="a", text="")))


def test_a_line_without_a_result_is_a_failure() -> None:
    assert Joint().row({"custom_id": "a"}, None)["error_code"] == "no_result"
