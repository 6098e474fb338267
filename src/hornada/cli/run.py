"""``hornada run``: one file, no server."""

import json
import shlex
import sys
import time
from collections.abc import AsyncIterator, Collection, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from hornada.cli.asking import ColumnFlag, IdColumnFlag, ParamFlag, PromptFlag, SystemFlag, recipe
from hornada.cli.exit import ExitCode
from hornada.cli.progress import Reporter, reporter, spoken, summary
from hornada.core.batch import Status
from hornada.core.catalog import ENDPOINTS, MOST_PRICE, Price
from hornada.core.errors import HornadaError
from hornada.core.kinds import SECRET, URL
from hornada.core.run import Changed, Occupied, Progress, RunRequest, Unreachable

PriceInFlag = Annotated[
    float | None, typer.Option("--price-input", metavar="X", min=0, help="Price of a million input tokens.")
]
PriceOutFlag = Annotated[
    float | None, typer.Option("--price-output", metavar="X", min=0, help="Price of a million output tokens.")
]

_NO_REQUEST = "line 1: missing_required_parameter: Missing required parameter: 'body'."
EXAMPLES = (
    "hornada run requests.jsonl -o results.jsonl --upstream http://127.0.0.1:11434/v1",
    'hornada run reviews.csv -o labels.csv --upstream ... --prompt "Good or bad? {review}"',
    "hornada run reviews.parquet -o labels.parquet --upstream ... --column text --system @rules.txt",
    "hornada run requests.jsonl -o results.jsonl --upstream ... --retry-failed",
)


def _url(text: str) -> str:
    if len(text.replace(",", " ").split()) > 1:
        raise typer.BadParameter(f'must be one URL, not "{text}"')
    try:
        return cast("str", URL.read(text))
    except ValueError:
        raise typer.BadParameter(f'must be {URL.words}, not "{text}"') from None


def _key(text: str | None) -> str | None:
    if text and not SECRET.allows(text):
        raise typer.BadParameter(f"must be {SECRET.words}")
    return text


def _endpoint(text: str | None) -> str | None:
    if text is not None and text not in ENDPOINTS:
        raise typer.BadParameter(f'must be one of {", ".join(ENDPOINTS)}, not "{text}"')
    return text


def _output(path: Path) -> Path:
    if path.is_dir() or not path.parent.is_dir():
        raise typer.BadParameter(f'must be a file in a folder that exists, not "{path}"')
    return path


def run(
    context: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            exists=True,
            dir_okay=False,
            readable=True,
            help="JSONL of requests; or CSV, Parquet or JSONL of rows, with --prompt or --column.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            callback=_output,
            help="Where the results go: JSONL, CSV or Parquet, by its name.",
        ),
    ],
    upstream: Annotated[
        str,
        typer.Option(
            "--upstream",
            metavar="URL",
            envvar="HORNADA_UPSTREAM",
            callback=_url,
            help="Base URL of the model server, up to /v1.",
        ),
    ],
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Model to call, instead of what the lines say.")
    ] = None,
    prompt: PromptFlag = None,
    column: ColumnFlag = None,
    system: SystemFlag = None,
    param: ParamFlag = None,
    id_column: IdColumnFlag = None,
    concurrency: Annotated[int, typer.Option("--concurrency", metavar="N", min=1, help="Calls at once, at most.")] = 8,
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", metavar="PATH", callback=_endpoint, help="Endpoint, where the lines name none."),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            metavar="KEY",
            envvar="HORNADA_UPSTREAM_API_KEY",
            callback=_key,
            help="Key of the model server.",
        ),
    ] = None,
    max_wait: Annotated[
        float | None,
        typer.Option(
            "--max-wait",
            metavar="SECONDS",
            min=1,
            help="Stop when no line has got a result for so long; what is done is kept.  [default: wait without end]",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start anew; drop the results and the progress that are there.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run only what failed in OUT again, and put the new results there.")
    ] = False,
    price_input: PriceInFlag = None,
    price_output: PriceOutFlag = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing while it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON at the end.")] = False,
) -> None:
    """Run the requests of one file, without a server of our own.

    Results are in input order. Stopped half way, the same command goes on where it was; done already, it calls
    nothing. Results or progress of another input or model are not touched without --overwrite.
    """
    if output.exists() and output.samefile(source):
        raise typer.BadParameter("must be another file than INPUT", param_hint="--output")
    if overwrite and retry_failed:
        raise typer.BadParameter("cannot be given together with --overwrite", param_hint="--retry-failed")
    from hornada.client.tables import check_writable

    try:
        asked = recipe(
            source,
            prompt=prompt,
            column=column,
            system=system,
            params=param,
            id_column=id_column,
            model=model,
            endpoint=endpoint,
        )
        check_writable(output)
    except HornadaError as error:
        _say(str(error))
        raise typer.Exit(ExitCode.USAGE) from None
    request = RunRequest(
        input=str(source),
        output=str(output),
        upstream=upstream,
        model=model,
        endpoint=endpoint,
        concurrency=concurrency,
        api_key=api_key,
        max_wait=max_wait,
        overwrite=overwrite,
        recipe=asked,
        retry_failed=retry_failed,
        price=Price(input=_micros(price_input), output=_micros(price_output)),
    )
    texts = (("--prompt", prompt), ("--column", column), ("--system", system), ("--id-column", id_column))
    words = [(flag, value) for flag, value in texts if value is not None] + [("--param", each) for each in param or []]
    sources = {name: context.get_parameter_source(name) for name in _REPEATED}
    given = [name for name, found in sources.items() if found is not None and found.name == "COMMANDLINE"]
    from hornada.service import run_file

    watch = Watch()
    began = time.monotonic()
    shown = reporter(sys.stderr, time.monotonic, quiet=quiet)
    code = follow(run_file(request), request, shown, again(request, given, words), watch)
    if as_json:
        typer.echo(json.dumps(_summary(watch.last, request, time.monotonic() - began, code)))
    raise typer.Exit(code)


