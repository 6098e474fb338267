"""The body of ``POST /batches``."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from hornada.api.fields import at_most, choice, mapping, missing, pairs, required, text, whole, within
from hornada.core.catalog import ENDPOINTS, VERSION, Catalog
from hornada.core.errors import Code, Refusal
from hornada.core.limits import DialectRules

WINDOWS = ("24h",)
LEAST_LIFETIME_S = 3600
MOST_LIFETIME_S = 2_592_000

_IDEMPOTENCY_LENGTH = 255


class NewBatch(Struct, frozen=True, kw_only=True):
    """A batch as asked for. ``output_lifetime_s`` None: results live as long as the installation says."""

    input_file: str
    endpoint: str
    completion_window: str
    metadata: dict[str, str] | None
    output_lifetime_s: int | None
    idempotency_key: str | None


def parse(
    body: dict[str, Any], endpoints: Iterable[str], header_key: str | None, *, unversioned: bool = False
) -> NewBatch:
    """Checks every field that OpenAI knows and ignores the others; raises Refusal.

    ``endpoints`` are those that may be batched, ``header_key`` is the ``Idempotency-Key`` header if there is one.
    ``unversioned``: an endpoint may come without its ``/v1``.
    """
    return NewBatch(
        input_file=text(required(body, "input_file_id"), "input_file_id"),
        endpoint=choice(endpoint_of(required(body, "endpoint"), unversioned=unversioned), "endpoint", tuple(endpoints)),
        completion_window=choice(
            text(required(body, "completion_window"), "completion_window"), "completion_window", WINDOWS
        ),
        metadata=_metadata(body.get("metadata")),
        output_lifetime_s=lifetime(body.get("output_expires_after"), "output_expires_after"),
        idempotency_key=idempotency_key(header_key if header_key is not None else body.get("idempotency_key")),
    )


def batchable(catalog: Catalog, rules: DialectRules) -> tuple[str, ...]:
    """Endpoints that the dialect knows and some model offers; while no model is known yet, all of the dialect's."""
    known = tuple(name for name in ENDPOINTS if rules.endpoints is None or name in rules.endpoints)
    models = catalog.models.values()
    return tuple(name for name in known if any(model.offers(name) for model in models)) if models else known


def idempotency_key(value: object) -> str | None:
    """A key that makes a repeated call answer what the first one did; None or blank is no key."""
    if value is None or value == "":
        return None
    key = at_most(text(value, "idempotency_key"), "idempotency_key", _IDEMPOTENCY_LENGTH)
    if not key.isprintable():
        message = "Invalid value for 'idempotency_key': expected printable characters only."
        raise Refusal(Code.INVALID_VALUE, message, "idempotency_key")
    return key


def endpoint_of(value: object, *, unversioned: bool) -> str:
    """An endpoint as the catalog names it; ``unversioned``: it may come without its ``/v1``."""
    endpoint = text(value, "endpoint")
    return VERSION + endpoint if unversioned and VERSION + endpoint in ENDPOINTS else endpoint


def _metadata(value: object) -> dict[str, str] | None:
    if value is None:
        return None
    return pairs(mapping(value, "metadata"), "metadata")


def lifetime(value: object, name: str) -> int | None:
    """The seconds of an expiry policy, OpenAI's ``{anchor, seconds}``; None for none."""
    if value is None:
        return None
    policy = mapping(value, name)
    for field in ("anchor", "seconds"):
        if field not in policy:
            raise missing(f"{name}.{field}")
    choice(text(policy["anchor"], f"{name}.anchor"), f"{name}.anchor", ("created_at",))
    seconds = whole(policy["seconds"], f"{name}.seconds")
    return within(seconds, f"{name}.seconds", LEAST_LIFETIME_S, MOST_LIFETIME_S)
