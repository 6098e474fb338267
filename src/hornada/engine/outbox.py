"""Writes down what is to be told to webhooks, in the transaction that makes it true: once for each event, or never."""

from collections.abc import Callable

import msgspec

from hornada.core.batch import Batch, Status
from hornada.core.clock import SECOND
from hornada.core.ids import new_id
from hornada.core.webhook import EVENT_OF, RETRY_S, Delivery, DeliveryStatus, Endpoint, EndpointStatus
from hornada.store import webhook as endpoints
from hornada.store import webhook_delivery as deliveries
from hornada.store.database import Tx


class Outbox:
    """``batch_id`` spells a batch's id in a dialect, given both by name; ``ring`` wakes whoever delivers."""

    def __init__(
        self, *, batch_id: Callable[[str, str], str], ring: Callable[[], None] = lambda: None, enabled: bool = True
    ) -> None:
        self._batch_id = batch_id
        self._enabled = enabled
        self.ring = ring

    async def ended(self, tx: Tx, batch: Batch, status: Status, now: int) -> None:
        """A batch ends in this transaction: one delivery for each enabled endpoint that wants to hear of it."""
        if not self._enabled:
            return
        kind = EVENT_OF[status].value
        listening = [
            each
            for each in await endpoints.of_org(tx, batch.org)
            if each.status is EndpointStatus.ENABLED and kind in each.events
        ]
        if listening:
            event, subject = new_event_id(), self._batch_id(batch.dialect, batch.id)
            await deliveries.insert(tx, [a_delivery(each, event, kind, subject, now) for each in listening])


def new_event_id() -> str:
    """A fresh id of an event, spelled."""
    return "evt_" + new_id()


def a_delivery(endpoint: Endpoint, event: str, kind: str, subject: str, now: int) -> Delivery:
    """An event on its way; its body is what is sent, byte by byte, at every attempt (OpenAI's event)."""
    said = {"id": event, "object": "event", "created_at": now // SECOND, "type": kind, "data": {"id": subject}}
    return Delivery(
        id=new_id(),
        org=endpoint.org,
        endpoint=endpoint.id,
        event=event,
        type=kind,
        subject=subject,
        body=msgspec.json.encode(said).decode(),
        status=DeliveryStatus.PENDING,
        attempts=0,
        next_at=now,
        until=now + RETRY_S * SECOND,
        created_at=now,
    )
