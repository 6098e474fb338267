"""``hornada watch``: follows a batch to its end."""

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from hornada.cli.exit import ExitCode
from hornada.cli.progress import Reporter, reporter, spoken, summary
from hornada.cli.remote import (
    WATCHED_S,
    ApiKeyFlag,
    BaseUrlFlag,
    BatchArgument,
    JsonFlag,
    MaxWaitFlag,
    QuietFlag,
    connect,
    outcome,
    progress,
    say,
    show,
    tell_faults,
    told,
)

if TYPE_CHECKING:
    from hornada.client import Batch, Client

EXAMPLES = (
    "hornada watch batch_... --max-wait 3600",
    "hornada watch batch_... && hornada results batch_... -o results.jsonl",
)


def watch(
    batch: BatchArgument,
    interval: Annotated[
        float | None,
        typer.Option("--interval", metavar="SECONDS", min=0.1, help="How often to look.  [default: ever more seldom]"),
    ] = None,
    max_wait: MaxWaitFlag = WATCHED_S,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Follow a batch to its end; the exit code says how it ended.

    0: every line was answered. 1: some lines failed, or it expired or was cancelled. 2: its file had faults, and
    nothing ran. 3: the server could not be reached.
    """
    with told(lambda: goes_on(batch)):
        client = connect(base_url, api_key, patience_s=max_wait, quiet=quiet)
        found = follow(client, batch, reporter(sys.stderr, time.monotonic, quiet=quiet), interval)
        if as_json:
            show(found.raw)
        elif not quiet:
            tell(found)
    raise typer.Exit(outcome(found))


def goes_on(batch_id: str) -> str:
    """What is said of a batch that is followed no more."""
    return f"The batch goes on. To follow it again: hornada watch {batch_id}. To end it: hornada cancel {batch_id}"


def follow(client: "Client", batch_id: str, shown: Reporter, interval_s: float | None = None) -> "Batch":
    """Shows a batch until it has ended."""
    with shown:
        for found in client.watch(batch_id, interval_s=interval_s):
            shown.update(progress(found))
    return found


def tell(batch: "Batch", *, fetched: bool = False) -> None:
    """How a batch ended, and what can be done next. ``fetched``: its results are being written somewhere."""
    last = progress(batch)
    say(f"{batch.id} {spoken(last)}.")
    for line in summary(last):
        say(line)
    tell_faults(batch)
    if outcome(batch) is not ExitCode.USAGE and not fetched:
        say(f"To get the results: hornada results {batch.id} -o results.jsonl")
    if outcome(batch) is ExitCode.SOME_FAILED:
        say(f"To run what has no answer again: hornada retry {batch.id}")
