"""From method and path to a route: a look-up for fixed paths, a few patterns for the others."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct
from starlette.types import Scope

from hornada.api.call import Call, Response
from hornada.core.errors import Code, Refusal
from hornada.dialects import DIALECTS
from hornada.dialects.protocol import Dialect

Handler = Callable[[Call], Awaitable[Response | None]]
"""Answers a call; None when it has sent its answer itself."""

_DEPLOYED = re.compile(r"/deployments/[^/]+(/.+)")
_PIECE = re.compile(r"\{(\w+)(:path)?\}")


class Parameter(Struct, frozen=True, kw_only=True):
    """One parameter of a query, with its JSON schema and OpenAPI's word for how an object is spelled."""

    name: str
    schema: dict[str, Any]
    about: str
    style: str = "form"


class Answer(Struct, frozen=True, kw_only=True):
    """A success as the OpenAPI document describes it: one schema, or one for each of several spellings."""

    media: str = "application/json"
    schemas: tuple[type[Struct], ...] = ()


class Body(Struct, frozen=True, kw_only=True):
    """A request body as the OpenAPI document describes it."""

    media: str = "application/json"
    schema: type[Struct] | dict[str, Any]
    required: bool = True


class Route(Struct, frozen=True, kw_only=True):
    """One line of the table that drives both the routing and the OpenAPI document.

    ``path`` is relative to a dialect's base, or to the root when ``root`` (without dialect) or ``public`` (without
    dialect and without key). ``members_only``: the operator, who is of no organization, has no business there.
    ``unready``: a 503 is answered with the same object as a 200.
    A piece in braces matches one part of the path, with ``:path`` the rest of it, slashes and all.
    """

    method: str
    path: str
    name: str
    summary: str
    handler: Handler
    answer: Answer
    codes: tuple[Code, ...] = ()
    query: tuple[Parameter, ...] = ()
    body: Body | None = None
    public: bool = False
    root: bool = False
    members_only: bool = False
    unready: bool = False

    @property
    def mounted(self) -> bool:
        """Whether it stands under the base path of every dialect."""
        return not (self.public or self.root)


class Found(Struct, frozen=True):
    """A route with the decoded pieces of the path."""

    route: Route
    params: Mapping[str, str]


class NotAllowed(Refusal):
    """A path that exists, asked with a method that it does not take; ``allow`` are those it does."""

    def __init__(self, method: str, path: str, allow: Iterable[str]) -> None:
        self.allow = ", ".join(sorted(allow))
        super().__init__(Code.METHOD_NOT_ALLOWED, f"Method {method} is not allowed for {path}; allowed: {self.allow}.")


class Router:
    """Finds routes under every dialect's base path. Both forms of a path, with and without a final slash, are one."""

    def __init__(self, routes: Iterable[Route], dialects: Mapping[str, str]) -> None:
        bases = sorted(dialects, key=len, reverse=True)
        self._bases = [(base.rstrip("/") + "/", DIALECTS[dialects[base]]) for base in bases]
        self._default = DIALECTS["infernode"]
        self._root = Table(route for route in routes if not route.mounted)
        self._mounted = Table(route for route in routes if route.mounted)

    def dialect(self, scope: Scope) -> tuple[Dialect, str | None]:
        """The dialect of a path, and what follows its base; None outside of every base."""
        path: str = scope["path"]
        for base, dialect in self._bases:
            if path.startswith(base):
                rest = path[len(base) - 1 :]
                deployed = _DEPLOYED.fullmatch(rest) if dialect.deployments else None
                return dialect, deployed[1] if deployed else rest
        return self._default, None

    def find(self, scope: Scope, rest: str | None) -> Found:
        """The route of a call, given what ``dialect`` said; raises Refusal NOT_FOUND or NotAllowed."""
        method: str = scope["method"]
        if rest is not None and (route := self._mounted.fixed(method, rest)):
            return Found(route, {})
        path = raw_path(scope)
        table = self._root if rest is None else self._mounted
        found = table.match(method, path if rest is None else path[self._skip(path) :])
        if isinstance(found, Found):
            return found
        if found:
            raise NotAllowed(method, path[:200], found)
        raise Refusal(Code.NOT_FOUND, f"No such path: {method} {path[:200]}.")

    def _skip(self, path: str) -> int:
        """Where a raw path goes on behind the base; the base itself may be percent-encoded too."""
        return next((len(base) - 1 for base, _ in self._bases if path.startswith(base)), len(path))


class Table:
    """Routes of one mount."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[tuple[str, str], Route] = {}
        patterns: dict[str, dict[str, Route]] = {}
        for route in routes:
            for method in (route.method, "HEAD") if route.method == "GET" else (route.method,):
                patterns.setdefault(route.path, {})[method] = route
                if "{" not in route.path:
                    self._fixed[method, route.path] = route
        self._patterns = [(_compile(path), methods) for path, methods in patterns.items()]

    def fixed(self, method: str, path: str) -> Route | None:
        """The route of a path without variable pieces."""
        return self._fixed.get((method, path))

    def match(self, method: str, path: str) -> Found | Iterable[str]:
        """The route of a raw (percent-encoded) path, or the methods that it would take: none if there is no such path.

        A fixed path comes before one with variable pieces that matches it too, as it does in the table.
        """
        path = path.rstrip("/") or "/"
        for pattern, methods in self._patterns:
            if matched := pattern.fullmatch(path):
                route = methods.get(method)
                params = {name: unquote(piece) for name, piece in matched.groupdict().items()}
                return Found(route, params) if route else methods
        return ()


def _compile(path: str) -> re.Pattern[str]:
    pattern, at = "", 0
    for piece in _PIECE.finditer(path):
        pattern += re.escape(path[at : piece.start()])
        pattern += f"(?P<{piece[1]}>{'.+' if piece[2] else '[^/]+'})"
        at = piece.end()
    return re.compile(pattern + re.escape(path[at:]), re.DOTALL)


def raw_path(scope: Scope) -> str:
    """The path as it was sent, so that ``%2F`` inside an id is no slash; some servers give only the decoded one."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return quote(scope["path"])
    return raw.split(b"?", 1)[0].decode("latin-1")
