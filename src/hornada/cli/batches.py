"""``hornada retry``, ``cancel``, ``pause``, ``resume`` and ``list``."""

from typing import TYPE_CHECKING, Annotated

import typer

from hornada.cli.columns import moment, table
from hornada.cli.remote import (
    ApiKeyFlag,
    BaseUrlFlag,
    BatchArgument,
    JsonFlag,
    MetadataFlag,
    QuietFlag,
    connect,
    outcome,
    pairs,
    say,
    show,
    told,
)
from hornada.cli.watch import follow, goes_on, tell
from hornada.core.batch import Status

if TYPE_CHECKING:
    from hornada.client import Batch

RETRY_EXAMPLES = ("hornada retry batch_... --wait",)
LIST_EXAMPLES = ("hornada list", "hornada list --status in_progress --metadata project=atlas --json")


def retry(
    batch: BatchArgument,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the new batch to its end.")] = False,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Run what has no answer in a batch again.

    Lines that failed, expired or were cancelled become a new batch, whose id is printed.
    """
    import sys
    import time

    from hornada.cli.progress import reporter

    with told():
        client = connect(base_url, api_key, quiet=quiet)
        made = client.retry(batch)
        if not as_json:
            typer.echo(made.id)
    if not wait:
        if as_json:
            show(made.raw)
        return
    with told(lambda: goes_on(made.id)):
        made = follow(client, made.id, reporter(sys.stderr, time.monotonic, quiet=quiet))
        if as_json:
            show(made.raw)
        elif not quiet:
            tell(made)
    raise typer.Exit(outcome(made))


def cancel(
    batch: BatchArgument, base_url: BaseUrlFlag = None, api_key: ApiKeyFlag = None, as_json: JsonFlag = False
) -> None:
    """End a batch. What is done stays, and what runs at this moment is finished."""
    with told():
        _tell(connect(base_url, api_key).cancel(batch), as_json=as_json)


def pause(
    batch: BatchArgument, base_url: BaseUrlFlag = None, api_key: ApiKeyFlag = None, as_json: JsonFlag = False
) -> None:
    """Start no more lines of a batch for now (Hornada only).

    It expires all the same. ``hornada resume`` goes on with it.
    """
    with told():
        _tell(connect(base_url, api_key).pause(batch), "paused", as_json=as_json)


def resume(
    batch: BatchArgument, base_url: BaseUrlFlag = None, api_key: ApiKeyFlag = None, as_json: JsonFlag = False
) -> None:
    """Go on with a paused batch (Hornada only)."""
    with told():
        _tell(connect(base_url, api_key).resume(batch), as_json=as_json)


def _tell(found: "Batch", word: str | None = None, *, as_json: bool) -> None:
    if as_json:
        show(found.raw)
        return
    now = word or found.status.replace("_", " ")
    say(f"{found.id} {now}: {found.completed} of {found.total} lines are answered.")


def list_batches(
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many at most.")] = 20,
    status: Annotated[
        str | None, typer.Option("--status", metavar="WORD", help="Only those, such as in_progress.")
    ] = None,
    metadata: MetadataFlag = None,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """List batches, newest first."""
    known = [each.value for each in Status]
    if status is not None and status not in known:
        raise typer.BadParameter(f'must be one of {", ".join(known)}, not "{status}"', param_hint="--status")
    wanted = pairs(metadata).items()
    with told():
        found = []
        for batch in connect(base_url, api_key).list():
            if (status is None or batch.status == status) and wanted <= batch.metadata.items():
                found.append(batch)
            if len(found) == limit:
                break
        if as_json:
            for batch in found:
                show(batch.raw)
        else:
            table(("BATCH", "STATUS", "LINES", "FAILED", "CREATED", "MODEL"), map(_row, found))


def _row(batch: "Batch") -> tuple[str, ...]:
    lines = f"{batch.completed + batch.failed}/{batch.total}"
    return batch.id, batch.status, lines, str(batch.failed), moment(batch.created_at), batch.model or "-"
