"""One file run without a server."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from hornada.core.batch import Status
from hornada.core.run import Progress, RunRequest, Unreachable
from hornada.service.onefile import run_file
from tests.engine.house import line, texts
from tests.engine.model_server import ModelServer, Say, listening

ASKED = texts(30)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    server = ModelServer()
    server.models = ["m"]
    return server


@pytest.fixture
async def request_(server: ModelServer, tmp_path: Path) -> AsyncIterator[RunRequest]:
    (tmp_path / "in.jsonl").write_bytes(b"".join(map(line, ASKED)))
    async with listening(server) as url:
        yield RunRequest(
            input=str(tmp_path / "in.jsonl"), output=str(tmp_path / "out.jsonl"), upstream=url, concurrency=4
        )


async def run(request: RunRequest) -> Progress:
    """Runs to the end; the last word."""
    last = [progress async for progress in run_file(request)][-1]
    assert last.status in {Status.COMPLETED, Status.FAILED}
    return last


async def run_until(request: RunRequest, completed: int) -> None:
    """Stops a run as soon as so many lines are done."""
    steps = cast("AsyncGenerator[Progress, None]", run_file(request))
    async for progress in steps:
        if progress.completed >= completed:
            break
    await steps.aclose()


def results(request: RunRequest) -> list[dict[str, Any]]:
    return [msgspec.json.decode(each) for each in Path(request.output).read_bytes().splitlines()]


async def test_results_are_in_input_order_with_failures_among_them(server: ModelServer, request_: RunRequest) -> None:
    server.script = lambda text, nth: Say(400) if text.endswith("3") else Say()
    last = await run(request_)
    assert (last.status, last.total, last.completed, last.failed) == (Status.COMPLETED, 30, 27, 3)
    found = results(request_)
    assert [each["custom_id"] for each in found] == ASKED
    assert [each["response"]["status_code"] for each in found] == [400 if t.endswith("3") else 200 for t in ASKED]
    assert sorted(path.name for path in Path(request_.output).parent.iterdir()) == ["in.jsonl", "out.jsonl"]
    assert server.most_open <= 4


async def test_a_run_that_was_stopped_goes_on_and_sends_nothing_again_that_was_done(
    server: ModelServer, request_: RunRequest
) -> None:
    server.script = lambda text, nth: Say(400) if text.endswith("3") else Say()
    slow = {"t0012", "t0017", "t0025"}
    original = server._answer

    async def answer(*args: Any) -> Say | None:
        server.holding = msgspec.json.decode(args[1])["messages"][0]["content"] in slow if args[1] else False
        return await original(*args)

    server._answer = answer  # type: ignore[method-assign]
    await run_until(request_, 20)
    assert not Path(request_.output).exists()
    assert server.total == 30
    before = dict(server.calls)
    slow.clear()
    assert (await run(request_)).completed == 27
    assert [each["custom_id"] for each in results(request_)] == ASKED
    assert {text for text, calls in server.calls.items() if calls > before[text]} == {"t0012", "t0017", "t0025"}


async def test_a_run_that_was_stopped_before_its_output_was_written_sends_nothing_at_all(
    server: ModelServer, request_: RunRequest
) -> None:
    steps = cast("AsyncGenerator[Progress, None]", run_file(request_))
    async for progress in steps:
        if progress.message == "writing results":
            break
    await steps.aclose()
    assert not Path(request_.output).exists()
    assert (await run(request_)).completed == 30
    assert dict(server.calls) == dict.fromkeys(ASKED, 1)
    assert [each["custom_id"] for each in results(request_)] == ASKED


async def test_another_input_under_the_same_name_is_run_anew(server: ModelServer, request_: RunRequest) -> None:
    server.holding = True
    steps = cast("AsyncGenerator[Progress, None]", run_file(request_))
    async for _ in steps:
        if server.total >= 4:
            break
    await steps.aclose()
    server.holding = False
    Path(request_.input).write_bytes(line("other"))
    before = server.total
    assert (await run(request_)).total == 1
    assert [each["custom_id"] for each in results(request_)] == ["other"]
    assert server.total == before + 1, "nothing more of the first input was sent"


async def test_a_server_that_does_not_answer_is_said_to_at_the_start_and_the_run_can_be_begun_again(
    server: ModelServer, request_: RunRequest
) -> None:
    async with listening(ModelServer()) as gone:
        pass
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        await run(replace(request_, upstream=gone))
    assert (await run(request_)).status is Status.COMPLETED


async def test_two_runs_do_not_share_an_output(server: ModelServer, request_: RunRequest) -> None:
    first = cast("AsyncGenerator[Progress, None]", run_file(request_))
    await anext(first)
    refused = await run(request_)
    assert refused.status is Status.FAILED
    assert "in use" in (refused.message or "")
    last = [progress async for progress in first][-1]
    assert last.completed == 30


async def test_a_bad_file_says_all_that_is_wrong_with_it_and_leaves_nothing(
    server: ModelServer, request_: RunRequest
) -> None:
    Path(request_.input).write_bytes(line("a") + b"{]\n" + line("a"))
    last = await run(request_)
    assert last.status is Status.FAILED
    assert [each.split(":")[0] for each in (last.message or "").splitlines()] == ["line 2", "line 3"]
    assert server.total == 0
    assert [path.name for path in Path(request_.output).parent.iterdir()] == ["in.jsonl"]


async def test_an_empty_file_is_refused(request_: RunRequest) -> None:
    Path(request_.input).write_bytes(b"")
    last = await run(request_)
    assert (last.status, last.total) == (Status.FAILED, 0)
    assert "empty" in (last.message or "")


async def test_a_model_may_be_run_under_whatever_name_the_lines_use(server: ModelServer, request_: RunRequest) -> None:
    server.models = ["real"]
    Path(request_.input).write_bytes(line("a", model="gpt-4o"))
    assert (await run(replace(request_, model="real"))).completed == 1
    assert (await run(replace(request_, output=request_.output + "2"))).status is Status.FAILED
