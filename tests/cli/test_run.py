"""What ``hornada run`` says and how it exits."""

import asyncio
import io
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from hornada.cli.app import app
from hornada.cli.exit import ExitCode
from hornada.cli.progress import Lines
from hornada.cli.run import again, follow
from hornada.core.batch import Status
from hornada.core.run import Occupied, Progress, RunRequest, Unreachable

REQUEST = RunRequest(input="in.jsonl", output="out.jsonl", upstream="http://h/v1", api_key="sk-hidden")
COMMAND = "hornada run in.jsonl -o out.jsonl"


def state(status: Status, done: int = 0, failed: int = 0, total: int = 4, message: str | None = None) -> Progress:
    return Progress(total=total, completed=done, failed=failed, status=status, message=message)


async def told(*states: Progress | BaseException) -> AsyncIterator[Progress]:
    for each in states:
        if isinstance(each, BaseException):
            raise each
        yield each


def outcome(capsys: pytest.CaptureFixture[str], *states: Progress | BaseException) -> tuple[ExitCode, str]:
    code = follow(told(*states), REQUEST, Lines(io.StringIO(), lambda: 0.0), COMMAND)
    captured = capsys.readouterr()
    assert captured.out == ""
    return code, captured.err


def test_a_run_whose_lines_were_all_answered_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = outcome(capsys, state(Status.IN_PROGRESS, 1), state(Status.COMPLETED, 4))
    assert code == 0
    assert said == "completed: 4 of 4 lines. Results: out.jsonl\n"


def test_a_failed_line_makes_it_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = outcome(capsys, state(Status.COMPLETED, 3, 1))
    assert code == 1
    assert "4 of 4 lines, 1 failed" in said


