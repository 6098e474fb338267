"""``hornada files``: what is stored at a batch server."""

import re
import sys
import time
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornada.cli.columns import moment, table
from hornada.cli.exit import ExitCode
from hornada.cli.remote import (
    PATIENCE_S,
    ApiKeyFlag,
    BaseUrlFlag,
    JsonFlag,
    MaxWaitFlag,
    QuietFlag,
    connect,
    examples,
    one_id,
    printed,
    say,
    sending,
    show,
    told,
)

if TYPE_CHECKING:
    from hornada.client import Client, File

app = typer.Typer(
    name="files", no_args_is_help=True, rich_markup_mode=None, help="List, store, fetch and delete files."
)

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_GONE = 404
_UNKNOWN_KEY = 401


def _age(text: str | None) -> int | None:
    """Seconds of a text such as 30d."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9})([dhms])", text)
    if found is None:
        raise typer.BadParameter(f'must be a number of d, h, m or s, such as 30d, not "{text}"')
    return int(found[1]) * _UNITS[found[2]]


def _ids(given: list[str] | None) -> list[str] | None:
    return given and [one_id(each) for each in given]


FileArgument = Annotated[str, typer.Argument(metavar="FILE", callback=one_id, help="Id of the file, such as file-...")]
PurposeFlag = Annotated[
    str | None,
    typer.Option("--purpose", metavar="WORD", help="Only those: batch for inputs, batch_output for results."),
]
OlderFlag = Annotated[
    str | None, typer.Option("--older-than", metavar="AGE", help="Only those made longer ago, such as 30d or 12h.")
]
NameFlag = Annotated[
    str | None, typer.Option("--name", metavar="PATTERN", help='Only those called so, such as "atlas-*.jsonl".')
]


@app.command("list", epilog=examples("hornada files list", "hornada files list --purpose batch_output --older-than 7d"))
def list_files(
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many at most.")] = 20,
    purpose: PurposeFlag = None,
    older_than: OlderFlag = None,
    name: NameFlag = None,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """List stored files, newest first."""
    age = _age(older_than)
    with told():
        wanted = _wanted(connect(base_url, api_key).files(purpose=purpose), age, name)
        _tell([file for file, _ in zip(wanted, range(limit), strict=False)], as_json=as_json)


@app.command("upload", epilog=examples("FILE=$(hornada files upload requests.jsonl --expires-after 7d)"))
def upload(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="The file on this machine.")
    ],
    purpose: Annotated[str, typer.Option("--purpose", metavar="WORD", help="What it is for.")] = "batch",
    expires_after: Annotated[
        str | None,
        typer.Option("--expires-after", metavar="AGE", help="When it goes by itself, such as 7d, if the server does."),
    ] = None,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Store a file and print its id. ``hornada submit`` does that by itself."""
    lifetime_s = _age(expires_after)
    with told():
        client = connect(base_url, api_key, quiet=quiet)
        file = client.upload(source, purpose=purpose, lifetime_s=lifetime_s, on_sent=sending(source, quiet=quiet))
        if as_json:
            show(file.raw)
        else:
            typer.echo(file.id)


@app.command("download", epilog=examples("hornada files download file-... -o errors.jsonl"))
def download(
    file: FileArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="File to write.  [default: standard output]")
    ] = None,
    max_wait: MaxWaitFlag = PATIENCE_S,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
) -> None:
    """Fetch the bytes of a file. For what became of a batch's lines see ``hornada results``."""
    from hornada.client.partial import whole

    with told():
        client = connect(base_url, api_key, patience_s=max_wait, quiet=quiet)
        with printed("file") if output is None else whole(output) as path:
            client.download(file, path)


