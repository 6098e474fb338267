"""``hornada admin plan``: what organizations may use."""

from typing import Annotated

import typer

from hornada.cli.admin.command import Answered, Json, command
from hornada.cli.admin.desk import Desk

app = typer.Typer(name="plan", no_args_is_help=True, rich_markup_mode=None, help="What organizations may use.")
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the plan.")]
_NUMBERS = ("requests_per_minute", "active_batches", "queued_lines", "storage_bytes", "weight")
_COLUMNS = ("id", "source", *_NUMBERS)


@command(app, "set")
def change(
    desk: Desk,
    name: NameArgument,
    requests_per_minute: Annotated[int | None, typer.Option(metavar="N", help="Calls a minute, lines apart.")] = None,
    active_batches: Annotated[int | None, typer.Option(metavar="N", help="Batches that have not ended.")] = None,
    queued_lines: Annotated[int | None, typer.Option(metavar="N", help="Lines of batches that have not ended.")] = None,
    storage_bytes: Annotated[int | None, typer.Option(metavar="N", help="Bytes of files kept.")] = None,
    weight: Annotated[int | None, typer.Option(metavar="N", help="Share of free slots among organizations.")] = None,
) -> Answered:
    """Add a plan, or change what is given of one."""
    given = dict(zip(_NUMBERS, (requests_per_minute, active_batches, queued_lines, storage_bytes, weight), strict=True))
    known: Json = next((plan for plan in desk("GET", "plans")["data"] if plan["id"] == name), {})
    body = {number: known.get(number) if value is None else value for number, value in given.items()}
    return Answered(desk("PUT", "plans", name, body=body), _COLUMNS)


@command(app, "list")
def listing(desk: Desk) -> Answered:
    """List all plans."""
    return Answered(desk("GET", "plans")["data"], _COLUMNS)


@command(app, "remove")
def remove(desk: Desk, name: NameArgument) -> Answered:
    """Remove a plan that no organization is on."""
    return Answered(desk("DELETE", "plans", name), ("id", "deleted"))
