"""What an organization's admins, and the operator, do to its webhook endpoints and their deliveries."""

from collections.abc import Callable, Collection
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from hornada.core.account import Organization, Principal, Role
from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Code, Refusal
from hornada.core.ids import bare, new_id
from hornada.core.page import Page
from hornada.core.webhook import (
    OVERLAP_S,
    RETRY_S,
    Delivery,
    DeliveryStatus,
    Endpoint,
    EndpointStatus,
    WebhookRules,
    WhyDisabled,
    fault_of_url,
    new_webhook_secret,
)
from hornada.engine.administration import reached_organization
from hornada.engine.audit import note
from hornada.engine.batches import RETRY_WINDOW_S
from hornada.engine.courier import Courier
from hornada.engine.outbox import a_delivery, new_event_id
from hornada.engine.rights import check_admin
from hornada.store import account
from hornada.store import webhook as rows
from hornada.store import webhook_delivery as deliveries
from hornada.store.database import Database, Tx
from hornada.store.keyset import Place

SAMPLE = "batch_" + "0" * 26
"""The batch that a test event speaks of; there is none."""


class Change(Struct, frozen=True, kw_only=True):
    """What is to change of an endpoint; what is UNSET stays."""

    name: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    events: frozenset[str] | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class Webhooks:
    """One verb a function; each raises Refusal PERMISSION_DENIED to a member who administers nothing.

    What is of another organization is as unknown as what does not exist. ``organization`` None: the caller's own.
    ``on_due``: there is something to send.
    """

    def __init__(
        self, db: Database, clock: Clock, rules: WebhookRules, courier: Courier, *, on_due: Callable[[], None]
    ) -> None:
        self._db = db
        self._clock = clock
        self._rules = rules
        self._courier = courier
        self._on_due = on_due

    async def create(
        self,
        by: Principal,
        organization: str | None,
        *,
        name: str,
        url: str,
        events: Collection[str],
        retry: bool = False,
    ) -> Endpoint:
        """Adds an endpoint with a fresh secret; a ``retry`` of a create moments ago answers what that made.

        Raises Refusal ORGANIZATION_NOT_FOUND, ORGANIZATION_ERASED, INVALID_VALUE or TOO_MANY_WEBHOOK_ENDPOINTS.
        """
        check_admin(by)
        self._check_url(url)
        async with self._db.write() as tx:
            org = (await _organization(tx, by, organization, lock=True)).id
            await account.lock(tx, org)
            now, have = self._clock.now(), await rows.of_org(tx, org)
            same = (each for each in have if (each.name, each.url, each.events) == (name, url, frozenset(events)))
            earlier = next((each for each in same if each.created_at >= now - RETRY_WINDOW_S * SECOND), None)
            if retry and earlier is not None:
                return earlier
            self._check_room(len(have))
            made = Endpoint(
                id=new_id(),
                org=org,
                name=name,
                url=url,
                events=frozenset(events),
                secret=new_webhook_secret(),
                created_at=now,
                updated_at=now,
            )
            await rows.insert(tx, made)
            await self._note(tx, by, "webhook.create", made, events=sorted(made.events))
        return made

    async def page(self, by: Principal, organization: str | None, *, after: str | None, limit: int) -> Page[Endpoint]:
        """Endpoints, newest first; raises Refusal ORGANIZATION_NOT_FOUND or WEBHOOK_ENDPOINT_NOT_FOUND."""
        check_admin(by)
        async with self._db.read() as tx:
            org = (await _organization(tx, by, organization)).id
            place: Place | None = None
            if after is not None:
                last = await _endpoint(tx, org, after, "after")
                place = (last.created_at, last.id)
            found = await rows.page(tx, org, place, limit + 1)
        return Page(found[:limit], more=len(found) > limit)

    async def get(self, by: Principal, endpoint: str) -> Endpoint:
        """One endpoint; raises Refusal WEBHOOK_ENDPOINT_NOT_FOUND."""
        check_admin(by)
        async with self._db.read() as tx:
            return await _endpoint(tx, by.reach, endpoint)

    async def change(self, by: Principal, endpoint: str, change: Change) -> Endpoint:
        """Changes what is given. An endpoint that is enabled gets what waited for it and what comes from now on.

        Raises Refusal WEBHOOK_ENDPOINT_NOT_FOUND or INVALID_VALUE.
        """
        check_admin(by)
        if change.url is not UNSET:
            self._check_url(change.url)
        async with self._db.write() as tx:
            before = await _endpoint(tx, by.reach, endpoint, lock=True)
            after = _changed(before, change)
            if after != before:
                after = replace(after, updated_at=self._clock.now())
                await rows.update(tx, after)
                what = [name for name in ("name", "url", "events", "status") if _differ(before, after, name)]
                await self._note(tx, by, "webhook.change", after, changed=what, status=after.status.value)
        self._on_due()
        return after

    async def delete(self, by: Principal, endpoint: str) -> Endpoint:
        """Removes an endpoint; its deliveries end and their log goes. Raises Refusal WEBHOOK_ENDPOINT_NOT_FOUND."""
        check_admin(by)
        async with self._db.write() as tx:
            found = await _endpoint(tx, by.reach, endpoint, lock=True)
            await rows.delete(tx, found.id)
            await self._note(tx, by, "webhook.delete", found)
        return found

    async def rotate(self, by: Principal, endpoint: str, *, overlap: bool) -> Endpoint:
        """Gives an endpoint a fresh secret; with ``overlap`` the one before signs too for 24 hours.

        Raises Refusal WEBHOOK_ENDPOINT_NOT_FOUND.
        """
        check_admin(by)
        async with self._db.write() as tx:
            before, now = await _endpoint(tx, by.reach, endpoint, lock=True), self._clock.now()
            after = replace(
                before,
                secret=new_webhook_secret(),
                old_secret=before.secret if overlap else None,
                old_secret_until=now + OVERLAP_S * SECOND if overlap else None,
                updated_at=now,
            )
            await rows.update(tx, after)
            await self._note(tx, by, "webhook.rotate", after, overlap=overlap)
        return after

    async def trial(self, by: Principal, endpoint: str, kind: str) -> int:
        """Sends a sample event now and answers the status that came back.

        It is signed like any other and stands in the log, is not tried again, and does not enable or disable anything.
        Raises Refusal WEBHOOK_ENDPOINT_NOT_FOUND, or WEBHOOK_UNREACHABLE when there was no answer.
        """
        found = await self.get(by, endpoint)
        sample = a_delivery(found, new_event_id(), kind, SAMPLE, self._clock.now())
        until = sample.created_at + round(self._rules.timeout_s * 2 * SECOND)
        posted = await self._courier.trial(
            found, replace(sample, trial=True, attempts=1, next_at=until, until=until, tried_at=sample.created_at)
        )
        if posted.code is None:
            message = f"The endpoint did not answer: {posted.error}."
            raise Refusal(Code.WEBHOOK_UNREACHABLE, message, should_retry=False)
        return posted.code

    async def deliveries(
        self, by: Principal, endpoint: str, *, status: DeliveryStatus | None, after: str | None, limit: int
    ) -> Page[Delivery]:
        """What was and is to be sent to an endpoint, newest first.

        Raises Refusal WEBHOOK_ENDPOINT_NOT_FOUND or WEBHOOK_DELIVERY_NOT_FOUND.
        """
        check_admin(by)
        async with self._db.read() as tx:
            known = await _endpoint(tx, by.reach, endpoint)
            place: Place | None = None
            if after is not None:
                last = await _delivery(tx, known, after, "after")
                place = (last.created_at, last.id)
            found = await deliveries.page(tx, known.id, place, limit + 1, status)
        return Page(found[:limit], more=len(found) > limit)

    async def redeliver(self, by: Principal, endpoint: str, delivery: str) -> Delivery:
        """Has an event sent again, with the same id, now and for 72 hours from now.

        Raises Refusal WEBHOOK_ENDPOINT_NOT_FOUND, WEBHOOK_DELIVERY_NOT_FOUND, or WEBHOOK_ENDPOINT_DISABLED.
        """
        check_admin(by)
        async with self._db.write() as tx:
            known = await _endpoint(tx, by.reach, endpoint, lock=True)
            found = await _delivery(tx, known, delivery, "delivery_id", lock=True)
            if known.status is EndpointStatus.DISABLED:
                message = f"The endpoint is disabled ({known.why_disabled}); enable it first."
                raise Refusal(Code.WEBHOOK_ENDPOINT_DISABLED, message, should_retry=False)
            now = self._clock.now()
            await deliveries.renew(tx, found.id, now, now + RETRY_S * SECOND)
            await self._note(tx, by, "webhook.redeliver", known, delivery=found.id)
            found = await _delivery(tx, known, delivery, "delivery_id")
        self._on_due()
        return found

    def _check_room(self, have: int) -> None:
        if have >= self._rules.endpoints:
            message = f"The organization has {have} webhook endpoints and may have {self._rules.endpoints}."
            raise Refusal(Code.TOO_MANY_WEBHOOK_ENDPOINTS, f"{message} Delete one first.", should_retry=False)

    def _check_url(self, url: str) -> None:
        fault = fault_of_url(url, self._rules)
        if fault is not None:
            raise Refusal(Code.INVALID_VALUE, f"Invalid value for 'url': it {fault}.", "url")

    async def _note(self, tx: Tx, by: Principal, action: str, endpoint: Endpoint, **detail: Any) -> None:
        await note(tx, by, action, now=self._clock.now(), org=endpoint.org, target=endpoint.id, **detail)


