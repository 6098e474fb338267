"""Calls about money: what is left, what was used, and credit."""

from datetime import UTC, date, datetime

from hornada.api import fields
from hornada.api.admin_fields import Fields
from hornada.api.call import Call, Response, json_response
from hornada.api.services import Services
from hornada.core.account import Role
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.core.money import MOST_AMOUNT
from hornada.dialects.protocol import Json
from hornada.dialects.spelling import usage
from hornada.engine.billing import Standing
from hornada.store.ledger import Used

PARTS = ("day", "model", "endpoint")
DEFAULT_DAYS = 30
MOST_DAYS = 366
NOTE = 512
_EPOCH = date(1970, 1, 1)


class BillingCalls:
    """``/billing`` for whoever has a key, ``/admin/organizations/{id}/credits`` for the operator."""

    def __init__(self, services: Services) -> None:
        self._billing = services.billing
        self._currency = services.currency

    async def balance(self, call: Call) -> Response:
        """``GET /billing/balance``; the guides name ``last_event.endpoint`` alone, the rest is ours."""
        return json_response(self._spelled(await self._billing.standing(_organization(call))))

    async def usage(self, call: Call) -> Response:
        """``GET /billing/usage``: from the first day through the last (UTC), by default the last 30."""
        query = call.query()
        today = datetime.now(UTC).date()
        last = _day(query["to"], "to") if "to" in query else today
        first = (
            _day(query["from"], "from")
            if "from" in query
            else date.fromordinal(max(1, last.toordinal() - DEFAULT_DAYS + 1))
        )
        days = (last - first).days + 1
        if not 1 <= days <= MOST_DAYS:
            message = f"Invalid 'from': expected 1 to {MOST_DAYS} days from 'from' through 'to', but got {days}."
            raise Refusal(Code.INVALID_VALUE, message, "from")
        by = [fields.choice(name, "group_by", PARTS) for name in query.get("group_by", ",".join(PARTS)).split(",")]
        found = await self._billing.used(
            _organization(call), (first - _EPOCH).days, (last - _EPOCH).days, frozenset(by)
        )
        amount = sum(used.amount for used in found)
        data = [_spelled_usage(used) for used in found]
        return json_response({"object": "list", "data": data, "currency": self._currency, "amount": amount})

    async def credit(self, call: Call) -> Response:
        """``POST /admin/organizations/{id}/credits``."""
        given = Fields(await call.json(), "amount", "note")
        amount = fields.within(fields.whole(given.needed("amount"), "amount"), "amount", 0, MOST_AMOUNT)
        note = fields.at_most(fields.text(given["note"], "note"), "note", NOTE) if "note" in given else None
        return json_response(self._spelled(await self._billing.credit(call.principal, call.params["id"], amount, note)))

    async def balance_of(self, call: Call) -> Response:
        """``GET /admin/organizations/{id}/balance``."""
        return json_response(self._spelled(await self._billing.standing_of(call.principal, call.params["id"])))

    async def reconcile(self, call: Call) -> Response:
        """``GET /admin/reconciliation``: what in the ledger does not agree with results and balances."""
        found = await self._billing.differences(call.principal)
        data = [{"what": each.what, "of": each.of, "ledger": each.ledger, "found": each.found} for each in found]
        return json_response({"object": "list", "data": data})

    def _spelled(self, standing: Standing) -> Json:
        """The same in every dialect: micro-units, whole seconds, null for unlimited and for never used."""
        last = standing.last
        event = last and {
            "endpoint": last.endpoint,
            "model": last.model,
            "amount": last.amount,
            "tokens": last.usage.input + last.usage.output,
            "created_at": last.created_at // SECOND,
        }
        return {"object": "balance", "balance": standing.left, "currency": self._currency, "last_event": event}


def _spelled_usage(used: Used) -> Json:
    day = None if used.day is None else date.fromordinal(_EPOCH.toordinal() + used.day).isoformat()
    return {
        "object": "billing.usage",
        "day": day,
        "model": used.model,
        "endpoint": used.endpoint,
        "requests": used.requests,
        **(usage(used.usage) or {}),
        "amount": used.amount,
        "estimated": used.estimated,
    }


def _organization(call: Call) -> str:
    if call.principal.role is Role.OPERATOR:
        message = "The operator belongs to no organization; see /admin/organizations/{id}/balance."
        raise Refusal(Code.PERMISSION_DENIED, message)
    return call.principal.org


def _day(text: str, name: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = _EPOCH
        text = text[:100]
    if day.isoformat() != text or day < _EPOCH:
        message = f"Invalid '{name}': expected a day in UTC such as '2026-01-31', but got '{text}'."
        raise Refusal(Code.INVALID_VALUE, message, name)
    return day
