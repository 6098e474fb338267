"""The commands that talk to a batch server, as a user types them."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.hornada import KEY, Hornada, model, settings
from tests.cli.model_server import MODEL, ModelServer
from tests.client.conftest import write


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def server(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    with Hornada(tmp_path_factory.mktemp("remote"), settings([model(MODEL, models.base)])) as hornada:
        hornada.start()
        yield hornada


class Shell:
    """Types commands in a folder."""

    def __init__(self, folder: Path, base: str) -> None:
        self.folder = folder
        self.base = base

    def start(self, *words: str) -> subprocess.Popen[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("HORNADA_", "OPENAI_"))}
        environ |= {"HORNADA_BASE_URL": self.base, "HORNADA_API_KEY": KEY, "COLUMNS": "400"}
        program = "from hornada.cli import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", program, *words],
            cwd=self.folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        process = self.start(*words)
        out, said = process.communicate(stdin, timeout=120)
        return process.returncode, out, said


@pytest.fixture
def shell(server: Hornada, tmp_path: Path) -> Shell:
    return Shell(tmp_path, server.base)


def test_a_file_is_submitted_followed_and_fetched_with_one_command(shell: Shell) -> None:
    write(shell.folder / "in.jsonl", "one", "refuse", "c")
    code, out, said = shell("submit", "in.jsonl", "--wait", "-o", "out.jsonl", "--metadata", "a=b")
    assert code == 1, said
    assert out.startswith("batch_")
    assert "3 of 3 lines, 1 failed." in said
    assert "hornada retry batch_" in said
    assert "Results: out.jsonl" in said
    found = [json.loads(line) for line in (shell.folder / "out.jsonl").read_text("utf-8").splitlines()]
    assert [line["custom_id"] for line in found] == ["0-one", "1-refuse", "2-c"]
    assert sorted(path.name for path in shell.folder.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_the_id_alone_is_printed_for_scripts(shell: Shell) -> None:
    write(shell.folder / "in.jsonl", "two", "b")
    code, out, said = shell("submit", "in.jsonl")
    assert (code, said) == (0, "")
    batch = out.strip()
    code, out, said = shell("watch", batch)
    assert (code, out) == (0, "")
    assert f"{batch} completed: 2 of 2 lines." in said
    code, out, said = shell("watch", batch, "-q", "--json")
    assert (code, said, json.loads(out)["id"]) == (0, "", batch)
    code, out, said = shell("results", batch)
    assert (code, said) == (0, "")
    assert [json.loads(line)["custom_id"] for line in out.splitlines()] == ["0-two", "1-b"]


def test_a_table_is_submitted_and_comes_back_with_its_answers(shell: Shell) -> None:
    (shell.folder / "in.csv").write_text("id,text\nx,three\ny,refuse\n", "utf-8")
    command = ("in.csv", "--model", MODEL, "--column", "text", "--id-column", "id", "--wait", "-o", "out.csv")
    assert shell("submit", *command)[0] == 1
    with (shell.folder / "out.csv").open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    assert [(row["text"], row["answer"], row["error"]) for row in rows] == [
        ("three", "THREE", ""),
        ("refuse", "", "no"),
    ]
    code, _, said = shell("submit", "in.csv", "--column", "text")
    assert (code, "--model" in said) == (2, True)


def test_failed_lines_are_shown_alone_and_run_again(shell: Shell) -> None:
    write(shell.folder / "in.jsonl", "four", "refuse")
    batch = shell("submit", "in.jsonl", "--wait", "-q")[1].strip()
    code, out, _ = shell("results", batch, "--failed", "--format", "csv")
    assert code == 1
    assert list(csv.reader(out.splitlines()))[1] == ["1-refuse", "", "400", "", "", "400", "no"]
    code, out, said = shell("retry", batch, "--wait")
    assert code == 1, said
    assert out.strip() not in {"", batch}
    assert "1 of 1 lines, 1 failed" in said
    code, out, said = shell("retry", batch, "--id", "0-four", "--id", "1-refuse")
    assert (code, out, "There is an answer to the line with the custom_id '0-four'" in said) == (2, "", True), said
    (shell.folder / "ids.txt").write_text("0-four\r\n\n1-refuse\n", "utf-8")
    code, out, said = shell("retry", batch, "--id", "@ids.txt", "--answered", "--wait")
    assert (code, "2 of 2 lines, 1 failed" in said) == (1, True), said
    assert shell("retry", batch, "--only", "503")[0] == 2
    assert shell("retry", batch, "--only", "400")[0] == 0
    assert shell("retry", batch, "--only", "400", "--id", "a")[0] == 2
    assert shell("retry", batch, "--answered")[0] == 2
    code, out, said = shell("results", batch, "-o", "r.parquet", "--json")
    counts = {"answered": 1, "cut_off": 0, "failed": 1, "failures": {"http_400": 1}}
    assert json.loads(out) == {"output": "r.parquet", **counts}


def test_the_answers_of_a_retry_stand_among_those_of_the_first_batch(shell: Shell, models: ModelServer) -> None:
    models.refused.add("fifteen")
    write(shell.folder / "in.jsonl", "a", "fifteen", "refuse", "cut")
    code, first, said = shell("submit", "in.jsonl", "-o", "first.jsonl")
    assert (code, "Results: first.jsonl (1 cut off at their limit of tokens)" in said) == (1, True), said
    models.refused.discard("fifteen")
    again = shell("retry", first.strip(), "--wait")[1]
    code, _, said = shell("results", first.strip(), again.strip(), "--input", "in.jsonl", "-o", "out.csv")
    assert code == 1
    assert "3 answered (1 cut off at their limit of tokens), 1 failed (1x http_400): out.csv" in said
    with (shell.folder / "out.csv").open(encoding="utf-8", newline="") as source:
        assert [row["answer"] for row in csv.DictReader(source)] == ["A", "FIFTEEN", "", "CUT"]


def test_a_file_with_faults_is_told_as_a_compiler_does_and_exits_2(shell: Shell) -> None:
    (shell.folder / "in.jsonl").write_bytes(b'{"custom_id": "a"}\n')
    code, _, said = shell("submit", "in.jsonl", "--wait")
    assert code == 2
    assert "in.jsonl:1: missing_required_parameter: Missing required parameter: 'body'." in said
    assert shell("results", "batch_none")[::2] == (2, "No batch found with id 'batch_none'. (batch_not_found)\n")


def test_batches_are_listed_and_cancelled(shell: Shell, models: ModelServer) -> None:
    write(shell.folder / "in.jsonl", *(f"five{i}" for i in range(9)))
    models.free = len(models.asked)
    models.gate.clear()
    batch = shell("submit", "in.jsonl", "--metadata", "a=b", "--metadata", "c=d")[1].strip()
    code, out, _ = shell("list", "--limit", "1")
    assert (code, out.splitlines()[0].split()) == (0, ["BATCH", "STATUS", "LINES", "FAILED", "CREATED", "MODEL"])
    assert out.splitlines()[1].startswith(batch)
    code, _, said = shell("pause", batch)
    assert (code, f"{batch} paused: " in said) == (0, True), said
    assert json.loads(shell("resume", batch, "--json")[1])["id"] == batch
    assert shell("pause", "batch_none")[0] == 2
    assert shell("cancel", batch)[0] == 0
    assert shell("resume", batch)[0] in {0, 2}
    models.gate.set()
    code, _, said = shell("watch", batch)
    assert (code, "cancelled: 9 of 9 lines" in said) == (1, True), said
    assert shell("list", "--status", "cancelled", "--metadata", "a=c", "--json")[:2] == (0, "")
    code, out, _ = shell("list", "--status", "cancelled", "--metadata", "a=b", "--json")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [batch]
    assert shell("cancel", batch)[0] == 2


@pytest.mark.parametrize("command", [("submit", "in.jsonl", "--wait"), ("watch",)])
def test_ctrl_c_leaves_the_batch_and_says_how_to_go_on(
    command: tuple[str, ...], shell: Shell, models: ModelServer
) -> None:
    write(shell.folder / "in.jsonl", f"six{len(models.asked)}", "b")
    models.free = len(models.asked)
    models.gate.clear()
    more = () if command[0] == "submit" else (shell("submit", "in.jsonl")[1].strip(),)
    process = shell.start(*command, *more)
    assert process.stderr is not None
    said = ""
    while "in progress" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=120)[1]
    models.gate.set()
    assert process.returncode == 130
    assert "hornada watch batch_" in rest
    assert "Traceback" not in rest


def test_a_server_that_is_not_there_exits_3(shell: Shell) -> None:
    code, out, said = shell("list", "--base-url", "http://127.0.0.1:9/v1")
    assert (code, out) == (3, "")
    assert "http://127.0.0.1:9/v1 does not answer: connection refused." in said


def test_a_file_that_is_too_large_for_one_batch_becomes_several(
    server: Hornada, models: ModelServer, tmp_path: Path
) -> None:
    from hornada.client.input import MOST_LINES

    lines = "".join(f'{{"custom_id": "{i}", "body": {{"model": "none"}}}}\n' for i in range(MOST_LINES + 1))
    (tmp_path / "in.jsonl").write_text(lines)
    code, out, said = Shell(tmp_path, server.base)("submit", "in.jsonl", "--split")
    assert code == 0, said
    assert len(set(out.split())) == 2


def test_the_batches_of_one_file_are_followed_and_fetched_as_one(models: ModelServer, tmp_path: Path) -> None:
    config = settings([model(MODEL, models.base)], plan={"active_batches": 1})
    cut = ("submit", "in.jsonl", "--split", "--lines", "2")
    with Hornada(tmp_path / "server", config) as server:
        server.start()
        shell = Shell(tmp_path, server.base)
        write(tmp_path / "in.jsonl", "ten", "refuse", "c", "d", "e")
        code, out, said = shell(*cut, "-o", "out.jsonl")
        assert code == 1, said
        ids = out.split()
        assert (len(ids), "The next part is sent when a batch has ended." in said) == (3, True), said
        assert "Together completed: 5 of 5 lines, 1 failed." in said
        names = ["0-ten", "1-refuse", "2-c", "3-d", "4-e"]
        found = [json.loads(line)["custom_id"] for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
        assert found == names
        code, out, said = shell("watch", "\n".join(ids), "--json")
        assert (code, [json.loads(line)["id"] for line in out.splitlines()]) == (1, ids), said
        backwards = ids[::-1]
        code, out, said = shell("results", *backwards, "--input", "in.jsonl")
        assert (code, [json.loads(line)["custom_id"] for line in out.splitlines()]) == (1, names), said
        code, out, said = shell("results", *backwards)
        assert [json.loads(line)["custom_id"] for line in out.splitlines()] == names[4:] + names[2:4] + names[:2]
        code, out, said = shell("retry", *ids, "--wait")
        assert (code, len(out.split()), said.count("nothing to retry")) == (1, 1, 2), said
        assert shell("retry", ids[1], ids[2])[:2] == (2, "")
        assert shell("retry", *ids, "--id", "1-refuse")[0] == 2
        models.free = len(models.asked)
        models.gate.clear()
        write(tmp_path / "in.jsonl", *"fghij")
        code, out, said = shell(*cut)
        assert (code, len(out.split())) == (2, 1), said
        assert "1 of 3 parts were sent. To follow what goes on: hornada watch " in said
        assert shell("cancel", *out.split())[0] == 0
        models.gate.set()
        lines = write(tmp_path / "in.jsonl", *"abc").read_text("utf-8")
        (tmp_path / "in.jsonl").write_text(lines + lines)
        code, out, said = shell(*cut)
        assert (code, out, "The custom_id '0-a' is that of several lines" in said) == (2, "", True), said


def test_rows_of_a_table_find_their_results_in_whichever_batch_has_them(shell: Shell) -> None:
    (shell.folder / "in.csv").write_text("text\nlucky\nrefuse\nthirteen\n", "utf-8")
    made = []
    for name, text in (("row-2", "refuse"), ("row-3", "thirteen"), ("row-1", "lucky")):
        body = {"model": MODEL, "messages": [{"role": "user", "content": text}]}
        (shell.folder / "in.jsonl").write_text(json.dumps({"custom_id": name, "body": body}) + "\n", "utf-8")
        made.append(shell("submit", "in.jsonl", "--wait", "-q")[1].strip())
    assert shell("results", *made, "--input", "in.csv", "-o", "out.csv")[0] == 1
    with (shell.folder / "out.csv").open(encoding="utf-8", newline="") as source:
        rows = [(row["text"], row["answer"]) for row in csv.DictReader(source)]
    assert rows == [("lucky", "LUCKY"), ("refuse", ""), ("thirteen", "THIRTEEN")]


def test_check_tells_every_finding_and_reads_standard_input(shell: Shell) -> None:
    (shell.folder / "in.jsonl").write_text('{"custom_id": "a", "body": {"model": "m"}}\n\n{}\n', "utf-8")
    code, out, said = shell("check", "in.jsonl")
    assert code == 2
    assert out.splitlines() == [
        "in.jsonl:3: missing_required_parameter: Missing required parameter: 'custom_id'.",
        "in.jsonl:3: missing_required_parameter: Missing required parameter: 'body'.",
    ]
    assert "2 requests to /v1/chat/completions, 2 findings." in said
    code, out, _ = shell("check", "-", "--json", "--model", "n", stdin='{"custom_id": "a", "body": {"model": "m"}}')
    assert (code, json.loads(out)["code"]) == (2, "model_not_found")
    code, out, said = shell("check", "-", stdin='{"custom_id": "a", "url": "/v1/embeddings", "body": {"model": "m"}}')
    assert (code, out) == (0, "")
    assert "1 requests to /v1/embeddings, no faults." in said
    assert shell("check", "-")[0] == 2
    assert shell("check", "none.jsonl")[2] == "none.jsonl cannot be read: No such file or directory.\n"


def test_a_table_is_no_file_of_requests(shell: Shell) -> None:
    (shell.folder / "in.csv").write_text("q\nhello\n")
    for name in ("check", "estimate"):
        code, out, said = shell(name, "in.csv")
        assert (code, out, "Invalid value for FILE: is a table" in said) == (2, "", True)


def test_a_file_that_is_no_jsonl_is_told_in_one_line_and_not_sent(shell: Shell) -> None:
    (shell.folder / "all.json").write_text('[{"custom_id": "a"}]')
    for name in ("check", "estimate", "submit"):
        code, out, said = shell(name, "all.json")
        assert (code, out) == (2, "")
        assert said == (
            "all.json is one JSON list and no JSONL, one request a line. "
            "To take it apart: jq -c '.[]' all.json > requests.jsonl\n"
        )


def test_a_wrong_address_a_wrong_key_and_a_word_that_is_no_status_are_told_so(shell: Shell, server: Hornada) -> None:
    code, _, said = shell("list", "--base-url", server.base.removesuffix("/v1"))
    assert (code, "Is the base URL that of a batch server, up to /v1?" in said) == (2, True), said
    code, _, said = shell("list", "--api-key", "sk-wrong")
    assert (code, "The key is that of --api-key, HORNADA_API_KEY or OPENAI_API_KEY." in said) == (2, True), said
    code, _, said = shell("list", "--status", "complete")
    assert (code, 'expired, not "complete"' in " ".join(said.split())) == (2, True), said


def test_whose_key_it_is_and_what_of_its_plan_is_used(shell: Shell) -> None:
    write(shell.folder / "in.jsonl", "fourteen")
    assert shell("submit", "in.jsonl", "--wait")[0] == 0
    found = json.loads(shell("me", "--json")[1])
    code, out, said = shell("me")
    assert (code, said) == (0, "")
    assert "organization: default" in out
    assert f"storage: {found['used']['storage_bytes'] / 1e6:,.1f} of 10,737.4 MB" in out
    assert "batches: 0 of 2,000" in out


def test_check_asks_the_server_which_knows_its_models(shell: Shell) -> None:
    (shell.folder / "in.jsonl").write_text('{"custom_id": "a", "body": {"model": "none"}}\n', "utf-8")
    assert shell("check", "in.jsonl")[0] == 0
    code, out, said = shell("check", "in.jsonl", "--server")
    assert (code, out.startswith("in.jsonl:1: model_not_found: ")) == (2, True), said
    write(shell.folder / "in.jsonl", "hello")
    code, out, said = shell("check", "in.jsonl", "--server")
    assert (code, out) == (0, "")
    assert "1 requests, no faults." in said


def test_a_place_for_results_that_there_is_not_is_told_before_anything_is_sent(shell: Shell) -> None:
    write(shell.folder / "in.jsonl", "early")
    code, out, said = shell("submit", "in.jsonl", "-o", "nowhere/out.jsonl")
    assert (code, out, "must be a file in a folder that exists" in said) == (2, "", True)
    code, _, said = shell("results", "batch_none", "-o", ".")
    assert (code, "must be a file in a folder that exists" in said) == (2, True)


def test_where_the_server_is_may_stand_in_the_environment_of_every_command(shell: Shell) -> None:
    code, out, said = shell("config")
    assert (code, said) == (0, "")
    assert "[server]" in out


def test_split_and_estimate_say_what_they_found(shell: Shell) -> None:
    write(shell.folder / "in.jsonl", *"abc")
    code, out, _ = shell("split", "in.jsonl", "--lines", "2", "-o", "parts")
    assert (code, out.split()) == (0, ["parts/in-0001.jsonl", "parts/in-0002.jsonl"])
    code, out, _ = shell("estimate", "in.jsonl", "--output-tokens", "100", "--price-output", "2", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["lines"], found["models"], found["output_tokens"], found["cost"]) == (3, [MODEL], 300, 0.0006)
    assert json.loads(shell("estimate", "in.jsonl", "--json")[1])["cost"] is None
    assert "lines: 3" in shell("estimate", "-", stdin=(shell.folder / "in.jsonl").read_text())[1]


@pytest.mark.parametrize("command", ["watch", "results", "retry", "cancel", "pause", "resume", "files download"])
def test_a_variable_that_was_never_set_is_no_id(shell: Shell, command: str) -> None:
    for blank in ("", " "):
        code, out, said = shell(*command.split(), blank)
        assert (code, out) == (2, "")
        assert "is empty; an id was expected" in said


@pytest.mark.parametrize("words", [("",), ("--batch", "", "--yes")])
def test_and_nothing_is_deleted_for_it(shell: Shell, words: tuple[str, ...]) -> None:
    code, out, said = shell("files", "delete", *words)
    assert (code, out) == (2, "")
    assert "is empty; an id was expected" in said


def test_the_size_of_parts_needs_parts(shell: Shell) -> None:
    write(shell.folder / "in.jsonl", "a")
    code, out, said = shell("submit", "in.jsonl", "--lines", "1")
    assert (code, out) == (2, "")
    assert "--lines: needs --split" in said


def test_files_are_uploaded_listed_fetched_and_deleted(shell: Shell) -> None:
    write(shell.folder / "kept-1.jsonl", "seven", "b")
    code, out, said = shell("files", "upload", "kept-1.jsonl", "--expires-after", "1d")
    assert (code, said) == (0, "")
    file = out.strip()
    code, out, _ = shell("files", "list", "--name", "kept-*.jsonl", "--json")
    (found,) = (json.loads(line) for line in out.splitlines())
    assert (found["id"], found["expires_at"] - found["created_at"]) == (file, 86_400)
    code, out, _ = shell("files", "list", "--limit", "1")
    assert out.splitlines()[0].split() == ["FILE", "PURPOSE", "BYTES", "CREATED", "EXPIRES", "NAME"]
    assert out.splitlines()[1].startswith(file)
    assert shell("files", "download", file, "-o", "copy.jsonl")[0] == 0
    sent = (shell.folder / "kept-1.jsonl").read_text("utf-8")
    assert (shell.folder / "copy.jsonl").read_text("utf-8") == sent
    assert shell("files", "download", file)[1] == sent
    code, out, said = shell("files", "delete", file, "file-none")
    assert (code, out, "file_not_found" in said) == (2, "", True)
    assert shell("files", "delete", file)[:2] == (0, file + "\n")
    assert shell("files", "download", file)[0] == 2


def test_many_files_are_deleted_only_when_that_is_meant_and_never_while_they_are_read(
    shell: Shell, models: ModelServer
) -> None:
    for name in ("old-1.jsonl", "old-2.jsonl", "old-3.jsonl"):
        write(shell.folder / name, name, "b")
    many = ("files", "delete", "--name", "old-*.jsonl", "--older-than", "0s")
    first, second = (shell("files", "upload", f"old-{i}.jsonl")[1].strip() for i in (1, 2))
    models.free = len(models.asked)
    models.gate.clear()
    batch = shell("submit", "old-3.jsonl")[1].strip()
    code, out, said = shell(*many, "--dry-run")
    assert (code, "2 files of 0.0 MB would be deleted, 1 kept." in said) == (0, True), said
    assert {line.split()[0] for line in out.splitlines()[1:]} == {first, second}
    for answer in ("n\n", ""):
        code, out, said = shell(*many, stdin=answer)
        assert (code, out, "Nothing was deleted." in said) == (2, "", True)
    code, out, said = shell(*many, "--yes", "--json")
    assert (code, {json.loads(line)["id"] for line in out.splitlines()}) == (1, {first, second})
    assert "a batch that has not ended reads it." in said
    code, out, said = shell("files", "delete", "--batch", batch, "--yes")
    assert (code, out, "1 kept" in said) == (1, "", True), said
    models.gate.set()
    assert shell("watch", batch)[0] == 0
    code, out, said = shell("files", "delete", "--batch", batch, stdin="y\n")
    assert (code, len(out.split()), "Delete 2 files" in said) == (0, 2, True), said
    assert shell(*many, "--yes")[:2] == (0, "")
    for words in ((), (first, "--older-than", "1d"), ("--older-than", "soon"), ("--older-than", "5")):
        assert shell("files", "delete", *words)[0] == 2
