"""``POST /batches/{id}/retry``: a new batch of the lines that failed, expired or were cancelled."""

from collections.abc import Sequence
from typing import Any

from hornada.api.call import Call, Response, json_response
from hornada.api.create import idempotency_key
from hornada.api.fields import at_most, number, within, wrong_type
from hornada.api.files import deduplicated
from hornada.api.services import Services
from hornada.core.errors import Code, Refusal

MOST_CODES = 100
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
            only(body.get("only")),
            retry=call.retry,
            idempotency_key=idempotency_key(header if header is not None else body.get("idempotency_key")),
        )
        headers = deduplicated(call, call.dialect.batch_id(batch.id)) if earlier else ()
        own = call.dialect.outlook(batch, (await self._pace.of([batch]))[batch.id])
        return json_response(call.dialect.batch(batch) | own, headers=headers)


def only(value: Any) -> Sequence[str]:
    """Codes such as ``batch_expired`` and HTTP statuses such as 503; none for every line. Raises Refusal."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong_type("only", "an array of codes and HTTP statuses", value)
    if not 0 < len(value) <= MOST_CODES:
        message = f"Invalid 'only': expected 1 to {MOST_CODES} codes and HTTP statuses, but got {len(value)}."
        raise Refusal(Code.INVALID_VALUE, message, "only")
    return [_code(each, f"only[{at}]") for at, each in enumerate(value)]


def _code(value: object, name: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"http_{within(value, name, *_STATUSES)}"
    if not isinstance(value, str):
        raise wrong_type(name, "a code or an HTTP status", value)
    code = at_most(value, name, _CODE_LENGTH)
    return f"http_{within(number(code, name), name, *_STATUSES)}" if code.isdecimal() else code
