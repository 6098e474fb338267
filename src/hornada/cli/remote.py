"""What the commands that talk to a batch server have in common: where it is, how failures are told, exit codes."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornada.cli.exit import ExitCode
from hornada.core.batch import LIVE, Status
from hornada.core.run import Progress

if TYPE_CHECKING:
    from hornada.client import Batch, Client, Refused

BaseUrlFlag = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="The batch server, up to /v1 [HORNADA_BASE_URL, OPENAI_BASE_URL; else http://127.0.0.1:8080/v1].",
    ),
]
ApiKeyFlag = Annotated[
    str | None, typer.Option("--api-key", metavar="KEY", help="Key to send [HORNADA_API_KEY, OPENAI_API_KEY].")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]
QuietFlag = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but what is asked for.")]
MaxWaitFlag = Annotated[
    float,
    typer.Option("--max-wait", metavar="SECONDS", min=1, help="For how long a server that is away is asked again."),
]
MetadataFlag = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="NAME=VALUE", help="What is kept with the batch; may be repeated."),
]


def _words(given: list[str]) -> list[str]:
    """The ids, also where several stand in one word, as shells that split no variables hand them over."""
    return [name for text in given for name in one_id(text).split()]


def one_id(given: str) -> str:
    """Raises BadParameter for a blank, such as a variable that was never set, whose path would be that of a list."""
    if not given.strip():
        raise typer.BadParameter("is empty; an id was expected, such as batch_... or file-...")
    return given


BatchesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="BATCH...", callback=_words, help="Ids of one batch or more, as submit --split prints them."
    ),
]
BatchArgument = Annotated[
    str, typer.Argument(metavar="BATCH", callback=one_id, help="Id of the batch, such as batch_...")
]

PATIENCE_S = 120.0
WATCHED_S = 900.0
_TOLD_BYTES = 8 << 20
"""Uploads larger than this are told about."""
_TOLD_EVERY_S = 2


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def check_output(path: Path | None, form: str | None = None) -> None:
    """Finds before anything is asked or paid for that results could not be written there. Raises BadInput."""
    from hornada.client.tables import check_writable

    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise typer.BadParameter(f'must be a file in a folder that exists, not "{path}"', param_hint="--output")
    check_writable(Path(f"x.{form}") if form else path or Path())


def pairs(given: list[str] | None) -> dict[str, str]:
    """Reads ``NAME=VALUE`` of metadata."""
    found = {}
    for text in given or []:
        name, mark, value = text.partition("=")
        if not name or not mark:
            raise typer.BadParameter(f'must be NAME=VALUE, not "{text}"', param_hint="--metadata")
        found[name] = value
    return found


def say(text: str) -> None:
    """A line for people, out of the way of pipes."""
    typer.echo(text, err=True)


def show(value: Any) -> None:
    """JSON for programs."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def connect(
    base_url: str | None, api_key: str | None, *, patience_s: float = PATIENCE_S, quiet: bool = False
) -> "Client":
    """The server that is meant."""
    from hornada.client import Client

    def waits(why: str, seconds: float) -> None:
        say(f"{why} Asking again in {seconds:.1f} s.")

    return Client(base_url, api_key, patience_s=patience_s, on_wait=None if quiet else waits)


def sending(path: Path, *, quiet: bool) -> Callable[[int, int], None]:
    """What hears how far the upload of a file is, and says it now and then."""
    told_at = time.monotonic()

    def sent(done: int, size: int) -> None:
        nonlocal told_at
        if not quiet and size > _TOLD_BYTES and (time.monotonic() - told_at > _TOLD_EVERY_S or done == size):
            told_at = time.monotonic()
            say(f"{path.name}: sent {done / 1e6:,.0f} of {size / 1e6:,.0f} MB")

    return sent


