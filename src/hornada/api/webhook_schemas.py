"""The objects of webhooks as the OpenAPI document describes them."""

from typing import Annotated, Literal

from msgspec import Meta

from hornada.api.admin_schemas import ListObject, Name
from hornada.api.schemas import Seconds, Strict
from hornada.core.webhook import URL_LENGTH

EventName = Literal["batch.completed", "batch.failed", "batch.cancelled", "batch.expired"]
Events = Annotated[list[EventName], Meta(min_length=1)]
Url = Annotated[str, Meta(min_length=1, max_length=URL_LENGTH)]


class CreateWebhookEndpoint(Strict):
    """Where events are to go."""

    url: Url
    event_types: Events
    name: Name = "webhook"


class ChangeWebhookEndpoint(Strict):
    """What to change of an endpoint; what is not given stays."""

    name: Name | None = None
    url: Url | None = None
    event_types: Events | None = None
    enabled: bool | None = None


class RotateWebhookSecret(Strict):
    """Whether the secret before goes on signing beside the new one."""

    keep_old_secret_active_for_24_hours: bool = False


class TestWebhookEndpoint(Strict):
    """Which event the sample is of."""

    event_type: EventName = "batch.completed"


class WebhookEndpointObject(Strict):
    """A webhook endpoint. ``failing_since``: nothing was delivered since, though it was tried."""

    id: str
    object: Literal["webhook_endpoint"]
    organization_id: str
    name: str
    url: str
    event_types: list[EventName]
    status: Literal["enabled", "disabled"]
    disabled_reason: Literal["asked", "gone", "failing"] | None
    failing_since: Seconds | None
    old_secret_expires_at: Seconds | None
    created_at: Seconds
    updated_at: Seconds


class WebhookEndpointWithSecret(WebhookEndpointObject):
    """An endpoint with its secret, which signs what is sent there; it is shown only here."""

    signing_secret: str


class WebhookEndpointList(ListObject):
    """A page of webhook endpoints."""

    data: list[WebhookEndpointObject]


class WebhookEndpointDeleted(Strict):
    """An endpoint that is gone, with its deliveries."""

    id: str
    object: Literal["webhook_endpoint.deleted"]
    deleted: Literal[True]


class WebhookEndpointTest(Strict):
    """What an endpoint answered to a sample."""

    object: Literal["webhook_endpoint.test"]
    webhook_endpoint_id: str
    event_type: EventName
    status_code: int
    success: Literal[True]


class EventSubject(Strict):
    """What an event is about: the id of a batch."""

    id: str


class WebhookDeliveryObject(Strict):
    """An event on its way to an endpoint, or what came of it. ``event_id`` is also its ``webhook-id``."""

    id: str
    object: Literal["webhook_delivery"]
    webhook_endpoint_id: str
    event_id: str
    event_type: EventName
    data: EventSubject
    status: Literal["pending", "delivered", "failed"]
    test: bool
    attempts: int
    response_status: int | None
    duration_ms: int | None
    error: str | None
    created_at: Seconds
    last_attempt_at: Seconds | None
    next_attempt_at: Seconds | None
    ended_at: Seconds | None


class WebhookDeliveryList(ListObject):
    """A page of deliveries."""

    data: list[WebhookDeliveryObject]


class WebhookEventTypeList(Strict):
    """What can be heard of."""

    object: Literal["list"]
    data: list[EventName]
