"""Delivers what the outbox holds: at least once, for up to 72 hours, and no endpoint waits for another."""

import asyncio
import logging
import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from msgspec.structs import replace
from standardwebhooks import Webhook

from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Code, HornadaError, Refusal
from hornada.core.webhook import Delivery, DeliveryStatus, Endpoint, WebhookRules, WhyDisabled
from hornada.engine import crashpoint
from hornada.engine.admission import OPERATOR
from hornada.engine.audit import note
from hornada.store import webhook as endpoints
from hornada.store import webhook_delivery as deliveries
from hornada.store.database import Database, Tx
from hornada.store.webhook_delivery import Backlog, Due
from hornada.upstream.posted import Posted

log = logging.getLogger("hornada")

AT_ONCE = 128
"""Messages on their way at the same time, in this process."""
OF_ORGANIZATION = 8
OF_ENDPOINT = 4
"""One while it fails."""
FIRST_WAIT_S = 5.0
LONGEST_WAIT_S = 2 * 3600.0
LONGEST_ASKED_S = 6 * 3600.0
"""So much of a Retry-After is obeyed."""
_STREAK_S = 24 * 3600
"""Failures further apart than this are not one streak."""
_LEASE_MORE_S = 15
_ENDPOINTS = 200
_TIDY_S = 60.0
_SWEPT = 500
_GONE = 410
_TEXT = 200


class Post(Protocol):
    """Sends messages."""

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, /) -> Awaitable[Posted]:
        """Sends one and says what came of it."""
        ...


