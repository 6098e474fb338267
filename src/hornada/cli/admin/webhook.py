"""``hornada admin webhook``: where organizations hear of their batches, and what came of it."""

from enum import StrEnum
from typing import Annotated

import typer

from hornada.cli.admin.command import Answered, command
from hornada.cli.admin.desk import Desk
from hornada.cli.admin.org import OrgArgument
from hornada.core.webhook import EventType

app = typer.Typer(name="webhook", no_args_is_help=True, rich_markup_mode=None, help="Webhooks of organizations.")
EndpointArgument = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Id of the webhook endpoint.")]
EventFlag = Annotated[
    list[EventType] | None, typer.Option("--event", metavar="EVENT", help="Event to send; may be repeated.")
]
_COLUMNS = ("id", "name", "url", "event_types", "status", "disabled_reason", "failing_since")
_DELIVERY = ("id", "event_type", "event_id", "status", "attempts", "response_status", "error", "next_attempt_at")


class DeliveryState(StrEnum):
    """How a delivery may stand."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@command(app, "create")
def create(
    desk: Desk,
    org: OrgArgument,
    address: Annotated[str, typer.Argument(metavar="URL", help="Where events are sent.")],
    event: EventFlag = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="What it is called.")] = None,
) -> Answered:
    """Send events to a URL; prints the secret. No event named: all."""
    body = {"url": address, "name": name, "event_types": [each.value for each in event or EventType]}
    made = desk("POST", "organizations", desk.organization(org), "webhook_endpoints", body=body)
    return Answered(made, ("id", "name", "url", "event_types", "signing_secret"), note="The secret is shown only now.")


@command(app, "list")
def listing(desk: Desk, org: OrgArgument) -> Answered:
    """List the webhook endpoints of an organization, newest first."""
    return Answered(desk.all("organizations", desk.organization(org), "webhook_endpoints"), _COLUMNS)


@command(app, "set")
def change(
    desk: Desk,
    endpoint: EndpointArgument,
    address: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="Where events are sent from now on.")
    ] = None,
    event: EventFlag = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="What it is called.")] = None,
) -> Answered:
    """Change what is given of a webhook endpoint."""
    body = {"url": address, "name": name, "event_types": [each.value for each in event] if event else None}
    return Answered(desk("PATCH", "webhook_endpoints", endpoint, body=body), _COLUMNS)


@command(app, "enable")
def enable(desk: Desk, endpoint: EndpointArgument) -> Answered:
    """Send events again, and those of 72 hours that wait."""
    return Answered(desk("PATCH", "webhook_endpoints", endpoint, body={"enabled": True}), _COLUMNS)


@command(app, "disable")
def disable(desk: Desk, endpoint: EndpointArgument) -> Answered:
    """Send nothing to a webhook endpoint until it is enabled."""
    return Answered(desk("PATCH", "webhook_endpoints", endpoint, body={"enabled": False}), _COLUMNS)


@command(app, "rotate")
def rotate(
    desk: Desk,
    endpoint: EndpointArgument,
    keep: Annotated[bool, typer.Option("--keep-old", help="Sign with the old secret too for 24 hours.")] = False,
) -> Answered:
    """Give a webhook endpoint a new secret and print it."""
    body = {"keep_old_secret_active_for_24_hours": keep}
    made = desk("POST", "webhook_endpoints", endpoint, "rotate_secret", body=body)
    return Answered(made, ("id", "signing_secret", "old_secret_expires_at"), note="The secret is shown only now.")


@command(app, "test")
def trial(
    desk: Desk,
    endpoint: EndpointArgument,
    event: Annotated[
        EventType, typer.Option("--event", metavar="EVENT", help="Which event the sample is of.")
    ] = EventType.COMPLETED,
) -> Answered:
    """Send a sample to a webhook endpoint and show its answer."""
    body = {"event_type": event.value}
    return Answered(desk("POST", "webhook_endpoints", endpoint, "test", body=body), ("event_type", "status_code"))


@command(app, "log")
def log(
    desk: Desk,
    endpoint: EndpointArgument,
    status: Annotated[
        DeliveryState | None, typer.Option("--status", metavar="STATUS", help="pending, delivered or failed.")
    ] = None,
    most: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="The most deliveries to show.")] = 100,
) -> Answered:
    """List the deliveries to a webhook endpoint, newest first."""
    only = None if status is None else status.value
    return Answered(desk.all("webhook_endpoints", endpoint, "deliveries", most=most, status=only), _DELIVERY)


@command(app, "redeliver")
def redeliver(
    desk: Desk,
    endpoint: EndpointArgument,
    delivery: Annotated[str, typer.Argument(metavar="DELIVERY", help="Id of the delivery.")],
) -> Answered:
    """Send an event to a webhook endpoint again."""
    return Answered(desk("POST", "webhook_endpoints", endpoint, "deliveries", delivery, "redeliver"), _DELIVERY)


@command(app, "delete")
def delete(desk: Desk, endpoint: EndpointArgument) -> Answered:
    """Delete a webhook endpoint, what waits for it and its log."""
    return Answered(desk("DELETE", "webhook_endpoints", endpoint), ("id", "deleted"))
