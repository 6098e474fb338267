"""``hornada run``: one file, no server."""

import shlex
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from hornada.cli.exit import ExitCode
from hornada.cli.progress import Reporter, reporter, spoken
from hornada.core.batch import Status
from hornada.core.catalog import ENDPOINTS
from hornada.core.kinds import URL
from hornada.core.run import Progress, RunRequest, Unreachable


def _url(text: str) -> str:
    try:
        return cast("str", URL.read(text))
    except ValueError:
        raise typer.BadParameter(f'must be {URL.words}, not "{text}"') from None


def _endpoint(text: str | None) -> str | None:
    if text is not None and text not in ENDPOINTS:
        raise typer.BadParameter(f'must be one of {", ".join(ENDPOINTS)}, not "{text}"')
    return text


def _output(path: Path) -> Path:
    if path.is_dir() or not path.parent.is_dir():
        raise typer.BadParameter(f'must be a file in a folder that exists, not "{path}"')
    return path


def run(
    source: Annotated[
        Path,
        typer.Argument(metavar="INPUT", exists=True, dir_okay=False, readable=True, help="JSONL file of requests."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", callback=_output, help="Where the results go.")
    ],
    upstream: Annotated[
        str, typer.Option("--upstream", metavar="URL", callback=_url, help="Base URL of the model server, up to /v1.")
    ],
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Model to call, instead of what the lines say.")
    ] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", metavar="N", min=1, help="Calls at once, at most.")] = 8,
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", metavar="PATH", callback=_endpoint, help="Endpoint, where the lines name none."),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option("--api-key", metavar="KEY", envvar="HORNADA_UPSTREAM_API_KEY", help="Key of the model server."),
    ] = None,
) -> None:
    """Run the requests of one file against a model server, without a server of our own.

    Results are in input order. Stopped half way, the same command goes on where it was.
    """
    if output.exists() and output.samefile(source):
        raise typer.BadParameter("must be another file than INPUT", param_hint="--output")
    request = RunRequest(
        input=str(source),
        output=str(output),
        upstream=upstream,
        model=model,
        endpoint=endpoint,
        concurrency=concurrency,
        api_key=api_key,
    )
    from hornada.service import run_file

    raise typer.Exit(follow(run_file(request), request, reporter(sys.stderr, time.monotonic)))


class Watch:
    """Follows a run and keeps the last that was heard of it."""

    def __init__(self) -> None:
        self.last: Progress | None = None

    async def __call__(self, progress: AsyncIterator[Progress], shown: Reporter) -> None:
        """Hears the run out. The generator is closed whatever happens, so that what is done is kept."""
        async with aclosing(cast("Any", progress)) as states:
            async for state in states:
                self.last = state
                shown.update(state)


def follow(progress: AsyncIterator[Progress], request: RunRequest, shown: Reporter) -> ExitCode:
    """Shows a run to its end and tells how it ended; what the exit code says."""
    watch = Watch()
    try:
        with shown:
            _run(watch(progress, shown))
    except KeyboardInterrupt:
        _say(f"Interrupted. {_kept(watch.last)} To go on: {again(request)}")
        return ExitCode.INTERRUPTED
    except Unreachable as error:
        _say(f"{error} {_kept(watch.last)} To go on: {again(request)}")
        return ExitCode.UNREACHABLE
    return _ended(watch.last, request)


def _run(job: Coroutine[Any, Any, None]) -> None:
    import asyncio

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(job)


def _ended(last: Progress | None, request: RunRequest) -> ExitCode:
    if last is None or last.status is Status.FAILED:
        _say("Nothing was run: " + ((last and last.message) or "the file was not accepted."))
        return ExitCode.USAGE
    _say(f"{spoken(last)}. Results: {request.output}")
    if last.message:
        _say(last.message)
    return ExitCode.SOME_FAILED if last.failed or last.status is not Status.COMPLETED else ExitCode.DONE


def _kept(last: Progress | None) -> str:
    done = last.completed + last.failed if last else 0
    return f"{done} of {last.total} lines are done and kept." if last and last.total else "No line has run yet."


def again(request: RunRequest) -> str:
    """The command that goes on with a run, without its key."""
    words = ["hornada", "run", request.input, "-o", request.output, "--upstream", request.upstream]
    if request.model:
        words += ["--model", request.model]
    if request.endpoint:
        words += ["--endpoint", request.endpoint]
    return shlex.join([*words, "--concurrency", str(request.concurrency)])


def _say(text: str) -> None:
    typer.echo(text, err=True)
