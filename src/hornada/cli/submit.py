"""``hornada submit``: makes a batch of a file."""

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornada.cli.asking import ColumnFlag, IdColumnFlag, ParamFlag, PromptFlag, SystemFlag, recipe
from hornada.cli.exit import ExitCode
from hornada.cli.progress import reporter
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
    say,
    sending,
    show,
    told,
)
from hornada.cli.watch import follow, tell
from hornada.core.errors import HornadaError

if TYPE_CHECKING:
    from hornada.client import Batch, Client, Refused

EXAMPLES = (
    "hornada submit requests.jsonl --wait -o results.jsonl",
    "BATCH=$(hornada submit requests.jsonl --metadata project=atlas)",
    'hornada submit reviews.csv --model NAME --prompt "Good or bad? {review}" --wait',
    "hornada submit huge.jsonl --split -o results.jsonl",
)
_LINES = 50_000
"""Of a part, if nothing else is said."""


def submit(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="JSONL of requests; or a table, with --prompt or --column; - is standard input."
        ),
    ],
    wait: Annotated[bool, typer.Option("--wait", help="Follow it to its end, as hornada watch does.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="Wait, and write the results there at the end.")
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
    split: Annotated[bool, typer.Option("--split", help="Several batches, if the file is too large for one.")] = False,
    lines: Annotated[
        int | None,
        typer.Option("--lines", metavar="N", min=1, help="Lines of each, at most; --split.  [default: 50000]"),
    ] = None,
    max_wait: MaxWaitFlag = WATCHED_S,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a batch of a file of requests.

    Prints the id of the batch. Works with OpenAI and every server that speaks its Files and Batch API.
    """
    if lines is not None and not split:
        raise typer.BadParameter("needs --split: it says how large the parts are", param_hint="--lines")
    made: list[Batch] = []
    with (
        told(lambda: _interrupted(made)),
        _requests(source, prompt, column, system, param, id_column, model, endpoint) as path,
        tempfile.TemporaryDirectory(prefix="hornada-") as folder,
    ):
        check_output(output)
        client = connect(base_url, api_key, patience_s=max_wait, quiet=quiet)
        named = pairs(metadata)
        parts = _parts(path, Path(folder), lines or _LINES, cut=split)
        follows = wait or output is not None
        room = _Room(client, made, quiet=quiet) if follows else None
        for part in parts:
            with _counted(made, parts):
                made.append(_submit(client, part, endpoint, named, room, idempotent=idempotent, quiet=quiet))
            if not as_json:
                typer.echo(made[-1].id)
        if not follows:
            for batch in made if as_json else ():
                show(batch.raw)
            raise typer.Exit(ExitCode.DONE)
        ended = follow(client, [batch.id for batch in made], reporter(sys.stderr, time.monotonic, quiet=quiet))
        code = max(map(outcome, ended))
        if as_json:
            for batch in ended:
                show(batch.raw)
        elif not quiet or code is ExitCode.USAGE:
            tell(ended, "" if split else str(source), fetched=output is not None)
        if output is not None and any(outcome(batch) is not ExitCode.USAGE for batch in ended):
            _write(client, ended, output, source, path, parts, id_column, quiet=quiet)
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
            from hornada.client.strange import refuse_strange

            refuse_strange(source)
            yield source
            return
        if asked.model is None:
            raise typer.BadParameter("is needed for the rows of a table", param_hint="--model")
        from hornada.client.tables import open_table

        path = Path(folder) / f"{source.stem}.jsonl"
        with path.open("wb") as out:
            out.writelines(asked.requests(open_table(source)))
        yield path


def _parts(path: Path, folder: Path, lines: int, *, cut: bool) -> list[Path]:
    if not cut:
        return [path]
    from hornada.client import split

    _check_ids(path)
    return [part.path for part in split(path, folder, most_lines=lines)]


def _check_ids(path: Path) -> None:
    """Raises BadInput where two lines have one id: no server would see that of lines in two batches."""
    from hornada.client import BadInput
    from hornada.client.order import requests

    seen = set[str]()
    with path.open("rb") as source:
        for custom_id, _ in requests(source):
            if custom_id in seen:
                raise BadInput(f"{path}: The custom_id '{custom_id}' is that of several lines; see hornada check.")
            seen.add(custom_id)


@contextmanager
def _counted(made: "list[Batch]", parts: list[Path]) -> Iterator[None]:
    """Says of parts how many were sent, where another cannot be."""
    try:
        yield
    except HornadaError:
        if made:
            say(f"{len(made)} of {len(parts)} parts were sent. {_goes_on(made)}")
        raise


def _submit(
    client: "Client",
    path: Path,
    endpoint: str | None,
    metadata: dict[str, str],
    room: "_Room | None",
    *,
    idempotent: bool,
    quiet: bool,
) -> "Batch":
    sent = sending(path, quiet=quiet)
    return client.submit(
        path,
        endpoint=endpoint,
        metadata=metadata,
        idempotent=idempotent,
        on_sent=sent,
        on_full=None if room is None else room.wait,
    )


class _Room:
    """Waits for room where batches of our own may be what takes it."""

    def __init__(self, client: "Client", made: "list[Batch]", *, quiet: bool) -> None:
        self._client = client
        self._made = made
        self._quiet = quiet
        self._ended = set[str]()

    def wait(self, refused: "Refused") -> None:
        """Returns when one more of them has ended; raises what was said where none is left."""
        live = [batch.id for batch in self._made if batch.id not in self._ended]
        if not live:
            raise refused
        if not self._quiet:
            say(f"{refused} The next part is sent when a batch has ended.")
        for batches in self._client.watch_all(live):
            ended = {batch.id for batch in batches if batch.ended}
            if ended:
                self._ended |= ended
                return


def _write(
    client: "Client",
    batches: "Sequence[Batch]",
    output: Path,
    source: Path,
    path: Path,
    parts: list[Path],
    id_column: str | None,
    *,
    quiet: bool,
) -> None:
    """Writes the results. ``path``: the requests, made of ``source`` or the same; ``parts``: of it, one a batch."""
    from hornada.cli.results import write

    table = None if path == source or source.name == "-" else source
    ids = [batch.id for batch in batches]
    counted = write(client, ids, output, source=table, parts=() if table else parts, id_column=id_column)
    if not quiet:
        say(f"Results: {output}{counted.cut}")


def _interrupted(made: "list[Batch]") -> str:
    return f"What was made goes on. {_goes_on(made)}" if made else "No batch was made."


def _goes_on(made: "list[Batch]") -> str:
    ids = " ".join(batch.id for batch in made)
    return f"To follow what goes on: hornada watch {ids}. To end it: hornada cancel {ids}"
