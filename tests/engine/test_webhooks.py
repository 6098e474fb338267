"""What an admin does to webhook endpoints, and what becomes of their deliveries."""

import asyncio
from typing import Any

import pytest

from hornada.core.account import Role
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.core.webhook import DeliveryStatus, EndpointStatus
from hornada.engine.administration import Administration
from hornada.engine.admission import OPERATOR
from hornada.engine.courier import OF_ENDPOINT, signed
from hornada.engine.eraser import Eraser
from hornada.engine.webhooks import Change
from tests.engine.house import caller
from tests.engine.postoffice import CID, EVE, RULES, Post


async def test_after_a_rotation_both_secrets_sign_for_a_day_if_that_was_asked_for(post: Post) -> None:
    old = await post.endpoint()
    new = await post.webhooks.rotate(CID, old.id, overlap=True)
    now = post.house.clock.now()
    assert new.secrets_at(now) == (new.secret, old.secret)
    assert new.secrets_at(now + 86_400 * SECOND) == (new.secret,)
    assert len(signed(new.secrets_at(now), "evt_1", now, "{}")["webhook-signature"].split()) == 2
    hard = await post.webhooks.rotate(CID, old.id, overlap=False)
    assert hard.secrets_at(now) == (hard.secret,)
    assert len({old.secret, new.secret, hard.secret}) == 3


async def test_enabling_sends_what_waited_meanwhile(post: Post) -> None:
    endpoint = await post.endpoint()
    await post.queue(endpoint)
    await post.webhooks.change(CID, endpoint.id, Change(enabled=False))
    await post.carry()
    assert post.receiver.calls == []
    await post.webhooks.change(CID, endpoint.id, Change(enabled=True))
    await post.carry()
    assert len(post.receiver.calls) == 1