@contextmanager
def printed(name: str) -> Iterator[Path]:
    """A path of this name to write to, whose bytes go to standard output when the block ends without an error."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="hornada-") as folder:
        path = Path(folder) / name
        yield path
        with path.open("rb") as written:
            shutil.copyfileobj(written, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@contextmanager
def told(interrupted: Callable[[], str] | None = None) -> Iterator[None]:
    """Tells failures to people and ends with their exit code. ``interrupted``: what is said after Ctrl-C."""
    from hornada.client import Refused, Unreached
    from hornada.core.errors import HornadaError

    try:
        yield
    except Unreached as error:
        say(str(error))
        raise typer.Exit(ExitCode.UNREACHABLE) from None
    except HornadaError as error:
        say(f"{error}{_hint(error) if isinstance(error, Refused) else ''}")
        raise typer.Exit(ExitCode.USAGE) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(ExitCode.DONE) from None
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        raise typer.Exit(ExitCode.USAGE) from None
    except KeyboardInterrupt:
        say("Interrupted." + (f" {interrupted()}" if interrupted else ""))
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _hint(refused: "Refused") -> str:
    """What to look at when a server does not know the key, or not even the path."""
    if refused.status == HTTPStatus.UNAUTHORIZED:
        return " The key is that of --api-key, HORNADA_API_KEY or OPENAI_API_KEY."
    if refused.status == HTTPStatus.NOT_FOUND and refused.code in {None, "not_found"}:
        return " Is the base URL that of a batch server, up to /v1?"
    if refused.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return " Of a file that is too large hornada submit --split makes several batches."
    return ""


def progress(batch: "Batch") -> Progress:
    """A batch as progress is shown."""
    known = {status.value for status in Status}
    message = batch.waiting_for
    return Progress(
        total=batch.total,
        completed=batch.completed,
        failed=batch.failed,
        status=Status(batch.status) if batch.status in known else Status.IN_PROGRESS,
        message=message,
        input_tokens=batch.input_tokens or 0,
        output_tokens=batch.output_tokens or 0,
        cost=batch.cost or 0,
        kinds=batch.kinds,
        rate=batch.rate,
        eta_s=batch.eta_s,
        expires_s=None if batch.expires_at is None else batch.expires_at - time.time(),
    )


def together(batches: "Sequence[Batch]") -> Progress:
    """Several batches as if they were one."""
    each = [progress(batch) for batch in batches]
    if len(each) == 1:
        return each[0]
    live = [one for one in each if one.status in LIVE]
    runs = [one.status for one in live if one.status is Status.IN_PROGRESS]
    etas = [one.eta_s for one in live if one.eta_s is not None]
    return Progress(
        total=sum(one.total for one in each),
        completed=sum(one.completed for one in each),
        failed=sum(one.failed for one in each),
        status=[*runs, *(one.status for one in live), Status.COMPLETED][0],
        message=live[0].message if all(one.message for one in live) and live else None,
        input_tokens=sum(one.input_tokens for one in each),
        output_tokens=sum(one.output_tokens for one in each),
        cost=sum(one.cost for one in each),
        kinds=sum((Counter(one.kinds) for one in each), Counter()),
        rate=sum(one.rate or 0 for one in live) or None,
        eta_s=max(etas) if etas and len(etas) == len(live) else None,
        expires_s=min((one.expires_s for one in live if one.expires_s is not None), default=None),
    )


def outcome(batch: "Batch") -> ExitCode:
    """What the exit code says of a batch that has ended."""
    if batch.status == Status.FAILED:
        return ExitCode.USAGE
    return ExitCode.DONE if batch.ok else ExitCode.SOME_FAILED


def tell_faults(batch: "Batch", name: str = "") -> None:
    """What is wrong with a batch's file, as compilers tell it."""
    for fault in batch.faults:
        where = f"{name or 'line '}{':' if name and fault.line else ''}{fault.line or ''}: " if fault.line else ""
        say(f"{where}{fault.code + ': ' if fault.code else ''}{fault.message}")
