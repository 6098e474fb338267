"""``POST /batches/{id}/retry``: a new batch of the lines that failed, expired or were cancelled, or of some."""

from collections.abc import Callable
from typing import Any

from hornada.api.call import Call, Response, json_response
from hornada.api.create import idempotency_key
from hornada.api.fields import at_most, number, text, within, wrong_type
from hornada.api.files import deduplicated
from hornada.api.services import Services
from hornada.core.errors import Code, Refusal
from hornada.core.glance import CUSTOM_ID_LENGTH
from hornada.engine.retrying import Choice

MOST_CODES = 100
MOST_IDS = 50_000
_CODE_LENGTH = 64
_STATUSES = (100, 999)


class RetryCalls:
    """Retries."""

    def __init__(self, services: Services) -> None:
        self._retrying = services.retrying
        self._pace = services.pace

    async def retry(self, call: Call) -> Response:
        """``POST /batches/{id}/retry``; its body may be absent."""
        body = await call.optional_json()
        header = call.header(b"idempotency-key")
        batch, earlier = await self._retrying.retry(
            call.principal,
            call.params["id"],
            choice(body),
            retry=call.retry,
            idempotency_key=idempotency_key(header if header is not None else body.get("idempotency_key")),
        )
        headers = deduplicated(call, call.dialect.batch_id(batch.id)) if earlier else ()
        own = call.dialect.outlook(batch, (await self._pace.of([batch]))[batch.id])
        return json_response(call.dialect.batch(batch) | own, headers=headers)


def choice(body: dict[str, Any]) -> Choice:
    """Which lines ``only``, ``custom_ids`` and ``answered`` ask for. Raises Refusal."""
    codes = _several(body.get("only"), "only", MOST_CODES, "codes and HTTP statuses", _code)
    ids = _several(body.get("custom_ids"), "custom_ids", MOST_IDS, "custom_ids", _custom_id)
    answered = body.get("answered", False)
    if not isinstance(answered, bool):
        raise wrong_type("answered", "a boolean", answered)
    if codes and ids:
        message = "Invalid 'only': it cannot be given together with 'custom_ids', which names the lines."
        raise Refusal(Code.INVALID_VALUE, message, "only")
    if answered and not ids:
        message = "Invalid 'answered': it needs 'custom_ids', to say which lines are run though they have an answer."
        raise Refusal(Code.INVALID_VALUE, message, "answered")
    return Choice(codes=codes, ids=ids, answered=answered)


def _several(value: Any, name: str, most: int, what: str, read: Callable[[object, str], str]) -> frozenset[str]:
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        raise wrong_type(name, f"an array of {what}", value)
    if not 0 < len(value) <= most:
        message = f"Invalid '{name}': expected 1 to {most} {what}, but got {len(value)}."
        raise Refusal(Code.INVALID_VALUE, message, name)
    return frozenset(read(each, f"{name}[{at}]") for at, each in enumerate(value))


def _custom_id(value: object, name: str) -> str:
    return at_most(text(value, name), name, CUSTOM_ID_LENGTH)


def _code(value: object, name: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"http_{within(value, name, *_STATUSES)}"
    if not isinstance(value, str):
        raise wrong_type(name, "a code or an HTTP status", value)
    code = at_most(value, name, _CODE_LENGTH)
    return f"http_{within(number(code, name), name, *_STATUSES)}" if code.isdecimal() else code
