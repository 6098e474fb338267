"""Flags that stand for settings, and how a wrong configuration is told."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from hornada.cli.exit import ExitCode
from hornada.config import Config, ConfigError, load

ConfigFlag = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML file with the settings.")]
HostFlag = Annotated[str | None, typer.Option("--host", metavar="HOST", help="Address to listen on.")]
PortFlag = Annotated[int | None, typer.Option("--port", metavar="PORT", help="Port to listen on.")]
DataFlag = Annotated[str | None, typer.Option("--data", metavar="DIR", help="Folder of the ledger and the blobs.")]
UpstreamFlag = Annotated[
    list[str] | None,
    typer.Option("--upstream", metavar="URL", help="Model server whose models are discovered; may be repeated."),
]
RoleFlag = Annotated[
    str | None,
    typer.Option(
        "--role", metavar="all|api|worker", help="What this process does: answer calls, run batches, or both."
    ),
]


def settings(path: Path | None, flags: dict[str, Any]) -> Config:
    """The configuration; on faults, one line for each to stderr and exit code 2."""
    try:
        return load(path, os.environ, flags)
    except ConfigError as error:
        typer.echo("The configuration is wrong:", err=True)
        for line in error.lines:
            typer.echo(f"  {line}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
