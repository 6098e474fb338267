"""``hornada check``, ``split`` and ``estimate``: what can be done with a file of requests without a server."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from hornada.cli.exit import ExitCode
from hornada.cli.progress import money
from hornada.cli.remote import ApiKeyFlag, BaseUrlFlag, JsonFlag, connect, say, show, told
from hornada.cli.run import PriceInFlag, PriceOutFlag

if TYPE_CHECKING:
    from hornada.client import Fault
    from hornada.core.batch import Finding

CHECK_EXAMPLES = (
    "hornada check requests.jsonl",
    "hornada check requests.jsonl --server",
    "make-requests | hornada check - --model NAME --json",
)
SPLIT_EXAMPLES = ("hornada split huge.jsonl -o parts", "hornada split mixed.jsonl --by-model --lines 10000 -o parts")
ESTIMATE_EXAMPLES = ("hornada estimate requests.jsonl --price-input 0.15 --price-output 0.60",)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="JSONL of requests; - is standard input.")]
_MEBI = 1 << 20


def check(
    source: FileArgument,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A model that lines may name; may be repeated.  [default: any]"),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="PATH", help="[default: what the first line's url says]")
    ] = None,
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="Findings to tell, at most.")] = 1000,
    server: Annotated[
        bool, typer.Option("--server", help="Ask the server too, which knows its models, limits and prices.")
    ] = False,
    base_url: BaseUrlFlag = None,
    api_key: ApiKeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Find all that is wrong with a file, without a server.

    Says FILE:LINE: CODE: MESSAGE for each finding, as a server would find it, and exits with 2 if there are any.
    """
    if server:
        raise typer.Exit(_ask(source, endpoint, base_url, api_key, as_json=as_json))
    from hornada.client import BadInput
    from hornada.client.input import DEFAULT_ENDPOINT, MOST_BYTES, Peeked, read_line
    from hornada.client.input import check as checked

    with told(), _opened(source) as stream:
        peeked = Peeked(stream)
        wanted = endpoint or read_line(peeked.first_line()).url or DEFAULT_ENDPOINT
        found = checked(peeked, wanted, models=tuple(model or ()), most_findings=most)
        if not peeked.size:
            raise BadInput(f"{source} is empty.")
        _tell(source, found.findings, as_json=as_json)
        if not as_json:
            more = f" (the first {most:,})" if len(found.findings) == most else ""
            said = f"{len(found.findings):,} findings{more}" if found.findings else "no faults"
            say(f"{source}: {found.total:,} requests to {wanted}, {said}.")
            if peeked.size > MOST_BYTES:
                size, limit = peeked.size / _MEBI, MOST_BYTES / _MEBI
                say(f"{source} has {size:,.0f} MiB; many servers take {limit:,.0f} at most: hornada split {source}")
    raise typer.Exit(ExitCode.USAGE if found.findings else ExitCode.DONE)


def _ask(source: Path, endpoint: str | None, base_url: str | None, api_key: str | None, *, as_json: bool) -> ExitCode:
    """The check of a server that has one."""
    if str(source) == "-":
        raise typer.BadParameter("needs a file, not standard input", param_hint="--server")
    with told():
        found = connect(base_url, api_key).check(source, endpoint=endpoint)
        _tell(source, found.faults, as_json=as_json)
        by = "" if found.by_server else " The server has no check of its own; this was found here."
        say(f"{source}: {found.lines:,} requests, {f'{found.found:,} findings' if found.found else 'no faults'}.{by}")
        if found.ok and found.input_tokens is not None:
            costs = found.cost_limit if found.cost_limit is not None else found.input_cost
            cost = f", {'at most' if found.cost_limit is not None else 'input alone'} {money(costs)}" if costs else ""
            say(f"About {found.input_tokens:,} tokens in{cost} {found.currency if cost else ''}".rstrip() + ".")
    return ExitCode.DONE if found.ok else ExitCode.USAGE


def _tell(source: Path, findings: "Iterable[Finding | Fault]", *, as_json: bool) -> None:
    """Each finding on a line, as compilers tell it."""
    for each in findings:
        if as_json:
            fault = {"line": each.line, "code": each.code, "message": each.message, "param": each.param}
            show({"file": str(source), **fault})
        else:
            where = f"{source}:{each.line}" if each.line else str(source)
            typer.echo(f"{where}: {each.code}: {each.message}")


def split(
    source: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="JSONL of requests.")],
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the parts; made if it is not there.")
    ],
    lines: Annotated[int, typer.Option("--lines", metavar="N", min=1, help="Lines of a part, at most.")] = 50_000,
    size: Annotated[int, typer.Option("--bytes", metavar="B", min=1, help="Bytes of a part, at most.")] = 104_857_600,
    by_model: Annotated[bool, typer.Option("--by-model", help="The lines of a part name one model.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Cut a file into parts that a server takes.

    No line is cut. Prints the paths of the parts, in order.
    """
    from hornada.client import split as cut

    with told():
        for part in cut(source, folder, most_lines=lines, most_bytes=size, by_model=by_model):
            if as_json:
                show({"path": str(part.path), "lines": part.lines, "bytes": part.bytes, "model": part.model})
            else:
                typer.echo(str(part.path))


def estimate(
    source: FileArgument,
    price_input: PriceInFlag = None,
    price_output: PriceOutFlag = None,
    output_tokens: Annotated[
        int | None,
        typer.Option("--output-tokens", metavar="N", min=0, help="Tokens of an answer, where you know better."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Count lines and tokens of a file, and what they will cost.

    Input tokens are told from the text (four bytes each). Output tokens are the most that the lines allow, or N a line.
    """
    from hornada.client.input import estimate as estimated

    with told(), _opened(source) as stream:
        found = estimated(stream, output_tokens=output_tokens)
        cost = (found.input_tokens * (price_input or 0) + found.output_tokens * (price_output or 0)) / 1_000_000
        if as_json:
            counts = {"lines": found.lines, "bytes": found.bytes, "models": list(found.models)}
            tokens = {"input_tokens": found.input_tokens, "output_tokens": found.output_tokens}
            priced = price_input is not None or price_output is not None
            costs = round(cost, 6) if priced else None
            show({**counts, **tokens, "lines_without_maximum": found.unbounded, "cost": costs})
            return
        typer.echo(f"lines: {found.lines:,}")
        typer.echo(f"bytes: {found.bytes:,}")
        typer.echo(f"models: {', '.join(found.models) or 'none is named'}")
        typer.echo(f"input tokens: about {found.input_tokens:,}")
        typer.echo(f"output tokens: {'at most ' if output_tokens is None else 'about '}{found.output_tokens:,}")
        if found.unbounded and output_tokens is None:
            say(f"{found.unbounded:,} lines name no maximum and are not in it: say --output-tokens N.")
        if price_input is not None or price_output is not None:
            typer.echo(f"cost: {'at most ' if output_tokens is None else 'about '}{money(round(cost * 1_000_000))}")


@contextmanager
def _opened(source: Path) -> Iterator[BinaryIO]:
    from hornada.client.input import opened
    from hornada.client.strange import refuse_strange
    from hornada.client.tables import is_table

    if is_table(source):
        raise typer.BadParameter(
            "is a table, and what is read here are requests: hornada submit and hornada run make them of its rows",
            param_hint="FILE",
        )
    if str(source) == "-":
        yield sys.stdin.buffer
        return
    refuse_strange(source)
    with opened(source) as stream:
        yield stream
