"""``hornada run`` on tables: CSV, Parquet and records in, the same out, failures run again."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.cli.model_server import MODEL, ModelServer

HEAD = ["id", "text", "answer", "status_code", "input_tokens", "output_tokens", "error_code", "error"]


def start(folder: Path, upstream: str, *more: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from hornada.cli import main; main()", "run", *more]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HORNADA_")}
    environ |= {"HORNADA_UPSTREAM": upstream, **(env or {})}
    return subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(folder: Path, upstream: str, *more: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    process = start(folder, upstream, *more, env=env)
    out, said = process.communicate(timeout=120)
    return process.returncode, out, said


def table(path: Path, *texts: str) -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([["id", "text"], *([f"i{n}", text] for n, text in enumerate(texts))])
    return path


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.reader(source))


def test_a_csv_comes_back_with_its_answers(tmp_path: Path) -> None:
    table(tmp_path / "in.csv", "hola", "refuse", 'dos, "líneas"\nña')
    with ModelServer() as server:
        code, out, said = run(tmp_path, server.base, "in.csv", "-o", "out.csv", "--column", "text")
    assert (code, out) == (1, "")
    assert "completed: 3 of 3 lines, 1 failed. Results: out.csv" in said
    assert "Failures: 1x http_400" in said
    assert read(tmp_path / "out.csv") == [
        HEAD,
        ["i0", "hola", "HOLA", "200", "1", "1", "", ""],
        ["i1", "refuse", "", "400", "", "", "400", "no"],
        ["i2", 'dos, "líneas"\nña', 'DOS, "LÍNEAS"\nÑA', "200", "1", "1", "", ""],
    ]


def test_the_model_that_a_server_alone_runs_need_not_be_named_and_prompts_come_from_files(tmp_path: Path) -> None:
    table(tmp_path / "in.csv", "a", "b")
    (tmp_path / "prompt.txt").write_text("<{id}:{text}>", "utf-8")
    with ModelServer() as server:
        code, _, said = run(tmp_path, server.base, "in.csv", "-o", "o.jsonl", "--prompt", "@prompt.txt")
        assert (code, sorted(server.asked)) == (0, ["<i0:a>", "<i1:b>"]), said
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text("utf-8").splitlines()]
    assert [list(row) for row in rows] == [HEAD] * 2
    assert [row["answer"] for row in rows] == ["<I0:A>", "<I1:B>"]
    assert rows[0]["input_tokens"] == 1


def test_records_become_parquet_and_parquet_csv(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"n": 1, "t": "a"}\n{"n": 2, "t": "refuse"}\n', "utf-8")
    with ModelServer() as server:
        assert run(tmp_path, server.base, "in.jsonl", "-o", "o.parquet", "--column", "t")[0] == 1
        found = parquet.read_table(tmp_path / "o.parquet").to_pylist()
        assert [(row["n"], row["answer"], row["error"]) for row in found] == [(1, "A", None), (2, None, "no")]
        code, _, said = run(tmp_path, server.base, "o.parquet", "-o", "o.csv", "--prompt", "{t}{n}")
        assert code == 0, said
    head, first, _ = read(tmp_path / "o.csv")
    assert dict(zip(head, first, strict=True))["answer_2"] == "A1"


def test_results_of_requests_can_be_a_table_too(tmp_path: Path) -> None:
    body = {"model": MODEL, "messages": [{"content": "a"}]}
    (tmp_path / "in.jsonl").write_text(json.dumps({"custom_id": "x", "body": body}) + "\n", "utf-8")
    with ModelServer() as server:
        assert run(tmp_path, server.base, "in.jsonl", "-o", "o.csv")[0] == 0
    assert read(tmp_path / "o.csv")[1][:3] == ["x", "A", "200"]


@pytest.mark.parametrize("name", ["o.csv", "o.jsonl", "o.parquet"])
def test_only_what_failed_is_run_again_and_takes_its_place(name: str, tmp_path: Path) -> None:
    table(tmp_path / "in.csv", "a", "refuse", "c", "refuse")
    with ModelServer() as server:
        command = ("in.csv", "-o", name, "--column", "text", "--json", "-q")
        assert run(tmp_path, server.base, *command)[0] == 1
        server.asked.clear()
        server.refused = set()
        code, out, said = run(tmp_path, server.base, *command, "--retry-failed")
        assert (code, server.asked) == (0, ["refuse", "refuse"]), said
        told = json.loads(out)
        assert (told["total"], told["completed"], told["failed"], told["input_tokens"]) == (4, 4, 0, 4)
        again = run(tmp_path, server.base, *command, "--retry-failed")
        assert (again[0], json.loads(again[1])["already"], len(server.asked)) == (0, True, 2)
    from hornada.client.tables import open_table

    found = list(open_table(tmp_path / name))
    assert [row["answer"] for row in found] == ["A", "REFUSE", "C", "REFUSE"]
    assert [row["id"] for row in found] == ["i0", "i1", "i2", "i3"]


def test_requests_that_failed_are_run_again_even_without_the_note_of_the_first_run(tmp_path: Path) -> None:
    lines = [
        {"custom_id": str(n), "body": {"model": MODEL, "messages": [{"content": text}]}}
        for n, text in enumerate(["a", "refuse", "c"])
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with ModelServer() as server:
        assert run(tmp_path, server.base, "in.jsonl", "-o", "o.jsonl")[0] == 1
        before = (tmp_path / "o.jsonl").read_text("utf-8").splitlines()
        for path in (tmp_path / "o.jsonl.hornada").iterdir():
            path.unlink()
        server.refused = set()
        code, _, said = run(tmp_path, server.base, "in.jsonl", "-o", "o.jsonl", "--retry-failed")
        assert code == 0, said
    after = (tmp_path / "o.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["custom_id"] for line in after] == ["0", "1", "2"]
    assert (after[0], after[2]) == (before[0], before[2])
    assert json.loads(after[1])["response"]["status_code"] == 200


def test_what_is_no_output_of_the_input_is_not_merged_into(tmp_path: Path) -> None:
    table(tmp_path / "in.csv", "a", "refuse")
    with ModelServer() as server:
        assert run(tmp_path, server.base, "in.csv", "-o", "o.csv", "--column", "text")[0] == 1
        table(tmp_path / "in.csv", "b", "refuse")
        code, _, said = run(tmp_path, server.base, "in.csv", "-o", "o.csv", "--column", "text", "--retry-failed")
        assert (code, "holds the results of another input" in said) == (2, True)
        code, _, said = run(tmp_path, server.base, "in.csv", "-o", "none.csv", "--column", "text", "--retry-failed")
        assert (code, "none.csv is not there" in said) == (2, True)
        assert len(server.asked) == 2
    assert len(read(tmp_path / "o.csv")) == 3


def test_a_retry_that_is_stopped_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    table(tmp_path / "in.csv", "a", *(["refuse"] * 6))
    command = ("in.csv", "-o", "o.csv", "--column", "text", "--concurrency", "1")
    with ModelServer() as server:
        assert run(tmp_path, server.base, *command)[0] == 1
        server.asked.clear()
        server.refused, server.free = set(), 3
        server.gate.clear()
        process = start(tmp_path, server.base, *command, "--retry-failed")
        assert process.stderr is not None
        said = ""
        while "3 of 6 lines" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        process.communicate()
        assert [row[2] for row in read(tmp_path / "o.csv")[1:]] == ["A", *[""] * 6]
        server.gate.set()
        code, _, said = run(tmp_path, server.base, *command)
        assert code == 0, said
        assert len(server.asked) <= 7
    assert [row[2] for row in read(tmp_path / "o.csv")[1:]] == ["A", *["REFUSE"] * 6]


def until(process: subprocess.Popen[str], words: str) -> None:
    """Reads what a run says until it says so."""
    assert process.stderr is not None
    said = ""
    while words not in said:
        line = process.stderr.readline()
        assert line, said
        said += line


def test_a_table_that_is_killed_in_the_middle_goes_on(tmp_path: Path) -> None:
    table(tmp_path / "in.csv", *"abcdefgh")
    command = ("in.csv", "-o", "o.parquet", "--column", "text", "--concurrency", "1")
    with ModelServer(free=3) as server:
        server.gate.clear()
        process = start(tmp_path, server.base, *command)
        until(process, "3 of 8 lines")
        process.kill()
        process.communicate()
        server.gate.set()
        code, _, said = run(tmp_path, server.base, *command)
        assert code == 0, said
        assert not set(server.asked[4:]) & set("abc"), "what was kept is not asked again"
    assert [row["answer"] for row in parquet.read_table(tmp_path / "o.parquet").to_pylist()] == list("ABCDEFGH")


def test_a_table_that_is_changed_while_it_runs_is_told_and_its_results_are_kept(tmp_path: Path) -> None:
    table(tmp_path / "in.csv", *"abcd")
    before = (tmp_path / "in.csv").read_bytes()
    command = ("in.csv", "-o", "o.csv", "--column", "text", "--concurrency", "1")
    with ModelServer(free=2) as server:
        server.gate.clear()
        process = start(tmp_path, server.base, *command)
        until(process, "2 of 4 lines")
        table(tmp_path / "in.csv", *"abcde")
        server.gate.set()
        said = process.communicate(timeout=120)[1]
        assert (process.returncode, "in.csv was changed while it was run; put it back as it was." in said) == (2, True)
        assert not (tmp_path / "o.csv").exists()
        (tmp_path / "in.csv").write_bytes(before)
        assert run(tmp_path, server.base, *command)[0] == 0
        assert len(server.asked) == 4
    assert [row[2] for row in read(tmp_path / "o.csv")[1:]] == list("ABCD")


def test_tokens_and_cost_are_told_at_the_end(tmp_path: Path) -> None:
    table(tmp_path / "in.csv", *"abcd")
    with ModelServer() as server:
        prices = ("--price-input", "2.5", "--price-output", "10")
        code, out, _ = run(tmp_path, server.base, "in.csv", "-o", "o.csv", "--column", "text", "--json", *prices)
    told = json.loads(out)
    assert (code, told["input_tokens"], told["output_tokens"], told["cost"]) == (0, 4, 4, 4 * 13)
    assert (told["status"], told["exit_code"], told["failures"]) == ("completed", 0, {})


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        (("in.csv", "-o", "o.csv"), "is a table: say what to ask of each row"),
        (("in.csv", "-o", "o.csv", "--prompt", "{txet}"), "The columns are: id, text. Did you mean 'text'?"),
        (("in.csv", "-o", "o.csv", "--column", "none"), "no column 'none'. The columns are: id, text."),
        (("in.csv", "-o", "o.csv", "--column", "text", "--id-column", "x"), "no column 'x'"),
        (("in.csv", "-o", "o.csv", "--column", "text", "--prompt", "x"), "cannot be given together with --prompt"),
        (("in.csv", "-o", "o.csv", "--prompt", "@none.txt"), "none.txt cannot be read"),
        (("in.csv", "-o", "o.csv", "--column", "text", "--param", "x"), 'must be NAME=VALUE, not "x"'),
        (("in.csv", "-o", "o.csv", "--column", "text", "--overwrite", "--retry-failed"), "--overwrite"),
        (("same.csv", "-o", "o.csv", "--column", "text", "--id-column", "id"), "row 2: duplicate_custom_id"),
        (("short.csv", "-o", "o.csv", "--column", "text"), "row 2 has 1 cells, but the header names 2 columns"),
        (("in.jsonl", "-o", "o.csv", "--system", "x"), "needs --prompt or --column"),
        (("rows.jsonl", "-o", "o.csv"), "say what to ask of each, with --prompt or --column"),
    ],
)
def test_a_table_or_a_prompt_that_does_not_fit_is_told_before_anything_is_called(
    more: tuple[str, ...], fault: str, tmp_path: Path
) -> None:
    table(tmp_path / "in.csv", "a")
    (tmp_path / "in.jsonl").write_text("{}\n", "utf-8")
    (tmp_path / "rows.jsonl").write_text('{"text": "a"}\n', "utf-8")
    (tmp_path / "same.csv").write_text("id,text\n1,a\n1,b\n", "utf-8")
    (tmp_path / "short.csv").write_text("id,text\n1,a\n1\n", "utf-8")
    with ModelServer() as server:
        code, _, said = run(tmp_path, server.base, *more, env={"COLUMNS": "400"})
        assert server.asked == []
    assert (code, fault in said) == (2, True), said
    assert not (tmp_path / "o.csv").exists()
    assert not (tmp_path / "o.csv.hornada").exists()


def test_a_model_must_be_named_where_the_server_runs_several(tmp_path: Path) -> None:
    table(tmp_path / "in.csv", "a")
    with ModelServer(models=["x", "y"]) as server:
        code, _, said = run(tmp_path, server.base, "in.csv", "-o", "o.csv", "--column", "text")
        assert (code, "with --model" in said, "runs 2: x, y." in said) == (2, True, True), said
        assert run(tmp_path, server.base, "in.csv", "-o", "o.csv", "--column", "text", "--model", "y")[0] == 0


def test_without_pyarrow_parquet_is_told_how_to_come_by_it_and_csv_works(tmp_path: Path) -> None:
    (tmp_path / "lib" / "pyarrow").mkdir(parents=True)
    (tmp_path / "lib" / "pyarrow" / "__init__.py").write_text("raise ImportError('not here')\n")
    env = {"PYTHONPATH": str(tmp_path / "lib")}
    table(tmp_path / "in.csv", "a")
    with ModelServer() as server:
        code, _, said = run(tmp_path, server.base, "in.csv", "-o", "o.parquet", "--column", "text", env=env)
        assert (code, "pip install 'hornada[tables]'" in said, server.asked) == (2, True, [])
        assert run(tmp_path, server.base, "in.csv", "-o", "o.csv", "--column", "text", env=env)[0] == 0