class Courier:
    """``once`` takes what is due and starts to send it; each message reports by itself.

    Any number of processes may do this on one ledger. ``chance``: from 0 to 1, so that endpoints which failed together
    are not tried again together. ``counts``: attempts, and deliveries that were given up.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        rules: WebhookRules,
        post: Post,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._db = db
        self._clock = clock
        self._rules = rules
        self._post = post
        self._ring: Callable[[], None] = lambda: None
        self._chance = chance
        self._lease = round((rules.timeout_s + _LEASE_MORE_S) * SECOND)
        self._tasks: dict[asyncio.Task[None], Due] = {}
        self._seen = self._served = ""
        self._trials = Counter[str]()
        self._tidied_at = clock.monotonic() - _TIDY_S
        self.counts = Counter[str](delivered=0, failed=0, given_up=0)

    def bell(self, ring: Callable[[], None]) -> None:
        """``ring`` wakes whoever calls ``once``: there is room again."""
        self._ring = ring

    async def once(self) -> bool:
        """Starts what is due and finds room; True if there may be more."""
        if self._clock.monotonic() - self._tidied_at >= _TIDY_S and not await self._tidy():
            self._tidied_at = self._clock.monotonic()
        if len(self._tasks) >= AT_ONCE:
            return False
        async with self._db.read() as tx:
            found = await deliveries.due(tx, self._seen, _ENDPOINTS)
        self._seen = found[-1].endpoint if len(found) == _ENDPOINTS else ""
        wanted = self._in_turn([each for each in found if self._room(each, ()) > 0])
        if not wanted:
            return bool(self._seen)
        taken: list[tuple[Due, Endpoint, Delivery]] = []
        async with self._db.write() as tx:
            for due in wanted:
                await self._take(tx, due, taken)
        self._served = taken[-1][0].endpoint if taken else ""
        for due, endpoint, delivery in taken:
            task = asyncio.create_task(self._deliver(endpoint, delivery))
            self._tasks[task] = due
            task.add_done_callback(self._ended)
        return bool(taken or self._seen)

    def _in_turn(self, found: list[Due]) -> list[Due]:
        """Begins behind the endpoint that was served last, so that it is not always the same that find no place."""
        behind = [each for each in found if each.endpoint > self._served]
        return behind + [each for each in found if each.endpoint <= self._served]

    async def _take(self, tx: Tx, due: Due, taken: list[tuple[Due, Endpoint, Delivery]]) -> None:
        """Claims for one endpoint what there is room for."""
        room = self._room(due, [each for each, _, _ in taken])
        endpoint = await endpoints.get(tx, None, due.endpoint) if room > 0 else None
        if endpoint is not None:
            claimed = await deliveries.claim(tx, due.endpoint, room, self._lease)
            taken += [(due, endpoint, delivery) for delivery in claimed]

    def _room(self, due: Due, taken: Sequence[Due]) -> int:
        """How many messages to an endpoint may start now, beside what is about to."""
        flying = [*self._tasks.values(), *taken]
        own = sum(each.endpoint == due.endpoint for each in flying)
        org = sum(each.org == due.org for each in flying)
        return min(AT_ONCE - len(flying), OF_ORGANIZATION - org, (1 if due.failing else OF_ENDPOINT) - own)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._ring()

    async def backlog(self) -> Backlog:
        """What waits to be delivered, whoever will do it."""
        async with self._db.read() as tx:
            return await deliveries.backlog(tx)

    async def settle(self) -> None:
        """Waits until nothing is on its way."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def close(self, grace_s: float) -> None:
        """Gives what is on its way a time of grace; what is cut off is sent again when its lease runs out."""
        if self._tasks:
            _, late = await asyncio.wait(list(self._tasks), timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def trial(self, endpoint: Endpoint, delivery: Delivery) -> Posted:
        """Sends one message now, once, and writes down what came of it; the endpoint is not judged by it.

        Raises Refusal RATE_LIMIT_EXCEEDED while the organization has as many under way as it may.
        """
        if self._trials[endpoint.org] >= OF_ENDPOINT:
            message = f"The organization has {OF_ENDPOINT} tests of webhook endpoints under way. Wait for one to end."
            raise Refusal(Code.RATE_LIMIT_EXCEEDED, message, retry_after=math.ceil(self._rules.timeout_s))
        self._trials[endpoint.org] += 1
        try:
            return await self._tried_out(endpoint, delivery)
        finally:
            self._trials[endpoint.org] -= 1

    async def _tried_out(self, endpoint: Endpoint, delivery: Delivery) -> Posted:
        async with self._db.write() as tx:
            await deliveries.insert(tx, [delivery])
        posted = await self._send(endpoint, delivery)
        tried = _tried(delivery, posted)
        ended = replace(tried, status=_status(posted), ended_at=self._clock.now())
        async with self._db.write() as tx:
            await deliveries.report(tx, ended)
        return posted

    async def _deliver(self, endpoint: Endpoint, delivery: Delivery) -> None:
        try:
            posted = await self._send(endpoint, delivery)
            crashpoint.reach("webhook_sent")
            async with self._db.write() as tx:
                await self._report(tx, endpoint, delivery, posted)
        except HornadaError as error:
            log.warning("whd_%s: what came of an attempt could not be noted: %s", delivery.id, error)
        except Exception:
            log.exception("whd_%s: an attempt failed", delivery.id)

    async def _send(self, endpoint: Endpoint, delivery: Delivery) -> Posted:
        now = self._clock.now()
        headers = signed(endpoint.secrets_at(now), delivery.event, now, delivery.body)
        posted = await self._post(endpoint.url, delivery.body.encode(), headers, self._rules.timeout_s)
        fields = {
            "delivery_id": f"whd_{delivery.id}",
            "endpoint_id": f"whe_{endpoint.id}",
            "status": posted.code,
            "ms": posted.took_ms,
        }
        told = posted.error or f"answered {posted.code}"
        log.info("whd_%s to whe_%s: %s (%s)", delivery.id, endpoint.id, told, delivery.event, extra=fields)
        return posted

    async def _report(self, tx: Tx, endpoint: Endpoint, delivery: Delivery, posted: Posted) -> None:
        now, tried = self._clock.now(), _tried(delivery, posted)
        if _status(posted) is DeliveryStatus.DELIVERED:
            await endpoints.works(tx, endpoint.id)
            await deliveries.report(tx, replace(tried, status=DeliveryStatus.DELIVERED, ended_at=now))
            self.counts["delivered"] += 1
            return
        self.counts["failed"] += 1
        wait = self._wait(delivery.attempts, posted)
        next_at = (delivery.tried_at or now) + round(posted.took_ms * SECOND / 1000 + wait * SECOND)
        over = next_at >= delivery.until or posted.code == _GONE
        ended = replace(tried, status=DeliveryStatus.FAILED, ended_at=now) if over else replace(tried, next_at=next_at)
        asked = next_at if posted.retry_after_s is not None and not over else 0
        since = await endpoints.fails(tx, endpoint.id, now, forget=_STREAK_S * SECOND, not_before=asked)
        await deliveries.report(tx, ended)
        self.counts["given_up"] += over
        if posted.code == _GONE:
            await self._disable(tx, endpoint, WhyDisabled.GONE, now)
        elif since is not None and now - since >= self._rules.disable_after_s * SECOND:
            await self._disable(tx, endpoint, WhyDisabled.FAILING, now)

    def _wait(self, attempts: int, posted: Posted) -> float:
        """Seconds until the next attempt: twice as long each time, the latter half of it by chance."""
        wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(attempts - 1, 20))
        return max(wait * (0.5 + self._chance() / 2), min(posted.retry_after_s or 0, LONGEST_ASKED_S))

    async def _disable(self, tx: Tx, endpoint: Endpoint, why: WhyDisabled, now: int) -> None:
        if await endpoints.disable(tx, endpoint.id, why, now):
            await note(tx, OPERATOR, "webhook.disable", now=now, org=endpoint.org, target=endpoint.id, reason=why.value)
            log.warning("whe_%s was disabled: %s", endpoint.id, why)

    async def _tidy(self) -> bool:
        """Ends what is too late and removes what is too old; True if there may be more."""
        async with self._db.write() as tx:
            late = await deliveries.give_up(tx, _SWEPT)
            old = await deliveries.forget(tx, self._rules.log_lifetime_s * SECOND, _SWEPT)
        self.counts["given_up"] += late
        return max(late, old) == _SWEPT


def signed(secrets: tuple[str, ...], event: str, now: int, body: str) -> dict[str, str]:
    """The three headers of Standard Webhooks, with a signature for each secret. ``now`` in microseconds."""
    moment = datetime.fromtimestamp(now // SECOND, UTC)
    return {
        "webhook-id": event,
        "webhook-timestamp": str(now // SECOND),
        "webhook-signature": " ".join(Webhook(secret).sign(event, moment, body) for secret in secrets),
    }


def _status(posted: Posted) -> DeliveryStatus:
    """Any 2xx is an acknowledgement; a redirect is none (Standard Webhooks)."""
    good = posted.code is not None and 200 <= posted.code < 300
    return DeliveryStatus.DELIVERED if good else DeliveryStatus.FAILED


def _tried(delivery: Delivery, posted: Posted) -> Delivery:
    error = posted.error if posted.error is None else posted.error[:_TEXT]
    return replace(delivery, code=posted.code, took_ms=posted.took_ms, error=error)
