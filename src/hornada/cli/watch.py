"""``hornada watch``: follows a batch to its end."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hornada.cli.exit import ExitCode
from hornada.cli.progress import Reporter, reporter, spoken, summary
from hornada.cli.remote import (
    WATCHED_S,
    ApiKeyFlag,
    BaseUrlFlag,
    BatchesArgument,
    JsonFlag,
    MaxWaitFlag,
    QuietFlag,
    connect,
    outcome,
    progress,
    say,
    show,
    tell_faults,
    together,
    told,
)

if TYPE_CHECKING:
    from hornada.client import Batch, Client

EXAMPLES = (
    "hornada watch batch_... --max-wait 3600",
    "hornada watch batch_... && hornada results batch_... -o results.jsonl",
)


def watch(
    batch: BatchesArgument,
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
    """Follow batches to their end; the exit code says how they ended.

    0: every line was answered. 1: some lines failed, or it expired or was cancelled. 2: its file had faults, and
    nothing ran. 3: the server could not be reached. Of several batches the highest.
    """
    with told(lambda: goes_on(batch)):
        client = connect(base_url, api_key, patience_s=max_wait, quiet=quiet)
        found = follow(client, batch, reporter(sys.stderr, time.monotonic, quiet=quiet), interval)
        if as_json:
            for each in found:
                show(each.raw)
        elif not quiet:
            tell(found)
    raise typer.Exit(max(map(outcome, found)))


def goes_on(ids: Sequence[str]) -> str:
    """What is said of batches that are followed no more."""
    named, goes, its = " ".join(ids), "batch goes" if len(ids) == 1 else "batches go", "it" if len(ids) == 1 else "them"
    return f"The {goes} on. To follow {its} again: hornada watch {named}. To end {its}: hornada cancel {named}"


def follow(
    client: "Client", ids: Sequence[str], shown: Reporter, interval_s: float | None = None
) -> "tuple[Batch, ...]":
    """Shows batches, as if they were one, until all have ended."""
    with shown:
        if len(ids) == 1:
            for found in client.watch(ids[0], interval_s=interval_s):
                shown.update(progress(found))
            return (found,)
        for several in client.watch_all(ids, interval_s=interval_s):
            shown.update(together(several))
        return several


def tell(batches: "Sequence[Batch]", source: str = "", *, fetched: bool = False) -> None:
    """How batches ended, and what can be done next. ``fetched``: the results are being written somewhere.

    ``source``: the name of the file of requests, where it is known.
    """
    for batch in batches:
        nothing = ": nothing ran" if outcome(batch) is ExitCode.USAGE else ""
        say(f"{batch.id} {spoken(progress(batch))}{nothing}.")
        tell_faults(batch, source)
    last = together(batches)
    if len(batches) > 1:
        say(f"Together {spoken(last)}.")
    for line in summary(last):
        say(line)
    ran = [batch.id for batch in batches if outcome(batch) is not ExitCode.USAGE]
    if ran and not fetched:
        say(f"To get the results: hornada results {' '.join(ran)} -o results.jsonl")
    failed = [batch.id for batch in batches if outcome(batch) is ExitCode.SOME_FAILED]
    if failed:
        say(f"To run what has no answer again: hornada retry {' '.join(failed)}")
