"""The commands and what they have in common."""

from typing import Annotated

import typer

from hornada import __version__
from hornada.cli.admin import app as admin
from hornada.cli.backup import backup, restore
from hornada.cli.migrate import migrate
from hornada.cli.run import run
from hornada.cli.serve import serve
from hornada.cli.show import show

app = typer.Typer(
    name="hornada",
    help="A self-hosted batch inference server that speaks OpenAI's Files and Batch API.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("serve")(serve)
app.command("run")(run)
app.command("config")(show)
app.command("backup")(backup)
app.command("restore")(restore)
app.command("migrate")(migrate)
app.add_typer(admin, name="admin")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"hornada {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = (
        False
    ),
) -> None:
    pass
