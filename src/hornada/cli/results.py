"""``hornada results``: what became of every line, in the order of the input."""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornada.cli.exit import ExitCode
from hornada.cli.remote import (
    PATIENCE_S,
    ApiKeyFlag,
    BaseUrlFlag,
    BatchesArgument,
    JsonFlag,
    MaxWaitFlag,
    QuietFlag,
    check_output,
    connect,
    printed,
    say,
    show,
    told,
)

if TYPE_CHECKING:
    from hornada.client import Client
    from hornada.client.tables import Table
    from hornada.core.result import Result

    Pairs = Generator[tuple[dict[str, Any], Result | None], None, None]

EXAMPLES = (
    "hornada results batch_... -o results.jsonl",
    "hornada results batch_... --failed",
    "hornada results batch_... -o answers.csv --input questions.csv",
    'hornada results "$BATCHES" -o results.jsonl',
)
_FORMATS = ("jsonl", "csv", "parquet")


def _format(text: str | None) -> str | None:
    if text is not None and text not in _FORMATS:
        raise typer.BadParameter(f'must be one of {", ".join(_FORMATS)}, not "{text}"')
    return text


InputFlag = Annotated[
    Path | None,
    typer.Option(
        "--input",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="The requests, or the table that they were made from, on this machine.",
    ),
]


def results(
    batch: BatchesArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="File to write.  [default: standard output]"),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only the lines that were not answered.")] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="jsonl|csv|parquet", callback=_format, help="Instead of what OUT's name says."
        ),
    ] = None,
    source: InputFlag = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id-column", metavar="NAME", help="Where a table's rows have their ids.  [default: row-1 ...]"),
    ] = None,
    max_wait: MaxWaitFlag = PATIENCE_S,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Write the results of a batch that has ended.

    Every line of the input, in that order; of several batches, one behind the other. JSONL holds the result lines as
    the server wrote them; CSV and Parquet a row for each line: its id or its row of --input, the answer's text, tokens,
    and what went wrong. Exit code 1 when lines failed. Of a batch that runs those that there are so far, where the
    server gives them.
    """
    if output is None and form == "parquet":
        raise typer.BadParameter("needs a file to write: -o OUT", param_hint="--format")
    if as_json and output is None:
        raise typer.BadParameter("prints a summary, and so needs a file for the results: -o OUT", param_hint="--json")
    with told():
        check_output(output, form)
        client = connect(base_url, api_key, patience_s=max_wait, quiet=quiet)
        counted = write(client, batch, output, form, failed_only=failed, source=source, id_column=id_column)
        failures = counted.failures
        if as_json:
            some = {"answered": counted.answered, "cut_off": counted.cut_off, "failed": failures.total()}
            show({"output": str(output), **some, "failures": failures})
        elif not quiet and output is not None:
            say(f"{counted}: {output}")
    raise typer.Exit(ExitCode.SOME_FAILED if failures else ExitCode.DONE)


class Counted:
    """How many lines were answered, how many of the answers were cut off, and failures by kind."""

    def __init__(self) -> None:
        self.answered = self.cut_off = 0
        self.failures: Counter[str] = Counter()

    def add(self, result: "Result | None") -> None:
        """One more line; None: it has no result."""
        if result is None or not result.ok:
            self.failures["no result" if result is None else result.kind] += 1
            return
        self.answered += 1
        self.cut_off += result.cut_off

    @property
    def cut(self) -> str:
        """What is to be said of answers that were cut off, for people."""
        return f" ({self.cut_off:,} cut off at their limit of tokens)" if self.cut_off else ""

    def __str__(self) -> str:
        """The same for people."""
        kinds = ", ".join(f"{count:,}x {kind}" for kind, count in self.failures.most_common())
        return f"{self.answered:,} answered{self.cut}, {self.failures.total():,} failed{f' ({kinds})' if kinds else ''}"


def write(
    client: "Client",
    batch_ids: Sequence[str],
    output: Path | None,
    form: str | None = None,
    *,
    failed_only: bool = False,
    source: Path | None = None,
    parts: Sequence[Path] = (),
    id_column: str | None = None,
) -> Counted:
    """Writes results, those of several batches behind one another.

    ``source``: all requests, or the table that they were made of, in whose order they are written; else ``parts``: the
    requests of each batch, where they lie on this machine.
    """
    from hornada.client.partial import whole
    from hornada.client.tables import is_table, open_table

    like = Path(f"x.{form}") if form else (output or Path("x.jsonl"))
    table = open_table(source) if source and (is_table(source) or id_column) else None
    near = None if output is None else output.absolute().parent
    found = (
        _beside(client, batch_ids, source, table, id_column, near) if source else _each(client, batch_ids, parts, near)
    )
    with closing(found) as pairs:
        some = (pair for pair in pairs if not failed_only or pair[1] is None or not pair[1].ok)
        if output is None:
            return _print(some, form, table)
        with whole(output) as partial:
            return _write(some, partial, like, table)


def _each(client: "Client", batch_ids: Sequence[str], parts: Sequence[Path], near: Path | None) -> "Pairs":
    """The lines of one batch after the other, and their results."""
    for batch_id, part in zip_longest(batch_ids, parts):
        with client.collected(batch_id, part, near) as found:
            for custom_id in found.ids():
                yield {"custom_id": custom_id}, found.results.get(custom_id)


def _beside(
    client: "Client",
    batch_ids: Sequence[str],
    source: Path,
    table: "Table | None",
    id_column: str | None,
    near: Path | None,
) -> "Pairs":
    """The rows or requests of a file, and their results, whichever batch has them; of several an answer."""
    from hornada.client import BadInput

    met = 0
    with ExitStack() as stack:
        found = [stack.enter_context(client.collected(each, source, near)).results for each in batch_ids]
        for row, custom_id in _ids(source, table, id_column):
            some = [result for pool in found if (result := pool.get(custom_id)) is not None]
            result = next((each for each in some if each.ok), some[-1] if some else None)
            met += result is not None
            yield row, result
    if table is not None and not met:
        named = " ".join(batch_ids)
        raise BadInput(f"No row of --input has a result in {named}: say with --id-column where its ids are.")


def _ids(source: Path, table: "Table | None", id_column: str | None) -> Iterator[tuple[dict[str, Any], str]]:
    """The rows or requests of a file, each with its id."""
    from hornada.client.order import requests
    from hornada.core.recipe import Recipe

    if table is None:
        with source.open("rb") as lines:
            yield from (({"custom_id": custom_id}, custom_id) for custom_id, _ in requests(lines))
        return
    recipe = Recipe(prompt="", id_column=id_column)
    recipe.check(column.name for column in table.columns)
    for number, row in enumerate(table, 1):
        yield row, recipe.custom_id(row, number)


def _write(pairs: Any, partial: Path, like: Path, table: "Table | None") -> Counted:
    from hornada.client.joined import Joint
    from hornada.client.tables import is_table, open_writer

    counted = Counted()
    if table is None and not is_table(like):
        with partial.open("wb") as out:
            for _, result in pairs:
                counted.add(result)
                if result is not None:
                    out.write(result.line + b"\n")
        return counted
    joint = Joint(table.columns if table else ())
    writer = open_writer(partial, joint.columns, like=like)
    try:
        for row, result in pairs:
            counted.add(result)
            writer.write(joint.row(row, result))
    finally:
        writer.close()
    return counted


def _print(pairs: Any, form: str | None, table: "Table | None") -> Counted:
    """The same to standard output."""
    with printed(f"results.{form or 'jsonl'}") as path:
        return _write(pairs, path, path, table)
