"""``hornada admin member``: members of organizations."""

from enum import StrEnum
from typing import Annotated

import typer

from hornada.cli.admin.command import Answered, command
from hornada.cli.admin.desk import Desk
from hornada.cli.admin.org import OrgArgument

app = typer.Typer(name="member", no_args_is_help=True, rich_markup_mode=None, help="Members of organizations.")
MemberArgument = Annotated[str, typer.Argument(metavar="MEMBER", help="Id of the member.")]
_COLUMNS = ("id", "name", "role", "created_at")


class RoleName(StrEnum):
    """What a member may be."""

    ADMIN = "admin"
    MEMBER = "member"


RoleFlag = Annotated[RoleName, typer.Option("--role", help="An admin manages members and keys, and cancels batches.")]


@command(app, "add")
def add(
    desk: Desk,
    org: OrgArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the member is called.")],
    role: RoleFlag = RoleName.MEMBER,
) -> Answered:
    """Add a member to an organization."""
    body = {"name": name, "role": role.value}
    return Answered(desk("POST", "organizations", desk.organization(org), "members", body=body), _COLUMNS)


@command(app, "list")
def listing(desk: Desk, org: OrgArgument) -> Answered:
    """List the members of an organization, newest first."""
    return Answered(desk.all("organizations", desk.organization(org), "members"), _COLUMNS)


@command(app, "set")
def change(desk: Desk, member: MemberArgument, role: RoleFlag) -> Answered:
    """Change a member's role."""
    return Answered(desk("PATCH", "members", member, body={"role": role.value}), _COLUMNS)


@command(app, "remove")
def remove(desk: Desk, member: MemberArgument) -> Answered:
    """Remove a member, and with it its keys."""
    return Answered(desk("DELETE", "members", member), ("id", "deleted"))
