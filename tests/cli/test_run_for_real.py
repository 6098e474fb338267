"""``hornada run`` as a user starts it: a process, a file, a model server."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.model_server import MODEL, ModelServer


def lines(*contents: str) -> bytes:
    return b"".join(
        json.dumps(
            {"custom_id": f"{i}-{content}", "body": {"model": MODEL, "messages": [{"content": content}]}}
        ).encode()
        + b"\n"
        for i, content in enumerate(contents)
    )


def start(folder: Path, upstream: str, *more: str) -> subprocess.Popen[str]:
    program = "from hornada.cli import main; main()"
    command = [sys.executable, "-c", program, "run", "in.jsonl", "-o", "out.jsonl", *more]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HORNADA_")}
    environ["HORNADA_UPSTREAM"] = upstream
    return subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True)


def run(folder: Path, upstream: str, *more: str) -> tuple[int, str]:
    process = start(folder, upstream, *more)
    said = process.communicate(timeout=120)[1]
    return process.returncode, said


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_bytes().splitlines()]


def test_every_line_is_answered_in_input_order(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines(*"abcdefghijklmno"))
    with ModelServer() as server:
        code, said = run(tmp_path, server.base)
    last = ["completed: 15 of 15 lines. Results: out.jsonl", "15 tokens in, 15 out"]
    assert (code, said.splitlines()[-2:]) == (0, last)
    found = results(tmp_path)
    assert [line["custom_id"] for line in found] == [f"{i}-{c}" for i, c in enumerate("abcdefghijklmno")]
    assert found[2]["response"]["body"]["choices"][0]["message"]["content"] == "C"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl", "out.jsonl.hornada"]
    assert sorted(path.name for path in (tmp_path / "out.jsonl.hornada").iterdir()) == ["lock", "run.json"]


def test_what_is_done_is_not_done_again_nor_lost_to_another_input(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines("a", "refuse"))
    with ModelServer() as server:
        assert run(tmp_path, server.base)[0] == 1
        code, said = run(tmp_path, server.base)
        assert (code, "already done: 2 lines, 1 failed" in said) == (1, True)
        (tmp_path / "in.jsonl").write_bytes(lines("b"))
        code, said = run(tmp_path, server.base)
        assert code == 2
        assert said.startswith("out.jsonl holds the 2 results of an earlier in.jsonl.")
        assert [line["custom_id"] for line in results(tmp_path)] == ["0-a", "1-refuse"]
        assert len(server.asked) == 2
        assert run(tmp_path, server.base, "--overwrite")[0] == 0
    assert [line["custom_id"] for line in results(tmp_path)] == ["0-b"]


def test_a_line_that_the_model_server_refuses_makes_it_exit_1(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines("a", "refuse", "b"))
    with ModelServer() as server:
        code, said = run(tmp_path, server.base)
    assert code == 1
    assert "3 of 3 lines, 1 failed" in said
    assert [line["response"]["status_code"] for line in results(tmp_path)] == [200, 400, 200]


def test_a_file_with_faults_exits_2_and_names_their_lines(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines("a") + b"{}\n" + lines("a"))
    with ModelServer() as server:
        code, said = run(tmp_path, server.base)
        assert server.asked == []
    assert code == 2
    assert "line 2: missing_required_parameter" in said
    assert "line 3: duplicate_custom_id" in said
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_for_an_unknown_endpoint_exits_2_and_names_those_that_are_known(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines("a").replace(b'"body"', b'"url": "//evil/x", "body"'))
    with ModelServer() as server:
        code, said = run(tmp_path, server.base)
        assert server.asked == []
    assert code == 2
    assert "/v1/embeddings" in said
    assert '"//evil/x"' in said


def test_a_server_that_is_not_there_exits_3(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines("a"))
    with ModelServer() as server:
        gone = server.base
    code, said = run(tmp_path, gone)
    assert code == 3
    assert gone in said


def test_after_ctrl_c_the_same_command_goes_on_and_runs_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines(*"abcdefghij"))
    with ModelServer(free=4) as server:
        server.gate.clear()
        process = start(tmp_path, server.base, "--concurrency", "1")
        assert process.stderr is not None
        said = ""
        while "4 of 10 lines" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        said = process.stderr.read()
        process.stderr.close()
        assert "4 of 10 lines are done and kept." in said
        assert said.endswith("To go on: hornada run in.jsonl -o out.jsonl --concurrency 1\n")
        server.gate.set()
        code, said = run(tmp_path, server.base, "--concurrency", "1")
    assert code == 0, said
    assert len(results(tmp_path)) == 10
    assert sorted(set(server.asked[:4])) == list("abcd")
    assert not set(server.asked[5:]) & set("abcd"), "what was kept is not asked again"


def test_a_server_that_goes_away_in_the_middle_is_waited_for_so_long_and_what_is_done_is_kept(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines(*"abcdef"))
    with ModelServer(free=2) as server:
        server.gate.clear()
        process = start(tmp_path, server.base, "--concurrency", "1", "--max-wait", "2")
        assert process.stderr is not None
        said = ""
        while "2 of 6 lines" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
    said += process.communicate(timeout=120)[1]
    assert process.returncode == 3
    assert f"No line has got a result from {server.base} for" in said
    assert "2 of 6 lines are done and kept. To go on: hornada run" in said
    with ModelServer() as server:
        code, said = run(tmp_path, server.base)
    assert (code, "in progress: 2 of 6 lines (going on where it was)" in said) == (0, True)
    assert len(server.asked) == 4
