"""``hornada backup`` and ``hornada restore``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from hornada.cli.exit import ExitCode
from hornada.cli.settings import ConfigFlag, DataFlag, settings
from hornada.config import Config
from hornada.core.errors import HornadaError

Target = Annotated[Path, typer.Argument(metavar="FOLDER", help="Empty or missing folder for the copy.")]
Source = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that `hornada backup` has filled.")]


def backup(folder: Target, config: ConfigFlag = None, data: DataFlag = None) -> None:
    """Copy ledger and bytes while the server runs."""
    from hornada.service.backup import backup as copy

    found = settings(config, {"data": data})
    _do(lambda: copy(found, folder), f"were copied to {folder}")


def restore(folder: Source, config: ConfigFlag = None, data: DataFlag = None) -> None:
    """Copy a backup to where no data is yet."""
    from hornada.service.backup import restore as copy

    found: Config = settings(config, {"data": data})
    _do(lambda: copy(found, folder), f"were copied from {folder}")


def _do(copy: Callable[[], tuple[int, int]], where: str) -> None:
    from hornada.service.lock import Locked

    try:
        blobs, size = copy()
    except (ValueError, Locked) as error:
        typer.echo(f"Nothing was copied: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    except HornadaError as error:
        typer.echo(f"The copy is not whole: {error}", err=True)
        raise typer.Exit(ExitCode.SOME_FAILED) from None
    typer.echo(f"The ledger and {blobs:,} blobs with {size:,} bytes {where}")
