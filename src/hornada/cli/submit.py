"""``hornada submit``: makes a batch of a file."""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornada.cli.asking import ColumnFlag, IdColumnFlag, ParamFlag, PromptFlag, SystemFlag, recipe
from hornada.cli.exit import ExitCode
from hornada.cli.progress import reporter, spoken
from hornada.cli.remote import (
    WATCHED_S,
    ApiKeyFlag,
    BaseUrlFlag,
    JsonFlag,
    MaxWaitFlag,
    MetadataFlag,
    QuietFlag,
    check_output,
    connect,
    outcome,
    pairs,
    progress,
    say,
    sending,
    show,
    tell_faults,
    told,
)
from hornada.cli.watch import follow, tell

if TYPE_CHECKING:
    from hornada.client import Batch, Client

EXAMPLES = (
    "hornada submit requests.jsonl --wait -o results.jsonl",
    "BATCH=$(hornada submit requests.jsonl --metadata project=atlas)",
    'hornada submit reviews.csv --model NAME --prompt "Good or bad? {review}" --wait',
    "hornada submit huge.jsonl --split --wait",
)


def submit(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="JSONL of requests; or a table, with --prompt or --column; - is standard input."
        ),
    ],
    wait: Annotated[bool, typer.Option("--wait", help="Follow it to its end, as hornada watch does.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="Write the results there at the end; --wait.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="PATH", help="[default: what the first line's url says]")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Model to ask, for the rows of a table.")
    ] = None,
    prompt: PromptFlag = None,
    column: ColumnFlag = None,
    system: SystemFlag = None,
    param: ParamFlag = None,
    id_column: IdColumnFlag = None,
    metadata: MetadataFlag = None,
    idempotent: Annotated[
        bool, typer.Option("--idempotent", help="The same file again gives the batch that there is.")
    ] = False,
    split: Annotated[
        bool, typer.Option("--split", help="Several batches where the file is too large for one.")
    ] = False,
    max_wait: MaxWaitFlag = WATCHED_S,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a batch of a file of requests.

    Prints the id of the batch. Works with OpenAI and every server that speaks its Files and Batch API.
    """
    if split and output is not None:
        raise typer.BadParameter("cannot be given together with --split", param_hint="--output")
    made: list[Batch] = []
    with (
        told(lambda: _interrupted(made)),
        _requests(source, prompt, column, system, param, id_column, model, endpoint) as path,
        tempfile.TemporaryDirectory(prefix="hornada-") as folder,
    ):
        check_output(output)
        client = connect(base_url, api_key, patience_s=max_wait, quiet=quiet)
        named = pairs(metadata)
        for part in _parts(path, Path(folder), cut=split):
            _submit(client, part, made, endpoint, named, idempotent=idempotent, quiet=quiet)
            if not as_json:
                typer.echo(made[-1].id)
        if not (wait or output):
            for batch in made if as_json else ():
                show(batch.raw)
            raise typer.Exit(ExitCode.DONE)
        fetched = output is not None
        code = max(_followed(client, batch.id, source, quiet, as_json, fetched=fetched) for batch in made)
        if output is not None and code is not ExitCode.USAGE:
            _write(client, made[0].id, output, source, path, id_column, quiet=quiet)
    raise typer.Exit(code)


@contextmanager
def _requests(
    source: Path,
    prompt: str | None,
    column: str | None,
    system: str | None,
    params: list[str] | None,
    id_column: str | None,
    model: str | None,
    endpoint: str | None,
) -> Iterator[Path]:
    """The file of requests: the source itself, what stands on standard input, or what a table is made into."""
    if str(source) != "-" and not source.is_file():
        raise typer.BadParameter(f'there is no file "{source}"', param_hint="FILE")
    with tempfile.TemporaryDirectory(prefix="hornada-") as folder:
        if str(source) == "-":
            source = Path(folder) / "stdin.jsonl"
            with source.open("wb") as copy:
                while piece := sys.stdin.buffer.read(1 << 20):
                    copy.write(piece)
        asked = recipe(
            source,
            prompt=prompt,
            column=column,
            system=system,
            params=params,
            id_column=id_column,
            model=model,
            endpoint=endpoint,
        )
        if asked is None:
            yield source
            return
        if asked.model is None:
            raise typer.BadParameter("is needed for the rows of a table", param_hint="--model")
        from hornada.client.tables import open_table

        path = Path(folder) / f"{source.stem}.jsonl"
        with path.open("wb") as out:
            out.writelines(asked.requests(open_table(source)))
        yield path


def _parts(path: Path, folder: Path, *, cut: bool) -> list[Path]:
    if not cut:
        return [path]
    from hornada.client import split

    return [part.path for part in split(path, folder, by_model=False)]


def _submit(
    client: "Client",
    path: Path,
    made: "list[Batch]",
    endpoint: str | None,
    metadata: dict[str, str],
    *,
    idempotent: bool,
    quiet: bool,
) -> None:
    sent = sending(path, quiet=quiet)
    made.append(client.submit(path, endpoint=endpoint, metadata=metadata, idempotent=idempotent, on_sent=sent))


def _followed(client: "Client", batch_id: str, source: Path, quiet: bool, as_json: bool, *, fetched: bool) -> ExitCode:
    found = follow(client, batch_id, reporter(sys.stderr, time.monotonic, quiet=quiet))
    if as_json:
        show(found.raw)
    elif outcome(found) is ExitCode.USAGE:
        say(f"{found.id} {spoken(progress(found))}: nothing ran.")
        tell_faults(found, str(source))
    elif not quiet:
        tell(found, fetched=fetched)
    return outcome(found)


def _write(
    client: "Client", batch_id: str, output: Path, source: Path, path: Path, id_column: str | None, *, quiet: bool
) -> None:
    from hornada.cli.results import write

    table = path if path == source or source.name == "-" else source
    write(client, batch_id, output, source=table, id_column=id_column)
    if not quiet:
        say(f"Results: {output}")


def _interrupted(made: "list[Batch]") -> str:
    if not made:
        return "No batch was made."
    ids, last = " ".join(batch.id for batch in made), made[-1].id
    return f"What was made goes on: {ids}. To follow it: hornada watch {last}. To end it: hornada cancel {last}"
