"""A house whose events are delivered to a real receiver."""

from collections.abc import Collection
from typing import Any

from hornada.core.account import Role
from hornada.core.webhook import Delivery, Endpoint, EventType, WebhookRules
from hornada.engine.admission import OPERATOR
from hornada.engine.courier import Courier
from hornada.engine.outbox import a_delivery, new_event_id
from hornada.engine.webhooks import Webhooks
from hornada.store import webhook_delivery as deliveries
from hornada.upstream.postman import Postman
from tests.engine.house import House, caller
from tests.engine.receiver import Receiver

CID = caller("cid", role=Role.ADMIN)
EVE = caller("eve", org="foreign", role=Role.ADMIN)
RULES = WebhookRules(allow_http=True, allow_networks=("127.0.0.0/8",), timeout_s=5)
ALL = [each.value for each in EventType]


class Post:
    """Endpoints, a courier and what it brings."""

    def __init__(self, house: House, receiver: Receiver, postman: Postman, rules: WebhookRules = RULES) -> None:
        self.house, self.receiver, self.postman, self.rules = house, receiver, postman, rules
        self.courier = self.another()
        self.webhooks = Webhooks(house.db, house.clock, rules, self.courier, on_due=lambda: None)

    def another(self) -> Courier:
        """The courier of another process."""
        return Courier(self.house.db, self.house.clock, self.rules, self.postman.post, chance=lambda: 1.0)

    async def endpoint(
        self, path: str = "/hook", who: Any = CID, events: Collection[str] = ALL, url: str | None = None
    ) -> Endpoint:
        self.house.clock.advance(0.001)
        return await self.webhooks.create(who, None, name="n", url=url or self.receiver.url + path, events=events)

    async def queue(self, endpoint: Endpoint, n: int = 1) -> list[Delivery]:
        """Events of batches that nobody ran."""
        made = [
            a_delivery(endpoint, new_event_id(), "batch.completed", f"batch_{at:04}", self.house.clock.now())
            for at in range(n)
        ]
        async with self.house.db.write() as tx:
            await deliveries.insert(tx, made)
        return made

    async def carry(self) -> None:
        """Delivers until nothing is due."""
        await self.courier.settle()
        while await self.courier.once():
            await self.courier.settle()

    async def log(self, endpoint: Endpoint, who: Any = CID) -> tuple[Delivery, ...]:
        return (await self.webhooks.deliveries(who, endpoint.id, status=None, after=None, limit=100)).items

    async def see(self, endpoint: Endpoint) -> Endpoint:
        return await self.webhooks.get(OPERATOR, endpoint.id)

    async def only(self, endpoint: Endpoint) -> Delivery:
        (found,) = await self.log(endpoint)
        return found
