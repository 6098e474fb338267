"""``hornada admin key``: keys of members."""

import time
from typing import Annotated

import typer

from hornada.cli.admin.command import Answered, command
from hornada.cli.admin.desk import Desk
from hornada.cli.admin.org import OrgArgument

app = typer.Typer(name="key", no_args_is_help=True, rich_markup_mode=None, help="Keys of members.")
_COLUMNS = ("id", "name", "member_id", "models", "requests_per_minute", "expires_at", "last_used_at", "revoked_at")
_DAY_S = 86_400


@command(app, "create")
def create(
    desk: Desk,
    org: OrgArgument,
    member: Annotated[
        str | None,
        typer.Option("--member", metavar="MEMBER", help="Id or name of its member; else who calls, or the only one."),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the key is called.")] = "key",
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="NAME", help="A model that it may use; may be repeated.")
    ] = None,
    days: Annotated[float | None, typer.Option("--days", metavar="N", min=0, help="Days until it expires.")] = None,
    requests: Annotated[
        int | None,
        typer.Option("--requests-per-minute", metavar="N", min=1, help="Calls a minute, below its plan's."),
    ] = None,
) -> Answered:
    """Create a key and print it; it cannot be seen again."""
    organization = desk.organization(org)
    body = {
        "member_id": member and desk.member(organization, member),
        "name": name,
        "models": model or None,
        "expires_at": None if days is None else int(time.time() + days * _DAY_S),
        "requests_per_minute": requests,
    }
    made = desk("POST", "organizations", organization, "keys", body=body)
    return Answered(made, ("id", "name", "member_id", "expires_at", "key"), note="The key is shown only now.")


@command(app, "list")
def listing(desk: Desk, org: OrgArgument) -> Answered:
    """List the keys of an organization, newest first."""
    return Answered(desk.all("organizations", desk.organization(org), "keys"), _COLUMNS)


@command(app, "revoke")
def revoke(desk: Desk, key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="Id of the key.")]) -> Answered:
    """Revoke a key, at once and for good."""
    return Answered(desk("DELETE", "keys", key_id), ("id", "deleted"))
