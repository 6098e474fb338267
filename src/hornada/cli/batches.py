"""``hornada retry``, ``cancel``, ``pause``, ``resume`` and ``list``."""

from typing import TYPE_CHECKING, Annotated

import typer

from hornada.cli.asking import read_text
from hornada.cli.columns import moment, table
from hornada.cli.remote import (
    ApiKeyFlag,
    BaseUrlFlag,
    BatchArgument,
    BatchesArgument,
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

RETRY_EXAMPLES = (
    "hornada retry batch_... --wait",
    "hornada retry batch_... --only 503 --only batch_expired",
    "hornada retry batch_... --id @ids.txt --answered",
)
LIST_EXAMPLES = ("hornada list", "hornada list --status in_progress --metadata project=atlas --json")


def retry(
    batch: BatchArgument,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CODE", help="Just what failed with this code or HTTP status; may be repeated."),
    ] = None,
    custom_id: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="ID", help="Just the line with this custom_id; or @FILE of ids; may be repeated."),
    ] = None,
    answered: Annotated[bool, typer.Option("--answered", help="Those of --id also where they were answered.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the new batch to its end.")] = False,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Run what has no answer in a batch again.

    Lines that failed, expired or were cancelled, or those that are named, become a new batch, whose id is printed.
    """
    import sys
    import time

    if only and custom_id:
        raise typer.BadParameter("cannot be given together with --id", param_hint="--only")
    if answered and not custom_id:
        raise typer.BadParameter("needs --id, to say which lines", param_hint="--answered")
    ids = [each for given in custom_id or [] for each in _ids(given)]

    from hornada.cli.progress import reporter

    with told():
        client = connect(base_url, api_key, quiet=quiet)
        made = client.retry(batch, only=only or (), custom_ids=ids, answered=answered)
        if not as_json:
            typer.echo(made.id)
    if not wait:
        if as_json:
            show(made.raw)
        return
    with told(lambda: goes_on([made.id])):
        (made,) = follow(client, [made.id], reporter(sys.stderr, time.monotonic, quiet=quiet))
        if as_json:
            show(made.raw)
        elif not quiet:
            tell([made])
    raise typer.Exit(outcome(made))


def _ids(given: str) -> list[str]:
    """The id that is given, or those that stand in a file, one a line."""
    if not given.startswith("@"):
        return [given]
    found = [line.removesuffix("\r") for line in read_text(given, "--id").split("\n")]
    if not any(found):
        raise typer.BadParameter(f"{given[1:]} holds no ids", param_hint="--id")
    return [line for line in found if line]


def cancel(
    batch: BatchesArgument, base_url: BaseUrlFlag = None, api_key: ApiKeyFlag = None, as_json: JsonFlag = False
) -> None:
    """End a batch, or several. What is done stays, and what runs at this moment is finished."""
    with told():
        client = connect(base_url, api_key)
        for each in batch:
            _tell(client.cancel(each), as_json=as_json)


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
