"""The page of routes, from the table that drives the routing."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

from hornada.api.router import Route
from hornada.api.routes import table as routes
from hornada.api.services import Services
from hornada.config.tree import DEFAULT_DIALECTS
from hornada.core.limits import Limits
from tools.reference.markdown import code, head, table

INTRODUCTION = """
Every path below stands under each dialect's base path, except those of administration and operations, which stand at
the root. Operations need no key. Administration takes the operator's key (`server.operator_key`); members, keys and
webhooks of an organization may also be managed with the key of one of its admins. The document at `/openapi.json` tells
requests and answers whole.
""".strip()


def page() -> str:
    """Every route with the codes that it may refuse with."""
    known = {"limits": Limits(), "batches_enabled": True, "webhooks_enabled": True, "calls": True}
    nothing = cast("Services", SimpleNamespace(**{**dict.fromkeys(Services.__annotations__), **known}))
    found = routes(nothing, dict, bytes)
    bases = table(("Base path", "Dialect"), [(code(path), name) for path, name in DEFAULT_DIALECTS.items()])
    parts = [head("Routes", INTRODUCTION), bases]
    kinds: dict[str, Callable[[Route], bool]] = {
        "Under every base path": lambda route: route.mounted,
        "Administration": lambda route: route.root,
        "Operations": lambda route: route.public,
    }
    for title, of_kind in kinds.items():
        rows = [
            (
                code(f"{route.method} {route.path}"),
                route.summary,
                ", ".join(code(c) for c in dict.fromkeys(route.codes)),
            )
            for route in found
            if of_kind(route)
        ]
        parts += [f"\n## {title}\n", table(("Route", "What it does", "Codes of its own"), rows)]
    keys = [(code(f"{route.method} {route.path}"), code(key.name), key.about) for route in found for key in route.query]
    parts += ["\n## Query keys\n", table(("Route", "Key", "What it does"), keys)]
    return "\n".join(parts) + "\n"
