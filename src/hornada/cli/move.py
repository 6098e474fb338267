"""``hornada move``: ledger and bytes to another database and another store."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from hornada.cli.exit import ExitCode
from hornada.cli.settings import ConfigFlag, DataFlag, settings
from hornada.config import ConfigError, load
from hornada.core.errors import Broken, Unavailable

Target = Annotated[Path, typer.Argument(metavar="FILE", help="Configuration whose [storage] says where to.")]


def move(file: Target, config: ConfigFlag = None, data: DataFlag = None) -> None:
    """Copy ledger and bytes to where no data is yet.

    Both the database and the store must be empty, and no server may run.

    --config and --data say where from, like for serve; a backup is a data folder, too. Only FILE says where to.
    """
    from hornada.service.lock import Locked
    from hornada.service.moving import move as copy

    source = settings(config, {"data": data})
    try:
        target = load(file, {}, {})
        asyncio.run(copy(source, target, typer.echo))
    except (ConfigError, ValueError, Locked) as error:
        typer.echo(f"Nothing was moved: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    except Broken as error:
        typer.echo(f"Nothing was moved that counts: {error}", err=True)
        raise typer.Exit(ExitCode.SOME_FAILED) from None
    except Unavailable as error:
        typer.echo(f"The move broke off; the same command begins it again: {error}", err=True)
        raise typer.Exit(ExitCode.UNREACHABLE) from None
    except BaseExceptionGroup as group:
        typer.echo(f"The move broke off; the same command begins it again: {group.exceptions[0]}", err=True)
        raise typer.Exit(ExitCode.UNREACHABLE) from None
    typer.echo("Everything was moved. Start the servers with the new configuration, and none with the old one.")