async def test_deleting_an_endpoint_ends_its_deliveries(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.held.add("/hook")
    await post.queue(endpoint, 3)
    await post.courier.once()
    await post.receiver.arrived(3)
    await post.webhooks.delete(CID, endpoint.id)
    post.receiver.let_go()
    await post.carry()
    assert await post.house.rows("SELECT 1 FROM webhook_delivery") == []
    with pytest.raises(Refusal) as caught:
        await post.webhooks.get(CID, endpoint.id)
    assert caught.value.code is Code.WEBHOOK_ENDPOINT_NOT_FOUND


async def test_a_redelivery_is_the_same_event_again(post: Post) -> None:
    endpoint = await post.endpoint()
    (made,) = await post.queue(endpoint)
    await post.carry()
    post.house.clock.advance(10 * 86_400)
    again = await post.webhooks.redeliver(CID, endpoint.id, made.id)
    assert (again.status, again.ended_at) == (DeliveryStatus.PENDING, None)
    await post.carry()
    first, second = post.receiver.calls
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    assert (await post.only(endpoint)).attempts == 2
    await post.webhooks.change(CID, endpoint.id, Change(enabled=False))
    with pytest.raises(Refusal) as caught:
        await post.webhooks.redeliver(CID, endpoint.id, made.id)
    assert caught.value.code is Code.WEBHOOK_ENDPOINT_DISABLED


async def test_a_trial_is_sent_at_once_and_judges_nothing(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.answer("/hook", 410)
    assert await post.webhooks.trial(CID, endpoint.id, "batch.failed") == 410
    found = await post.only(endpoint)
    assert (found.trial, found.status, found.type, found.attempts) == (True, "failed", "batch.failed", 1)
    assert found.tried_at == found.created_at
    assert (await post.see(endpoint)).status is EndpointStatus.ENABLED
    nobody = await post.endpoint(url="http://127.0.0.1:9/")
    with pytest.raises(Refusal) as caught:
        await post.webhooks.trial(CID, nobody.id, "batch.failed")
    assert (caught.value.code, "cannot be reached" in caught.value.message) == (Code.WEBHOOK_UNREACHABLE, True)


async def test_the_number_of_endpoints_is_limited(post: Post) -> None:
    for at in range(RULES.endpoints):
        await post.endpoint(f"/{at}")
    with pytest.raises(Refusal) as caught:
        await post.endpoint()
    assert caught.value.code is Code.TOO_MANY_WEBHOOK_ENDPOINTS
    await post.endpoint("/theirs", EVE)


async def test_erasing_an_organization_takes_its_webhooks_along_before_its_batches_end(post: Post) -> None:
    house = post.house
    endpoint, theirs = await post.endpoint(), await post.endpoint("/theirs", EVE)
    await post.queue(endpoint)
    await post.queue(theirs)
    batch = await house.accepted("a")
    told: list[None] = []
    administration = Administration(
        house.db, house.clock, {}, on_changed=lambda: told.append(None), on_erasing=lambda: told.append(None)
    )
    eraser = Eraser(house.db, house.clock, house.batches, OPERATOR, on_hidden=lambda: told.append(None))
    await administration.erase_organization(OPERATOR, "org")
    await eraser.once()
    await house.finish(batch)
    rows = await house.rows("SELECT endpoint FROM webhook_delivery")
    assert [row["endpoint"] for row in rows] == [theirs.id]
    assert [row["id"] for row in await house.rows("SELECT id FROM webhook_endpoint")] == [theirs.id]
    await post.carry()
    assert [call.path for call in post.receiver.calls] == ["/theirs"]


async def test_nothing_is_created_for_an_organization_that_is_being_erased(post: Post) -> None:
    await post.house.change("UPDATE organization SET erasing_at = 1, suspended_at = 1 WHERE id = 'org'")
    with pytest.raises(Refusal) as caught:
        await post.webhooks.create(OPERATOR, "org", name="n", url=post.receiver.url, events=["batch.failed"])
    assert caught.value.code is Code.ORGANIZATION_ERASED


async def test_a_create_that_is_sent_again_makes_nothing_new(post: Post) -> None:
    asked: dict[str, Any] = {"name": "n", "url": post.receiver.url, "events": ["batch.failed", "batch.expired"]}
    first = await post.webhooks.create(CID, None, **asked)
    assert await post.webhooks.create(CID, None, **asked, retry=True) == first
    assert (await post.webhooks.create(CID, None, **asked)).id != first.id
    assert (await post.webhooks.create(EVE, None, **asked, retry=True)).org == "foreign"
    post.house.clock.advance(601)
    assert (await post.webhooks.create(CID, None, **asked, retry=True)).id != first.id


async def test_an_organization_tries_out_a_few_at_a_time(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.held.add("/hook")
    under_way = [asyncio.create_task(post.webhooks.trial(CID, endpoint.id, "batch.failed")) for _ in range(OF_ENDPOINT)]
    await post.receiver.arrived(OF_ENDPOINT)
    with pytest.raises(Refusal) as caught:
        await post.webhooks.trial(CID, endpoint.id, "batch.failed")
    assert (caught.value.code, caught.value.retry_after) == (Code.RATE_LIMIT_EXCEEDED, RULES.timeout_s)
    post.receiver.let_go()
    assert await asyncio.gather(*under_way) == [200] * OF_ENDPOINT
    assert await post.webhooks.trial(CID, endpoint.id, "batch.failed") == 200


async def test_a_member_may_do_nothing(post: Post) -> None:
    endpoint = await post.endpoint()
    ana = caller(role=Role.MEMBER)
    for call in (
        post.webhooks.get(ana, endpoint.id),
        post.webhooks.delete(ana, endpoint.id),
        post.webhooks.rotate(ana, endpoint.id, overlap=False),
        post.webhooks.trial(ana, endpoint.id, "batch.failed"),
        post.webhooks.redeliver(ana, endpoint.id, "whd_none"),
        post.webhooks.page(ana, None, after=None, limit=1),
    ):
        with pytest.raises(Refusal) as caught:
            await call
        assert caught.value.code is Code.PERMISSION_DENIED
    assert await post.see(endpoint) == endpoint
