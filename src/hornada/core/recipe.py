"""How the rows of a table become requests: a prompt with the names of columns in braces, and the fields of the body."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from hornada.core.errors import HornadaError

Row = Mapping[str, Any]
Bodies = Mapping[str, Callable[[str, str | None], dict[str, Any]]]

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_NAMED = 20
"""Columns that a message lists at most."""


class BadRecipe(HornadaError):
    """The recipe does not fit its table; the message names the column and those that there are."""


class Recipe(Struct, frozen=True, kw_only=True):
    """What is asked of each row. ``prompt`` and ``system`` hold ``{column}`` for a row's value, ``{{`` for a brace.

    ``model`` None: left to whoever runs it. ``params``: further fields of the body. ``id_column``: where a row's
    ``custom_id`` stands; None: its number, such as ``row-17``.
    """

    prompt: str
    system: str | None = None
    model: str | None = None
    endpoint: str = "/v1/chat/completions"
    params: dict[str, Any] = {}
    id_column: str | None = None

    @property
    def digest(self) -> str:
        """Tells recipes apart; the model and the endpoint, which are known apart, are not in it."""
        parts = [self.prompt, self.system, self.params, self.id_column]
        return sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()

    def check(self, columns: Iterable[str]) -> None:
        """Raises BadRecipe for an unknown column, or an endpoint that no prompt can be sent to."""
        known = list(columns)
        if self.endpoint not in _BODIES:
            can = ", ".join(_BODIES)
            raise BadRecipe(f"A prompt cannot be sent to {self.endpoint}, only to {can}; write the requests yourself.")
        for what, template in (("The prompt", self.prompt), ("The system prompt", self.system or "")):
            for name in places(template):
                _known(name, known, f"{what} asks for {{{name}}}, but there", braces=True)
        if self.id_column is not None:
            _known(self.id_column, known, "The ids are to come from it, but there", braces=False)

    def requests(self, rows: Iterable[Row], model: str | None = None) -> Iterator[bytes]:
        """The line of each row, with its LF. ``model`` is called where the recipe names none.

        Raises BadRecipe for a row without an id.
        """
        named = self.model or model
        head = {} if named is None else {"model": named}
        for number, row in enumerate(rows, 1):
            body = _BODIES[self.endpoint](fill(self.prompt, row), self.system and fill(self.system, row))
            line = {
                "custom_id": self.custom_id(row, number),
                "method": "POST",
                "url": self.endpoint,
                "body": {**head, **body, **self.params},
            }
            yield msgspec.json.encode(line) + b"\n"

    def custom_id(self, row: Row, number: int) -> str:
        """A row's id; rows count from 1."""
        if self.id_column is None:
            return f"row-{number}"
        found = said(row.get(self.id_column))
        if not found:
            raise BadRecipe(f"Row {number} has no id: its column {self.id_column!r} is empty.")
        return found


def column_prompt(name: str) -> str:
    """The prompt that is the value of one column."""
    return "{" + name + "}"


def places(template: str) -> list[str]:
    """The columns that a template asks for."""
    return [found[1] for found in _PLACE.finditer(template) if found[1] is not None]


def fill(template: str, row: Row) -> str:
    """A template with the values of a row."""
    return _PLACE.sub(lambda found: found[0][0] if found[1] is None else said(row.get(found[1])), template)


def said(value: Any) -> str:
    """A value as text: nothing for None, JSON for what is no text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    plain = msgspec.to_builtins(value, str_keys=True)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


def parameter(text: str) -> tuple[str, Any]:
    """Reads ``NAME=VALUE``: JSON where it is JSON, text elsewhere. Raises ValueError without a name."""
    name, mark, value = text.partition("=")
    if not name or not mark:
        raise ValueError(text)
    try:
        return name, msgspec.json.decode(value)
    except msgspec.DecodeError:
        return name, value


def _known(name: str, columns: list[str], before: str, *, braces: bool) -> None:
    if name in columns:
        return
    near = get_close_matches(name, columns, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
    there = ", ".join(columns[:_NAMED]) + more if columns else "none"
    text = not name.replace(" ", "").replace("-", "").isidentifier()
    literal = " For braces that are text write {{ and }}." if braces and text else ""
    raise BadRecipe(f"{before} is no column {name!r}. The columns are: {there}.{hint}{literal}")


def _chat(prompt: str, system: str | None) -> dict[str, Any]:
    first = [{"role": "system", "content": system}] if system else []
    return {"messages": [*first, {"role": "user", "content": prompt}]}


def _completion(prompt: str, system: str | None) -> dict[str, Any]:
    return {"prompt": f"{system}\n\n{prompt}" if system else prompt}


def _response(prompt: str, system: str | None) -> dict[str, Any]:
    return {"input": prompt, **({"instructions": system} if system else {})}


def _input(prompt: str, system: str | None) -> dict[str, Any]:
    return {"input": f"{system}\n\n{prompt}" if system else prompt}


_BODIES: Bodies = {
    "/v1/chat/completions": _chat,
    "/v1/completions": _completion,
    "/v1/responses": _response,
    "/v1/embeddings": _input,
    "/v1/moderations": _input,
}
