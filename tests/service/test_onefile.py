"""One file run without a server."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from hornada.core.batch import Status
from hornada.core.run import Occupied, Progress, RunRequest, Unreachable
from hornada.service import runnote
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
    assert sorted(path.name for path in Path(request_.output).parent.iterdir()) == [
        "in.jsonl",
        "out.jsonl",
        "out.jsonl.hornada",
    ]
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


async def test_a_run_that_was_stopped_while_its_output_was_written_writes_it_again(
    server: ModelServer, request_: RunRequest
) -> None:
    steps = cast("AsyncGenerator[Progress, None]", run_file(request_))
    async for progress in steps:
        if progress.message == "writing results":
            break
    await steps.aclose()
    folder = Path(request_.output + ".hornada")
    kept = runnote.read(folder)
    assert kept is not None
    runnote.write(folder, replace(kept, replaces=True))
    Path(request_.output).write_bytes(b"half of")
    assert (await run(request_)).completed == 30
    assert [each["custom_id"] for each in results(request_)] == ASKED


async def test_a_run_that_is_done_calls_nothing_and_says_what_came_of_it(
    server: ModelServer, request_: RunRequest
) -> None:
    server.script = lambda text, nth: Say(400) if text.endswith("3") else Say()
    first = await run(request_)
    again = await run(replace(request_, upstream="http://127.0.0.1:1/v1", model="m", concurrency=1))
    assert again == replace(first, already=True)
    assert server.total == 30


async def test_a_run_whose_output_was_taken_away_is_run_anew(server: ModelServer, request_: RunRequest) -> None:
    await run(request_)
    Path(request_.output).unlink()
    assert not (await run(request_)).already
    Path(request_.output).write_bytes(b"")
    assert not (await run(request_)).already
    assert server.total == 90


async def stop_early(server: ModelServer, request: RunRequest) -> None:
    """Leaves progress of a run, without output."""
    server.holding = True
    steps = cast("AsyncGenerator[Progress, None]", run_file(request))
    async for _ in steps:
        if server.total >= 4:
            break
    await steps.aclose()
    server.holding = False


async def test_progress_of_another_input_is_kept_until_it_may_be_dropped(
    server: ModelServer, request_: RunRequest
) -> None:
    await stop_early(server, request_)
    first = Path(request_.input).read_bytes()
    Path(request_.input).write_bytes(line("other"))
    with pytest.raises(Occupied, match=r"keeps 0 of 30 lines of an earlier in\.jsonl"):
        await run(request_)
    Path(request_.input).write_bytes(first)
    with pytest.raises(Occupied, match=r"keeps .* of this input with another model, m\."):
        await run(replace(request_, model="n"))
    Path(request_.input).write_bytes(line("other"))
    before = server.total
    assert (await run(replace(request_, overwrite=True))).total == 1
    assert [each["custom_id"] for each in results(request_)] == ["other"]
    assert server.total == before + 1, "nothing more of the first input was sent"


@pytest.mark.parametrize(
    ("change", "says"),
    [({"model": "other"}, "with another model, m"), ({"endpoint": "/v1/completions"}, "at another endpoint, /v1/chat")],
)
async def test_results_of_another_run_are_not_replaced(request_: RunRequest, change: dict[str, str], says: str) -> None:
    await run(request_)
    with pytest.raises(Occupied, match=f"holds the 30 results of this input {says}"):
        await run(replace(request_, **change))
    assert len(results(request_)) == 30


async def test_an_output_that_is_not_of_a_run_is_not_replaced(server: ModelServer, request_: RunRequest) -> None:
    Path(request_.output).write_bytes(b"mine")
    with pytest.raises(Occupied, match="no run of hornada is known to have written it"):
        await run(request_)
    assert Path(request_.output).read_bytes() == b"mine"
    assert [path.name for path in Path(request_.output).parent.iterdir() if path.is_dir()] == []
    Path(request_.output).write_bytes(b"")
    assert (await run(request_)).completed == 30
    with Path(request_.output).open("ab") as output:
        output.write(b"more")
    with pytest.raises(Occupied, match="was changed since"):
        await run(request_)
    assert server.total == 30


async def test_what_is_overwritten_stands_until_the_new_results_are_there(
    server: ModelServer, request_: RunRequest
) -> None:
    Path(request_.output).write_bytes(b"mine")
    await stop_early(server, replace(request_, overwrite=True))
    assert Path(request_.output).read_bytes() == b"mine"
    assert (await run(request_)).completed == 30, "the same command without --overwrite goes on"
    assert len(results(request_)) == 30


@pytest.mark.parametrize(("key", "says"), [("sk-x", "the key was refused"), (None, "it wants a key")])
async def test_a_server_that_refuses_the_key_is_told_as_such(
    server: ModelServer, request_: RunRequest, key: str | None, says: str
) -> None:
    server.models_status = 401
    with pytest.raises(Unreachable, match=f"status 401: {says}"):
        await run(replace(request_, api_key=key, model="m"))


async def test_a_server_that_fails_every_call_is_waited_for_and_said_so(
    server: ModelServer, request_: RunRequest
) -> None:
    server.script = lambda text, nth: Say(500)
    steps = cast("AsyncGenerator[Progress, None]", run_file(request_))
    async for progress in steps:
        if progress.message:
            break
    assert progress.message == "m does not answer, or fails every call; waiting"
    server.script = lambda text, nth: Say()
    last = [progress async for progress in steps][-1]
    assert (last.status, last.completed) == (Status.COMPLETED, 30)


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


@pytest.mark.parametrize(
    "url", ["/v1/nope", "//evil/x", "/v1/chat/completions?x=1", "/v1/chat/completions\r\nX-Evil: 1", "/" * 500]
)
async def test_a_file_for_an_endpoint_that_is_none_is_refused(
    server: ModelServer, request_: RunRequest, url: str
) -> None:
    text = msgspec.json.encode({"custom_id": "a", "method": "POST", "url": url, "body": {"model": "m"}})
    Path(request_.input).write_bytes(text + b"\n")
    last = await run(request_)
    assert (last.status, last.total, server.total) == (Status.FAILED, 0, 0)
    assert last.message is not None
    assert "must be one of /v1/chat/completions, " in last.message
    assert "\n" not in last.message
    assert sorted(path.name for path in Path(request_.output).parent.iterdir()) == ["in.jsonl"]


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
