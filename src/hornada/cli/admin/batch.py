"""``hornada admin batch``: the batches of every organization."""

from typing import Annotated

import typer

from hornada.cli.admin.command import Answered, Json, command
from hornada.cli.admin.desk import Desk

app = typer.Typer(name="batch", no_args_is_help=True, rich_markup_mode=None, help="Batches of every organization.")
_COLUMNS = ("id", "organization_id", "status", "model", "total", "completed", "failed", "created_at")


def _flat(batch: Json) -> Json:
    return {**batch, **batch["request_counts"]}


@command(app, "list")
def listing(
    desk: Desk,
    org: Annotated[str | None, typer.Option("--org", metavar="ORG", help="Only this organization's.")] = None,
    status: Annotated[str | None, typer.Option("--status", metavar="STATUS", help="Only in this status.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 100,
) -> Answered:
    """List batches, newest first."""
    organization = desk.organization(org) if org else None
    found = desk.all("batches", most=limit, organization=organization, status=status)
    return Answered([_flat(batch) for batch in found], _COLUMNS)


@command(app, "cancel")
def cancel(desk: Desk, batch: Annotated[str, typer.Argument(metavar="BATCH", help="Id of the batch.")]) -> Answered:
    """Cancel a batch of any organization; it says so on the batch."""
    return Answered(_flat(desk("POST", "batches", batch, "cancel")), _COLUMNS)
