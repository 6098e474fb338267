"""``hornada admin org``: organizations."""

from typing import Annotated

import typer

from hornada.cli.admin.command import Answered, command
from hornada.cli.admin.desk import Desk, Refused

app = typer.Typer(name="org", no_args_is_help=True, rich_markup_mode=None, help="Organizations.")
OrgArgument = Annotated[str, typer.Argument(metavar="ORG", help="Name or id of the organization.")]
PlanFlag = Annotated[str | None, typer.Option("--plan", metavar="PLAN", help="Name of its plan.")]
_COLUMNS = ("id", "name", "plan", "status", "created_at")


@command(app, "create")
def create(
    desk: Desk, name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")], plan: PlanFlag = None
) -> Answered:
    """Create an organization; it has no member yet."""
    return Answered(desk("POST", "organizations", body={"name": name, "plan": plan}), _COLUMNS)


@command(app, "list")
def listing(desk: Desk) -> Answered:
    """List the organizations, newest first."""
    return Answered(desk.all("organizations"), _COLUMNS)


@command(app, "set")
def change(
    desk: Desk,
    org: OrgArgument,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Its new name.")] = None,
    plan: PlanFlag = None,
) -> Answered:
    """Rename an organization, or put it on another plan."""
    return Answered(desk("PATCH", "organizations", desk.organization(org), body={"name": name, "plan": plan}), _COLUMNS)


@command(app, "suspend")
def suspend(desk: Desk, org: OrgArgument) -> Answered:
    """Stop all its keys. Lines that have not started end as authorization_revoked."""
    return Answered(desk("PATCH", "organizations", desk.organization(org), body={"suspended": True}), _COLUMNS)


@command(app, "resume")
def resume(desk: Desk, org: OrgArgument) -> Answered:
    """Give a suspended organization its rights back."""
    return Answered(desk("PATCH", "organizations", desk.organization(org), body={"suspended": False}), _COLUMNS)


@command(app, "erase")
def erase(
    desk: Desk,
    org: OrgArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> Answered:
    """Erase an organization: batches end, files, results and names go. It cannot be undone."""
    found = desk("GET", "organizations", desk.organization(org))
    if not yes and not typer.confirm(f"Erase {found['name']} ({found['id']}) for good?", err=True):
        raise Refused("Nothing was erased.")
    return Answered(
        desk("DELETE", "organizations", found["id"]),
        (*_COLUMNS, "erased_at", "kept"),
        note="The server erases piece by piece, while it runs; `erase` with the id shows how far it is.",
    )
