"""The options that say what is asked of each row of a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hornada.core.recipe import Recipe, column_prompt, parameter

PromptFlag = Annotated[
    str | None,
    typer.Option(
        "--prompt", metavar="TEXT", help='What to ask of each row, such as "Translate: {text}"; @FILE reads it there.'
    ),
]
ColumnFlag = Annotated[
    str | None, typer.Option("--column", metavar="NAME", help="The column that is the prompt, instead of --prompt.")
]
SystemFlag = Annotated[
    str | None, typer.Option("--system", metavar="TEXT", help="System prompt, with columns in braces too; or @FILE.")
]
ParamFlag = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="Field of each request's body, such as temperature=0."),
]
IdColumnFlag = Annotated[
    str | None,
    typer.Option("--id-column", metavar="NAME", help="Column that names the rows.  [default: row-1, row-2 ...]"),
]


def recipe(
    source: Path,
    *,
    prompt: str | None,
    column: str | None,
    system: str | None,
    params: list[str] | None,
    id_column: str | None,
    model: str | None,
    endpoint: str | None,
) -> Recipe | None:
    """What is asked of the rows of ``source``; None when its lines are requests. Raises BadParameter and BadInput."""
    if prompt is not None and column is not None:
        raise typer.BadParameter("cannot be given together with --prompt", param_hint="--column")
    if prompt is None and column is None:
        _plain(source, {"--system": system, "--param": params, "--id-column": id_column})
        return None
    fields = dict(_parameter(each) for each in params or [])
    made = Recipe(
        prompt=read_text(prompt, "--prompt") if prompt is not None else column_prompt(column or ""),
        system=read_text(system, "--system") if system is not None else None,
        model=model or fields.pop("model", None),
        endpoint=endpoint or "/v1/chat/completions",
        params=fields,
        id_column=id_column,
    )
    from hornada.client.tables import open_table

    made.check(found.name for found in open_table(source).columns)
    return made


def _plain(source: Path, useless: dict[str, Any]) -> None:
    """Requests as they are: a table, or options for one, would be a mistake."""
    from hornada.client.tables import is_table, open_table

    if is_table(source):
        columns = ", ".join(found.name for found in open_table(source).columns)
        raise typer.BadParameter(
            f"is a table: say what to ask of each row, with --column NAME or --prompt TEXT. Its columns: {columns}",
            param_hint="INPUT",
        )
    for flag, value in useless.items():
        if value:
            raise typer.BadParameter("needs --prompt or --column: the lines are requests as they are", param_hint=flag)


def read_text(given: str, flag: str) -> str:
    """What is given, or stands in the file that it names after an ``@``. Raises BadParameter."""
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{given[1:]} cannot be read: {error.strerror}", param_hint=flag) from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{given[1:]} is not UTF-8", param_hint=flag) from None


def _parameter(text: str) -> tuple[str, Any]:
    try:
        return parameter(text)
    except ValueError:
        raise typer.BadParameter(f'must be NAME=VALUE, not "{text}"', param_hint="--param") from None
