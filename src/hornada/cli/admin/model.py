"""``hornada admin model``, ``alias`` and ``price``: the catalog, also while batches run."""

import sys
from typing import Annotated, Any

import typer

from hornada.cli.admin.command import Answered, Json, command
from hornada.cli.admin.desk import Desk, Refused

app = typer.Typer(name="model", no_args_is_help=True, rich_markup_mode=None, help="Models of the catalog.")
aliases = typer.Typer(name="alias", no_args_is_help=True, rich_markup_mode=None, help="Other names of models.")
prices = typer.Typer(name="price", no_args_is_help=True, rich_markup_mode=None, help="What models cost.")
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Catalog name of the model.")]
AliasArgument = Annotated[str, typer.Argument(metavar="ALIAS", help="The alias.")]
_COLUMNS = ("name", "upstream", "endpoints", "capacity", "batch", "reserve", "harm", "price")
_PRICE = ("name", "input", "cached_input", "output")
_SET = ("upstream", "endpoints", "capacity", "batch", "reserve", "harm", "batch_priority", "price")


@command(app, "list")
def listing(desk: Desk) -> Answered:
    """List the models of the catalog with their servers."""
    return Answered(desk("GET", "models")["data"], _COLUMNS)


@command(app, "set")
def change(
    desk: Desk,
    name: ModelArgument,
    upstream: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Base URL of a server that runs it; may be repeated.")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option("--api-key", metavar="KEY", help='Key of its servers; "-" reads it from stdin.')
    ] = None,
    upstream_model: Annotated[
        str | None, typer.Option("--upstream-model", metavar="NAME", help="Its servers' own name of the model.")
    ] = None,
    endpoint: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="Endpoint that it offers; may be repeated. Default: all.")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option(metavar="N", help='Concurrent requests that its servers take well, or "auto".')
    ] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="N", help='Slots that lines may use; "true": all, "false": none.')
    ] = None,
    reserve: Annotated[int | None, typer.Option(metavar="N", help="Slots that lines leave free.")] = None,
    harm: Annotated[
        float | None,
        typer.Option(metavar="X", help="By what part lines may raise regular calls' p95 to first byte; 0.05: 5 %."),
    ] = None,
    batch_priority: Annotated[
        int | None, typer.Option("--batch-priority", metavar="N", help="Priority that lines are sent with (vLLM).")
    ] = None,
) -> Answered:
    """Add a model, or change what is given of one. A model that was retired is back."""
    known = _known(desk, name)
    body = {field: known[field] for field in _SET} if known else {}
    given = {
        "endpoints": endpoint or None,
        "capacity": _value(capacity),
        "batch": _value(batch),
        "reserve": reserve,
        "harm": harm,
        "batch_priority": batch_priority,
    }
    body |= {field: value for field, value in given.items() if value is not None}
    body["upstream"] = _servers(body.get("upstream", []), upstream or [], _secret(api_key), upstream_model)
    return Answered(desk("PUT", "models", name, body=body), _COLUMNS)


@command(app, "retire")
def retire(desk: Desk, name: ModelArgument) -> Answered:
    """Take a model out of the catalog. The remaining lines of batches that name it end with status 404."""
    return Answered(desk("DELETE", "models", name), ("id", "retired"))


@command(app, "pause")
def pause(desk: Desk, name: ModelArgument) -> Answered:
    """Start no line of a model until it is resumed; regular calls go on."""
    return Answered(desk("POST", "models", name, "pause"), ("name", "paused"))


@command(app, "resume")
def resume(desk: Desk, name: ModelArgument) -> Answered:
    """Let lines of a paused model start again."""
    return Answered(desk("POST", "models", name, "resume"), ("name", "paused"))


@command(aliases, "list")
def list_aliases(desk: Desk) -> Answered:
    """List all aliases."""
    return Answered(desk("GET", "aliases")["data"], ("alias", "model"))


@command(aliases, "set")
def put_alias(desk: Desk, alias: AliasArgument, name: ModelArgument) -> Answered:
    """Point an alias at a model. Lines of running batches that use it go there from now on."""
    return Answered(desk("PUT", "aliases", alias, body={"model": name}), ("alias", "model"))


@command(aliases, "remove")
def drop_alias(desk: Desk, alias: AliasArgument) -> Answered:
    """Remove an alias."""
    return Answered(desk("DELETE", "aliases", alias), ("id", "deleted"))


@command(prices, "set")
def put_price(
    desk: Desk,
    name: ModelArgument,
    input_: Annotated[int | None, typer.Option("--input", metavar="N", min=0, help="Input tokens.")] = None,
    cached_input: Annotated[
        int | None, typer.Option("--cached-input", metavar="N", min=0, help="Input tokens that the server had cached.")
    ] = None,
    output: Annotated[int | None, typer.Option("--output", metavar="N", min=0, help="Output tokens.")] = None,
) -> Answered:
    """Change a model's price, in micro-units per million tokens, from now on."""
    known = _known(desk, name)
    if known is None:
        raise Refused(f"There is no model '{name}' (model_not_found)")
    given = {"input": input_, "cached_input": cached_input, "output": output}
    body = known["price"] | {field: value for field, value in given.items() if value is not None}
    changed = desk("PUT", "models", name, "price", body=body)
    return Answered({"name": name, **changed["price"]}, _PRICE)


def mount(admin: typer.Typer) -> None:
    """Adds all three."""
    for each in (app, aliases, prices):
        admin.add_typer(each)


def _known(desk: Desk, name: str) -> Json | None:
    return next((model for model in desk("GET", "models")["data"] if model["name"] == name), None)


def _servers(known: list[Json], urls: list[str], key: str | None, model: str | None) -> list[Json]:
    """Servers at ``urls``, or those that are known; one that is known keeps what is not given."""
    at: dict[str, Json] = {server["url"]: server for server in known}
    given = {"api_key": key, "model": model}
    changed = {field: value for field, value in given.items() if value is not None}
    return [{**at.get(url.rstrip("/"), {"url": url}), **changed} for url in urls or at]


def _secret(given: str | None) -> str | None:
    return sys.stdin.readline().strip() if given == "-" else given


def _value(text: str | None) -> Any:
    """A number or a truth value as JSON has it; other words stay what they are, for the server to judge."""
    if text is None:
        return None
    return {"true": True, "false": False}.get(text, int(text) if text.isdecimal() else text)
