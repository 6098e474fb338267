"""The commands and what they have in common."""

from typing import Annotated

import typer

from hornada import __version__
from hornada.cli.admin import app as admin
from hornada.cli.backup import backup, restore
from hornada.cli.batches import LIST_EXAMPLES, RETRY_EXAMPLES, cancel, list_batches, pause, resume, retry
from hornada.cli.files import CHECK_EXAMPLES, ESTIMATE_EXAMPLES, SPLIT_EXAMPLES, check, estimate, split
from hornada.cli.me import me
from hornada.cli.migrate import migrate
from hornada.cli.move import move
from hornada.cli.remote import examples
from hornada.cli.results import EXAMPLES as RESULTS_EXAMPLES
from hornada.cli.results import results
from hornada.cli.run import EXAMPLES as RUN_EXAMPLES
from hornada.cli.run import run
from hornada.cli.serve import serve
from hornada.cli.show import show
from hornada.cli.stored import app as stored
from hornada.cli.submit import EXAMPLES as SUBMIT_EXAMPLES
from hornada.cli.submit import submit
from hornada.cli.watch import EXAMPLES as WATCH_EXAMPLES
from hornada.cli.watch import watch

app = typer.Typer(
    name="hornada",
    help="A self-hosted batch inference server that speaks OpenAI's Files and Batch API.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("serve")(serve)
app.command("run", epilog=examples(*RUN_EXAMPLES))(run)
app.command("submit", epilog=examples(*SUBMIT_EXAMPLES))(submit)
app.command("watch", epilog=examples(*WATCH_EXAMPLES))(watch)
app.command("results", epilog=examples(*RESULTS_EXAMPLES))(results)
app.command("retry", epilog=examples(*RETRY_EXAMPLES))(retry)
app.command("cancel")(cancel)
app.command("pause")(pause)
app.command("resume")(resume)
app.command("list", epilog=examples(*LIST_EXAMPLES))(list_batches)
app.add_typer(stored, name="files")
app.command("me")(me)
app.command("check", epilog=examples(*CHECK_EXAMPLES))(check)
app.command("split", epilog=examples(*SPLIT_EXAMPLES))(split)
app.command("estimate", epilog=examples(*ESTIMATE_EXAMPLES))(estimate)
app.command("config")(show)
app.command("backup")(backup)
app.command("restore")(restore)
app.command("migrate")(migrate)
app.command("move")(move)
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
