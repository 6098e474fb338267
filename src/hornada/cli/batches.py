"""``hornada retry``, ``cancel``, ``pause``, ``resume`` and ``list``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

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
    from hornada.client import Batch, Client

RETRY_EXAMPLES = (
    "hornada retry batch_... --wait",
    "hornada retry batch_... --only 503 --only batch_expired",
    "hornada retry batch_... --id @ids.txt --answered",
)
LIST_EXAMPLES = ("hornada list", "hornada list --status in_progress --metadata project=atlas --json")


def retry(
    batch: BatchesArgument,
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

    Lines that failed, expired or were cancelled, or those that are named, become a new batch, whose id is printed; of
    several batches one each, where there are any.
    """
    import sys
    import time

    from hornada.cli.progress import reporter

    ids = _chosen(batch, only, custom_id, answered=answered)
    with told():
        client = connect(base_url, api_key, quiet=quiet)
        made = []
        for new in _again(client, batch, only=only or (), custom_ids=ids, answered=answered):
            made.append(new)
            if not as_json:
                typer.echo(new.id)
    if not wait:
        for new in made if as_json else ():
            show(new.raw)
        return
    names = [new.id for new in made]
    with told(lambda: goes_on(names)):
        ended = follow(client, names, reporter(sys.stderr, time.monotonic, quiet=quiet))
        for new in ended if as_json else ():
            show(new.raw)
        if not (quiet or as_json):
            tell(ended)
    raise typer.Exit(max(map(outcome, ended)))


def _again(client: "Client", batches: list[str], **choice: Any) -> "Iterator[Batch]":
    """The new batch of each that has something to run again. Raises BadInput when none has."""
    from hornada.client import BadInput

    made = 0
    for each in batches:
        try:
            yield client.retry(each, **choice)
        except BadInput as nothing:
            if each == batches[-1] and not made:
                raise
            say(str(nothing))
        else:
            made += 1


def _chosen(batches: list[str], only: list[str] | None, given: list[str] | None, *, answered: bool) -> list[str]:
    """The ids of the lines that are meant, none for all. Raises BadParameter."""
    if only and given:
        raise typer.BadParameter("cannot be given together with --id", param_hint="--only")
    if answered and not given:
        raise typer.BadParameter("needs --id, to say which lines", param_hint="--answered")
    if given and len(batches) > 1:
        raise typer.BadParameter("says which lines of one batch, not of several", param_hint="--id")
    return [each for text in given or [] for each in _ids(text)]


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