def _changed(before: Endpoint, change: Change) -> Endpoint:
    after = replace(
        before,
        name=before.name if change.name is UNSET else change.name,
        url=before.url if change.url is UNSET else change.url,
        events=before.events if change.events is UNSET else change.events,
    )
    if change.enabled is UNSET or change.enabled is (before.status is EndpointStatus.ENABLED):
        return after
    if change.enabled:
        return replace(after, status=EndpointStatus.ENABLED, why_disabled=None, failing_since=None)
    return replace(after, status=EndpointStatus.DISABLED, why_disabled=WhyDisabled.ASKED)


def _differ(before: Endpoint, after: Endpoint, name: str) -> bool:
    return bool(getattr(before, name) != getattr(after, name))


async def _organization(tx: Tx, by: Principal, organization: str | None, *, lock: bool = False) -> Organization:
    if organization is None and by.role is Role.OPERATOR:
        message = "The operator belongs to no organization; see /admin/organizations/{id}/webhook_endpoints."
        raise Refusal(Code.PERMISSION_DENIED, message)
    found = await reached_organization(tx, by, by.org if organization is None else organization, lock=lock)
    if lock and found.erasing_at is not None:
        raise Refusal(Code.ORGANIZATION_ERASED, "The organization is erased or being erased.", "id")
    return found


async def _endpoint(tx: Tx, org: str | None, endpoint: str, param: str = "id", *, lock: bool = False) -> Endpoint:
    known = bare(endpoint)
    found = await rows.get(tx, org, known, lock=lock) if known else None
    if found is None:
        message = f"No webhook endpoint found with id '{endpoint[:100]}'."
        raise Refusal(Code.WEBHOOK_ENDPOINT_NOT_FOUND, message, param)
    return found


async def _delivery(tx: Tx, endpoint: Endpoint, delivery: str, param: str, *, lock: bool = False) -> Delivery:
    known = bare(delivery)
    found = await deliveries.get(tx, endpoint.org, known, lock=lock) if known else None
    if found is None or found.endpoint != endpoint.id:
        message = f"No delivery to this webhook endpoint found with id '{delivery[:100]}'."
        raise Refusal(Code.WEBHOOK_DELIVERY_NOT_FOUND, message, param)
    return found