def test_a_file_with_faults_exits_2_and_tells_them(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = outcome(capsys, state(Status.FAILED, total=0, message="line 3: custom_id is missing"))
    assert code == 2
    assert said == "Nothing was run: line 3: custom_id is missing\n"


def test_a_server_that_does_not_answer_exits_3(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = outcome(capsys, Unreachable("http://h/v1 does not answer: connection refused."))
    assert code == 3
    assert said == f"http://h/v1 does not answer: connection refused. No line has run yet. To go on: {COMMAND}\n"


def test_a_run_that_was_done_already_says_so_and_exits_as_it_did_then(capsys: pytest.CaptureFixture[str]) -> None:
    done = Progress(total=4, completed=3, failed=1, status=Status.COMPLETED, already=True)
    code, said = outcome(capsys, done)
    assert code == 1
    assert said == (
        "already done: 4 lines, 1 failed. Results: out.jsonl. To run it again: --overwrite.\n"
        "To run what failed again: the same command with --retry-failed.\n"
    )
    assert outcome(capsys, replace(done, completed=4, failed=0))[0] == 0


def test_what_lies_in_the_way_exits_2_with_the_two_ways_on(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = outcome(capsys, Occupied("out.jsonl holds the 4 results of another input, a.jsonl."))
    assert code == 2
    assert said.startswith("out.jsonl holds the 4 results of another input, a.jsonl. Nothing was run.")
    assert "--overwrite" in said
    assert "another -o" in said


def test_an_interrupted_run_exits_130_and_says_what_is_kept_and_how_to_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    closed = False

    async def interrupted() -> AsyncIterator[Progress]:
        nonlocal closed
        yield state(Status.IN_PROGRESS, 2, 1)
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            closed = True

    assert follow(interrupted(), REQUEST, Lines(io.StringIO(), lambda: 0.0), COMMAND) == 130
    assert closed
    said = capsys.readouterr().err
    assert "3 of 4 lines are done and kept." in said
    assert f"To go on: {COMMAND}" in said


def test_the_command_that_goes_on_repeats_what_was_given_and_hides_the_key() -> None:
    request = RunRequest(
        input="my in", output="o", upstream="http://h/v1", model="m", api_key="sk-hidden", max_wait=90.0, overwrite=True
    )
    assert again(request, {"model", "max_wait"}) == (
        "HORNADA_UPSTREAM_API_KEY=... hornada run 'my in' -o o --model m --max-wait 90"
    )
    assert again(replace(request, api_key=None), {"upstream", "concurrency"}) == (
        "hornada run 'my in' -o o --upstream http://h/v1 --concurrency 8"
    )


def test_a_line_is_said_when_something_else_is_told_or_five_seconds_have_gone_by() -> None:
    out = io.StringIO()
    times = iter([0.0, 4.9, 5.0, 6.0, 6.1])
    lines = Lines(out, lambda: next(times))
    lines.update(state(Status.IN_PROGRESS, 1))
    lines.update(state(Status.IN_PROGRESS, 2))
    lines.update(state(Status.IN_PROGRESS, 3))
    lines.update(state(Status.FINALIZING, 3, 1))
    lines.update(state(Status.FINALIZING, 3, 1, message="writing results"))
    assert out.getvalue().splitlines() == [
        "in progress: 1 of 4 lines",
        "in progress: 3 of 4 lines, 24.0 lines/min, 2 s left",
        "finalizing: 4 of 4 lines, 1 failed",
        "finalizing: 4 of 4 lines, 1 failed (writing results)",
    ]


def test_a_batch_that_expires_before_its_last_line_is_said_to() -> None:
    out = io.StringIO()
    lines = Lines(out, lambda: 0.0)
    late = replace(state(Status.IN_PROGRESS, 1), rate=2.0, eta_s=7_200, expires_s=3_600)
    lines.update(late)
    lines.update(replace(late, expires_s=7_200, status=Status.FINALIZING))
    lines.update(replace(late, expires_s=7_200))
    assert out.getvalue().splitlines() == [
        "in progress: 1 of 4 lines, 2.0 lines/s, 2 h 0 min left, but it expires in 1 h 0 min",
        "finalizing: 1 of 4 lines",
        "in progress: 1 of 4 lines, 2.0 lines/s, 2 h 0 min left",
    ]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["missing.jsonl", "-o", "o", "--upstream", "http://h/v1"], "does not exist"),
        (["IN", "-o", "o", "--upstream", "h:1/v1"], "must be a URL with its scheme"),
        (["IN", "-o", "o", "--upstream", "http://h/v1", "--endpoint", "/chat"], "must be one of /v1/chat/completions"),
        (["IN", "-o", "nowhere/o", "--upstream", "http://h/v1"], "must be a file in a folder that exists"),
        (["IN", "-o", "IN", "--upstream", "http://h/v1"], "must be another file than INPUT"),
        (["IN", "-o", "o", "--upstream", "http://h/v1", "--concurrency", "0"], "--concurrency"),
        (["IN", "-o", "o", "--upstream", "http://a/v1,http://b/v1"], "must be one URL"),
        (["IN", "-o", "o", "--upstream", "http://h/v1", "--max-wait", "0"], "--max-wait"),
        (["IN", "-o", "o"], "--upstream"),
    ],
)
def test_a_wrong_call_exits_2_and_says_why(
    arguments: list[str], fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HORNADA_UPSTREAM", raising=False)
    (tmp_path / "IN").write_text("{}\n")
    result = CliRunner().invoke(app, ["run", *arguments])
    assert result.exit_code == 2
    assert fault in " ".join(result.stderr.split())


def test_the_bar_is_drawn_on_a_terminal() -> None:
    program = (
        "import asyncio, sys, time\n"
        "from hornada.cli.progress import reporter, Block\n"
        "from hornada.core.batch import Status\n"
        "from hornada.core.run import Progress\n"
        "with reporter(sys.stderr, time.monotonic) as shown:\n"
        "    assert isinstance(shown, Block)\n"
        "    shown.update(Progress(total=9, completed=7, failed=1, status=Status.IN_PROGRESS))\n"
    )
    controller, terminal = os.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", program], stderr=terminal, check=True, env=environ)
    os.close(terminal)
    seen = os.read(controller, 65536).decode()
    os.close(controller)
    assert "8/9" in seen
    assert "1 failed" in seen
