"""``hornada admin credit``, ``balance`` and ``reconcile``: money."""

from typing import Annotated

import typer

from hornada.cli.admin.command import Answered, command
from hornada.cli.admin.desk import Desk
from hornada.cli.admin.org import OrgArgument
from hornada.cli.exit import ExitCode

app = typer.Typer(name="credit", no_args_is_help=True, rich_markup_mode=None, help="Credit of organizations.")
_COLUMNS = ("balance", "currency")


@command(app, "add")
def add(
    desk: Desk,
    org: OrgArgument,
    amount: Annotated[int, typer.Argument(metavar="AMOUNT", min=0, help="Micro-units: millionths of the currency.")],
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Why; it is kept in the audit.")] = None,
) -> Answered:
    """Give an organization credit. The first credit ends that it is unlimited."""
    body = {"amount": amount, "note": note}
    return Answered(desk("POST", "organizations", desk.organization(org), "credits", body=body), _COLUMNS)


def mount(admin: typer.Typer) -> None:
    """Adds the commands that have no noun of their own."""
    command(admin, "balance")(balance)
    command(admin, "reconcile")(reconcile)


def balance(desk: Desk, org: OrgArgument) -> Answered:
    """Show what an organization has left, in micro-units."""
    return Answered(desk("GET", "organizations", desk.organization(org), "balance"), _COLUMNS)


def reconcile(desk: Desk) -> Answered:
    """Prove the ledger: hold it against results, batches and balances. Exit code 1 if anything differs."""
    found = desk("GET", "reconciliation")["data"]
    ended = ExitCode.SOME_FAILED if found else ExitCode.DONE
    note = f"{len(found)} differences." if found else "The ledger agrees with all results and balances."
    return Answered(found, ("what", "of", "ledger", "found"), note=note, ended=ended)
