"""What every admin command has in common: where to call, how to show the answer, and the exit code."""

import inspect
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from hornada.cli.admin.desk import Desk, Refused, Unreached, environment, opened
from hornada.cli.exit import ExitCode
from hornada.cli.settings import ConfigFlag, DataFlag

Json = dict[str, Any]
UrlFlag = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Server to talk to [HORNADA_URL; else where the configuration listens]."),
]
KeyFlag = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Key to send [HORNADA_KEY; else server.operator_key].")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class Answered:
    """What a command has to show: objects, the columns that a table has, and the exit code."""

    def __init__(
        self,
        found: Json | list[Json],
        columns: Sequence[str] = ("id",),
        *,
        note: str | None = None,
        ended: ExitCode = ExitCode.DONE,
    ) -> None:
        self.found = found
        self.columns = columns
        self.note = note
        self.ended = ended


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., Answered]], Callable[..., Answered]]:
    """Registers a function of a desk and options as a command that also takes the common options."""

    def register(verb: Callable[..., Answered]) -> Callable[..., Answered]:
        def run(**given: Any) -> None:
            place = [given.pop(flag) for flag in ("url", "key", "config", "data")]
            as_json = given.pop("as_json")
            raise typer.Exit(_ended(lambda desk: verb(desk, **given), *place, as_json=as_json))

        signature = inspect.signature(verb)
        own = list(signature.parameters.values())[1:]
        parameters = [*own, *inspect.signature(_common).parameters.values()]
        described = cast("Any", run)
        described.__signature__ = signature.replace(parameters=parameters, return_annotation=None)
        described.__annotations__ = {each.name: each.annotation for each in parameters}
        described.__doc__ = verb.__doc__
        app.command(name)(run)
        return verb

    return register


def _common(
    *,
    url: UrlFlag = None,
    key: KeyFlag = None,
    config: ConfigFlag = None,
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """The options that every command takes."""


def _ended(
    verb: Callable[[Desk], Answered],
    url: str | None,
    key: str | None,
    config: Path | None,
    data: str | None,
    *,
    as_json: bool,
) -> ExitCode:
    try:
        with opened(url or environment("HORNADA_URL"), key or environment("HORNADA_KEY"), config, data) as desk:
            answered = verb(desk)
    except Refused as refused:
        typer.echo(str(refused), err=True)
        return ExitCode.USAGE
    except Unreached as error:
        typer.echo(str(error), err=True)
        return ExitCode.UNREACHABLE
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    if as_json:
        typer.echo(json.dumps(answered.found, indent=2, ensure_ascii=False))
    else:
        show(answered)
    return answered.ended


def show(answered: Answered) -> None:
    """A table of a list, lines of one object; the note goes to stderr, out of the way of pipes."""
    if isinstance(answered.found, list):
        _table(answered.found, answered.columns)
    else:
        for name in answered.columns:
            typer.echo(f"{name}: {_cell(name, answered.found.get(name))}")
    if answered.note:
        typer.echo(answered.note, err=True)


def _table(found: list[Json], columns: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*(column.replace("_", " ") for column in columns), box=None, pad_edge=False)
    for column in table.columns:
        column.no_wrap = True
    for each in found:
        table.add_row(*(_cell(column, each.get(column)) for column in columns))
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 1000, markup=False, highlight=False).print(table)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.endswith("_at") and isinstance(value, int):
        return datetime.fromtimestamp(value, UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")
    if name == "upstream":
        return ", ".join(server["url"] for server in value)
    if isinstance(value, list):
        return ", ".join(map(str, value)) if name == "models" else "; ".join(map(str, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
