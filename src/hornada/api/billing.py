"""Calls under ``/billing``."""

from hornada.api.call import Call, Response, json_response
from hornada.api.services import Balance, Services
from hornada.core.clock import SECOND


class BillingCalls:
    """What is left, and what was used last."""

    def __init__(self, services: Services) -> None:
        self._balance = services.balance

    async def balance(self, call: Call) -> Response:
        """``GET /billing/balance``; the seed names ``last_event.endpoint`` alone, the rest is ours (contract 2)."""
        return json_response(spelled(await self._balance(call.principal)))


def spelled(balance: Balance) -> dict[str, object]:
    """The same in every dialect: micro-units, whole seconds, null for unlimited and for never used."""
    event = balance.last_event
    last = event and {
        "endpoint": event.endpoint,
        "model": event.model,
        "amount": event.amount,
        "tokens": event.tokens,
        "created_at": event.created_at // SECOND,
    }
    return {"object": "balance", "balance": balance.balance, "currency": balance.currency, "last_event": last}
