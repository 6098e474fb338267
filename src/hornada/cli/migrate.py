"""``hornada migrate``: brings the ledger up to date."""

import asyncio
from typing import Annotated

import typer

from hornada.cli.exit import ExitCode
from hornada.cli.settings import ConfigFlag, DataFlag, settings
from hornada.core.errors import Broken, Unavailable

CheckFlag = Annotated[bool, typer.Option("--check", help="Change nothing; exit with 2 when something is to be done.")]


def migrate(config: ConfigFlag = None, data: DataFlag = None, check: CheckFlag = False) -> None:
    """Bring the ledger up to date while servers run on it."""
    from hornada.service import migrating

    found = settings(config, {"data": data})
    try:
        steps = [] if check else asyncio.run(migrating.migrate(found))
        version = asyncio.run(migrating.look(found))
    except (Broken, ValueError) as error:
        typer.echo(f"The ledger is as it was: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    except Unavailable as error:
        typer.echo(f"The ledger is not up to date: {error}", err=True)
        raise typer.Exit(ExitCode.UNREACHABLE) from None
    for step in steps:
        typer.echo(f"Took step {step}")
    state = f"The ledger has schema version {version.present}, this program knows {version.known}"
    if version.floor > version.known:
        typer.echo(f"{state} and cannot use it: use a newer one", err=True)
        raise typer.Exit(ExitCode.USAGE)
    if version.missing:
        typer.echo(f"{state}: hornada migrate takes {len(version.missing)} steps")
        raise typer.Exit(ExitCode.USAGE)
    typer.echo(f"{state}: nothing is left to do")
