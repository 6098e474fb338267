"""Calls about webhooks: endpoints in OpenAI's shape, what is sent to them, and what came of it.

The same calls stand under every base path, for an organization's admins, and under ``/admin``, for the operator too.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import UNSET

from hornada.api.admin_fields import Fields, name_of, page_of
from hornada.api.call import Call, Response, json_response
from hornada.api.fields import choice, text, within, wrong_type
from hornada.api.services import Services
from hornada.core.clock import SECOND
from hornada.core.page import Page
from hornada.core.webhook import Delivery, DeliveryStatus, Endpoint, EventType
from hornada.dialects.spelling import listing, seconds
from hornada.engine.webhooks import Change

T = TypeVar("T")
Json = dict[str, Any]

EVENTS = tuple(each.value for each in EventType)
STATUSES = tuple(each.value for each in DeliveryStatus)
OVERLAP = "keep_old_secret_active_for_24_hours"
DEFAULT_NAME = "webhook"


class WebhookCalls:
    """Create, list, show, change, rotate, try out and delete endpoints; list deliveries and send them again."""

    def __init__(self, services: Services) -> None:
        self._webhooks = services.webhooks

    async def create(self, call: Call) -> Response:
        """``POST /webhook_endpoints``: with the secret, which is shown again only after its rotation."""
        fields = Fields(await call.json(), "name", "url", "event_types")
        made = await self._webhooks.create(
            call.principal,
            call.params.get("id"),
            name=name_of(fields.get("name", DEFAULT_NAME)),
            url=text(fields.needed("url"), "url"),
            events=_events(fields.needed("event_types")),
            retry=call.retry,
        )
        return json_response(_revealed(made))

    async def page(self, call: Call) -> Response:
        """``GET /webhook_endpoints``, newest first."""
        after, limit = page_of(call.query())
        found = await self._webhooks.page(call.principal, call.params.get("id"), after=after, limit=limit)
        return _listed(found, endpoint)

    async def get(self, call: Call) -> Response:
        """``GET /webhook_endpoints/{id}``."""
        return json_response(endpoint(await self._webhooks.get(call.principal, call.params["id"])))

    async def change(self, call: Call) -> Response:
        """``POST /webhook_endpoints/{id}``: what is given."""
        fields = Fields(await call.json(), "name", "url", "event_types", "enabled")
        fields.some()
        change = Change(
            name=name_of(fields["name"]) if "name" in fields else UNSET,
            url=text(fields["url"], "url") if "url" in fields else UNSET,
            events=_events(fields["event_types"]) if "event_types" in fields else UNSET,
            enabled=_flag(fields["enabled"], "enabled") if "enabled" in fields else UNSET,
        )
        return json_response(endpoint(await self._webhooks.change(call.principal, call.params["id"], change)))

    async def delete(self, call: Call) -> Response:
        """``DELETE /webhook_endpoints/{id}``."""
        gone = await self._webhooks.delete(call.principal, call.params["id"])
        return json_response({"id": _id(gone), "object": "webhook_endpoint.deleted", "deleted": True})

    async def rotate(self, call: Call) -> Response:
        """``POST /webhook_endpoints/{id}/rotate_secret``; a body is not needed."""
        fields = Fields(await _body(call), OVERLAP)
        overlap = _flag(fields.get(OVERLAP, False), OVERLAP)
        return json_response(_revealed(await self._webhooks.rotate(call.principal, call.params["id"], overlap=overlap)))

    async def trial(self, call: Call) -> Response:
        """``POST /webhook_endpoints/{id}/test``: sends a sample and waits for the answer."""
        fields = Fields(await _body(call), "event_type")
        kind = choice(text(fields.get("event_type", EVENTS[0]), "event_type"), "event_type", EVENTS)
        status = await self._webhooks.trial(call.principal, call.params["id"], kind)
        found = await self._webhooks.get(call.principal, call.params["id"])
        return json_response(
            {
                "object": "webhook_endpoint.test",
                "webhook_endpoint_id": _id(found),
                "event_type": kind,
                "status_code": status,
                "success": True,
            }
        )

    async def deliveries(self, call: Call) -> Response:
        """``GET /webhook_endpoints/{id}/deliveries``, newest first."""
        query = call.query()
        after, limit = page_of(query)
        status = DeliveryStatus(choice(query["status"], "status", STATUSES)) if query.get("status") else None
        found = await self._webhooks.deliveries(
            call.principal, call.params["id"], status=status, after=after, limit=limit
        )
        return _listed(found, delivery)

    async def redeliver(self, call: Call) -> Response:
        """``POST /webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver``; reads no body."""
        again = await self._webhooks.redeliver(call.principal, call.params["id"], call.params["delivery_id"])
        return json_response(delivery(again))

    async def event_types(self, call: Call) -> Response:  # noqa: ARG002 - the shape of a handler
        """``GET /webhook_event_types``."""
        return json_response({"object": "list", "data": list(EVENTS)})


def endpoint(found: Endpoint) -> Json:
    """An endpoint object, without its secret; ours beside OpenAI's: its status, and since when it fails."""
    return {
        "id": _id(found),
        "object": "webhook_endpoint",
        "organization_id": found.org,
        "name": found.name,
        "url": found.url,
        "event_types": sorted(found.events),
        "status": found.status.value,
        "disabled_reason": found.why_disabled and found.why_disabled.value,
        "failing_since": seconds(found.failing_since),
        "old_secret_expires_at": seconds(found.old_secret_until),
        "created_at": found.created_at // SECOND,
        "updated_at": found.updated_at // SECOND,
    }


def delivery(found: Delivery) -> Json:
    """A delivery object: ours, OpenAI has none."""
    pending = found.status is DeliveryStatus.PENDING
    return {
        "id": "whd_" + found.id,
        "object": "webhook_delivery",
        "webhook_endpoint_id": "whe_" + found.endpoint,
        "event_id": found.event,
        "event_type": found.type,
        "data": {"id": found.subject},
        "status": found.status.value,
        "test": found.trial,
        "attempts": found.attempts,
        "response_status": found.code,
        "duration_ms": found.took_ms,
        "error": found.error,
        "created_at": found.created_at // SECOND,
        "last_attempt_at": seconds(found.tried_at),
        "next_attempt_at": found.next_at // SECOND if pending else None,
        "ended_at": seconds(found.ended_at),
    }


def _id(found: Endpoint) -> str:
    return "whe_" + found.id


def _revealed(made: Endpoint) -> Json:
    return {**endpoint(made), "signing_secret": made.secret}


def _listed(page: Page[T], spell: Callable[[T], Json]) -> Response:
    return json_response(listing([spell(item) for item in page.items], more=page.more))


def _events(value: object) -> frozenset[str]:
    if not isinstance(value, list):
        raise wrong_type("event_types", "an array of strings", value)
    within(len(value), "event_types.length", 1, 100)
    names = [(f"event_types[{at}]", each) for at, each in enumerate(value)]
    return frozenset(choice(text(each, name), name, EVENTS) for name, each in names)


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(name, "a boolean", value)
    return value


async def _body(call: Call) -> Json:
    """The body of a call that needs none."""
    nothing = call.header(b"content-length") in {None, "0"} and call.header(b"transfer-encoding") is None
    return {} if nothing else await call.json()