@app.command(
    "delete",
    epilog=examples(
        'hornada files delete "$FILE"',
        "hornada files delete --batch batch_... --yes",
        "hornada files delete --purpose batch --older-than 7d --dry-run",
    ),
)
def delete(
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", callback=_ids, help="Ids of files.")] = None,
    batch: Annotated[
        list[str] | None,
        typer.Option("--batch", metavar="BATCH", callback=_ids, help="Only its input and results; may be repeated."),
    ] = None,
    purpose: PurposeFlag = None,
    older_than: OlderFlag = None,
    name: NameFlag = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    max_wait: MaxWaitFlag = PATIENCE_S,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    quiet: QuietFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete files, named or described.

    Those whose ids are given, or all that the options describe; of the latter it asks first. Prints the ids of those
    that are gone. An input that a batch still reads stays: that is told, and the exit code is 1.
    """
    age, chosen = _age(older_than), bool(batch) or {purpose, older_than, name} != {None}
    if bool(files) is chosen:
        raise typer.BadParameter("give ids, or options that describe files, and not both", param_hint="FILE")
    with told(lambda: "What was deleted is gone; the others are left."):
        client = connect(base_url, api_key, patience_s=max_wait, quiet=quiet)
        if files:
            found, in_use = [client.file(each) for each in dict.fromkeys(files)], set[str]()
        else:
            some = _files_of(client, batch) if batch else client.files(purpose=purpose)
            found = [file for file in _wanted(some, age, name) if purpose in {None, file.purpose}]
            in_use = client.in_use() if found else set()
        free = [file for file in found if file.id not in in_use]
        if dry_run:
            _tell(free, as_json=as_json)
            say(f"{_counted(free)} would be deleted{_kept(len(found) - len(free))}.")
            raise typer.Exit(ExitCode.DONE)
        if not (files or yes) and free and not _sure(free):
            say("Nothing was deleted.")
            raise typer.Exit(ExitCode.USAGE)
        deleted = [file for file in free if _delete(client, file, again=bool(chosen), as_json=as_json)]
        for file in found:
            if file.id in in_use:
                say(f"{file.id}: a batch that has not ended reads it.")
        if not quiet:
            say(f"{_counted(deleted)} deleted{_kept(len(found) - len(deleted))}.")
    raise typer.Exit(ExitCode.DONE if len(deleted) == len(found) else ExitCode.SOME_FAILED)


def _wanted(files: "Iterable[File]", age_s: int | None, name: str | None) -> "Iterator[File]":
    """Those that were made longer ago and are called so."""
    before = None if age_s is None else time.time() - age_s
    for file in files:
        if (before is None or (file.created_at is not None and file.created_at <= before)) and (
            name is None or fnmatchcase(file.name, name)
        ):
            yield file


def _files_of(client: "Client", batches: list[str]) -> "Iterator[File]":
    """The files of batches that are still there, each once."""
    from hornada.client import Refused

    seen = set()
    for batch in map(client.get, batches):
        for file_id in (batch.input_file_id, batch.output_file_id, batch.error_file_id):
            if file_id is None or file_id in seen:
                continue
            seen.add(file_id)
            try:
                yield client.file(file_id)
            except Refused as refused:
                if refused.status != _GONE:
                    raise


def _delete(client: "Client", file: "File", *, again: bool, as_json: bool) -> bool:
    """Deletes a file; whether it is gone. ``again``: one that was gone before is as good."""
    from hornada.client import Refused

    try:
        client.delete_file(file.id)
    except Refused as refused:
        if refused.status == _UNKNOWN_KEY:
            raise
        if refused.status != _GONE or not again:
            say(f"{file.id}: {refused}")
            return False
    if as_json:
        show({"id": file.id, "deleted": True})
    else:
        typer.echo(file.id)
    return True


def _sure(files: "list[File]") -> bool:
    typer.echo(f"Delete {_counted(files)} for good? [y/N] ", nl=False, err=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _counted(files: "list[File]") -> str:
    count = f"{len(files):,} file{'' if len(files) == 1 else 's'}"
    return f"{count} of {sum(file.bytes for file in files) / 1e6:,.1f} MB" if files else count


def _kept(count: int) -> str:
    return f", {count:,} kept" if count else ""


def _tell(files: "list[File]", *, as_json: bool) -> None:
    if as_json:
        for file in files:
            show(file.raw)
        return
    table(("FILE", "PURPOSE", "BYTES", "CREATED", "EXPIRES", "NAME"), map(_row, files))


def _row(file: "File") -> tuple[str, ...]:
    made, ends = moment(file.created_at), moment(file.expires_at)
    return file.id, file.purpose or "-", str(file.bytes), made, ends, file.name