def _micros(price: float | None) -> int:
    return min(round((price or 0) * 1_000_000), MOST_PRICE)


def _summary(last: Progress | None, request: RunRequest, seconds: float, code: ExitCode) -> dict[str, Any]:
    """What ``--json`` prints; ``cost`` in micro-units."""
    found = last or Progress(total=0, completed=0, failed=0, status=Status.FAILED)
    return {
        "status": found.status.value,
        "output": request.output,
        "total": found.total,
        "completed": found.completed,
        "failed": found.failed,
        "failures": dict(found.kinds),
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
        "cost": found.cost,
        "seconds": round(seconds, 3),
        "already": found.already,
        "message": found.message,
        "exit_code": int(code),
    }


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


def follow(
    progress: AsyncIterator[Progress], request: RunRequest, shown: Reporter, command: str, watch: Watch | None = None
) -> ExitCode:
    """Shows a run to its end and tells how it ended; what the exit code says. ``command`` goes on with it."""
    watch = watch or Watch()
    try:
        with shown:
            _run(watch(progress, shown))
    except KeyboardInterrupt:
        _say(f"Interrupted. {_kept(watch.last)} To go on: {command}")
        return ExitCode.INTERRUPTED
    except Unreachable as error:
        _say(f"{error} {_kept(watch.last)} To go on: {command}")
        return ExitCode.UNREACHABLE
    except Occupied as error:
        _say(f"{error} Nothing was run. To drop that and start anew: --overwrite. To keep it: another -o.")
        return ExitCode.USAGE
    except Changed as error:
        _say(str(error))
        return ExitCode.USAGE
    return _ended(watch.last, request)


def _run(job: Coroutine[Any, Any, None]) -> None:
    import asyncio

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(job)


def _ended(last: Progress | None, request: RunRequest) -> ExitCode:
    if last is None or last.status is Status.FAILED:
        _say("Nothing was run: " + ((last and last.message) or "the file was not accepted."))
        if last and request.recipe is None and _NO_REQUEST in (last.message or ""):
            _say("If these are rows, and no requests: say what to ask of each, with --prompt or --column.")
        return ExitCode.USAGE
    if last.already:
        failed = f"{last.failed} failed"
        _say(f"already done: {last.total} lines, {failed}. Results: {request.output}. To run it again: --overwrite.")
    else:
        _say(f"{spoken(last)}. Results: {request.output}")
    for line in (*summary(last), *([last.message] if last.message else [])):
        _say(line)
    if last.failed:
        _say("To run what failed again: the same command with --retry-failed.")
    return ExitCode.SOME_FAILED if last.failed or last.status is not Status.COMPLETED else ExitCode.DONE


def _kept(last: Progress | None) -> str:
    done = last.completed + last.failed if last else 0
    return f"{done} of {last.total} lines are done and kept." if last and last.total else "No line has run yet."


_REPEATED = {
    "upstream": "--upstream",
    "model": "--model",
    "concurrency": "--concurrency",
    "endpoint": "--endpoint",
    "max_wait": "--max-wait",
}


def again(request: RunRequest, given: Collection[str], more: Collection[tuple[str, str]] = ()) -> str:
    """The command that goes on with a run, which names its key but never shows it.

    ``given``: the settings that were flags, and so are flags again. ``more``: further flags with their values.
    """
    words = ["hornada", "run", request.input, "-o", request.output]
    for name, flag in _REPEATED.items():
        if name in given:
            value = getattr(request, name)
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    for flag, value in more:
        words += [flag, value]
    return ("HORNADA_UPSTREAM_API_KEY=... " if request.api_key else "") + shlex.join(words)


def _say(text: str) -> None:
    typer.echo(text, err=True)
