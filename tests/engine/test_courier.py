"""How events reach webhook endpoints, driven step by step over real databases and real sockets."""

import asyncio
import json
import logging
import time
from typing import Any

import pytest
from msgspec.structs import replace
from standardwebhooks import Webhook

from hornada.core.batch import Batch, Status
from hornada.core.clock import SECOND
from hornada.core.webhook import DeliveryStatus, EndpointStatus, WhyDisabled
from hornada.engine import courier as couriers
from hornada.engine.webhooks import Change
from hornada.store import webhook_delivery as deliveries
from tests.engine.house import House, caller
from tests.engine.postoffice import CID, EVE, RULES, Post


async def completed(house: House) -> Batch:
    return await house.finish(await house.accepted("a"))


async def failed(house: House) -> Batch:
    batch = await house.fresh(b"{\n")
    await house.check()
    return await house.see(batch)


async def cancelled(house: House) -> Batch:
    batch = await house.accepted("a")
    await house.batches.cancel(caller(), batch.id)
    return await house.finish(batch)


async def expired(house: House) -> Batch:
    batch = await house.accepted("a")
    house.clock.advance(86_401)
    await house.reaper.once()
    return await house.finish(batch)


@pytest.mark.parametrize("end", [completed, failed, cancelled, expired], ids=lambda end: end.__name__)
async def test_every_end_of_a_batch_is_told_once_in_openais_words(post: Post, end: Any) -> None:
    endpoint = await post.endpoint()
    batch = await end(post.house)
    assert batch.status == end.__name__
    await post.carry()
    (call,) = post.receiver.calls
    said = json.loads(call.body)
    at = next(
        getattr(batch, name)
        for name in ("expired_at", "cancelled_at", "failed_at", "completed_at")
        if getattr(batch, name)
    )
    assert said == {
        "id": call.headers["webhook-id"],
        "object": "event",
        "created_at": at // SECOND,
        "type": f"batch.{end.__name__}",
        "data": {"id": f"batch_{batch.id}"},
    }
    found = await post.only(endpoint)
    assert (found.status, found.code, found.attempts, found.subject) == (
        DeliveryStatus.DELIVERED,
        200,
        1,
        f"batch_{batch.id}",
    )
    await post.carry()
    assert len(post.receiver.calls) == 1


async def test_the_event_is_written_with_the_end_or_not_at_all(post: Post) -> None:
    await post.endpoint()
    batch = await post.house.accepted("a")
    await post.house.work()

    class Torn(Exception):
        pass

    ended = post.house.outbox.ended

    async def torn(*args: Any) -> None:
        await ended(*args)
        raise Torn

    post.house.outbox.ended = torn  # type: ignore[method-assign]
    await post.house.finalizer.once()
    assert (await post.house.see(batch)).status is Status.FINALIZING
    assert await post.house.rows("SELECT 1 FROM webhook_delivery") == []
    post.house.outbox.ended = ended  # type: ignore[method-assign]
    post.house.clock.advance(120)
    assert (await post.house.finish(batch)).status is Status.COMPLETED
    assert len(await post.house.rows("SELECT 1 FROM webhook_delivery")) == 1


async def test_only_who_wants_to_hear_hears_and_nobody_else(post: Post) -> None:
    wants = await post.endpoint("/wants", events=["batch.completed"])
    other = await post.endpoint("/other", events=["batch.failed"])
    off = await post.endpoint("/off")
    await post.webhooks.change(CID, off.id, Change(enabled=False))
    stranger = await post.endpoint("/stranger", EVE)
    await completed(post.house)
    await post.carry()
    assert [call.path for call in post.receiver.calls] == ["/wants"]
    assert [len(await post.log(each)) for each in (wants, other, off)] == [1, 0, 0]
    assert await post.log(stranger, EVE) == ()


async def test_two_endpoints_hear_of_the_same_event_under_one_id(post: Post) -> None:
    await post.endpoint("/one")
    await post.endpoint("/two")
    await completed(post.house)
    await post.carry()
    assert {call.path for call in post.receiver.calls} == {"/one", "/two"}
    assert len({call.headers["webhook-id"] for call in post.receiver.calls}) == 1


async def test_messages_are_signed_as_standard_webhooks_wants(post: Post) -> None:
    endpoint = await post.endpoint()
    post.house.clock.set(round(time.time()) * SECOND)
    await post.queue(endpoint)
    await post.carry()
    (call,) = post.receiver.calls
    assert Webhook(endpoint.secret).verify(call.body, dict(call.headers))["type"] == "batch.completed"
    assert (call.headers["Content-Type"], call.headers["User-Agent"][:8]) == ("application/json", "hornada/")
    assert "signature" not in call.body.decode()


async def test_what_fails_is_tried_again_later_and_later_under_the_same_id(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.answer("/hook", 503)
    await post.queue(endpoint)
    waits = []
    for _ in range(12):
        await post.carry()
        found = await post.only(endpoint)
        assert (found.status, found.code) == (DeliveryStatus.PENDING, 503)
        waits.append(round((found.next_at - (found.tried_at or 0)) / SECOND))
        post.house.clock.set(found.next_at)
    assert waits == [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 7200]
    assert len({call.headers["webhook-id"] for call in post.receiver.calls}) == 1
    assert len({call.headers["webhook-timestamp"] for call in post.receiver.calls}) == 12
    post.receiver.answer("/hook", 204)
    await post.carry()
    assert ((await post.only(endpoint)).status, (await post.see(endpoint)).failing_since) == ("delivered", None)


async def test_after_72_hours_it_is_given_up(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.answer("/hook", 500)
    (made,) = await post.queue(endpoint)
    while (found := await post.only(endpoint)).status is DeliveryStatus.PENDING:
        post.house.clock.set(max(post.house.clock.now(), found.next_at))
        await post.carry()
    assert (found.status, found.code) == (DeliveryStatus.FAILED, 500)
    last = (found.tried_at or 0) - made.created_at
    assert 70 * 3600 * SECOND <= last <= 72 * 3600 * SECOND
    assert len(post.receiver.calls) == found.attempts
    assert post.courier.counts["given_up"] == 1


@pytest.mark.parametrize(("asked", "wait_s"), [("90", 90), ("1", 5), ("999999", 6 * 3600), ("nonsense", 5)])
async def test_a_retry_after_is_obeyed_within_bounds(post: Post, asked: str, wait_s: int) -> None:
    endpoint = await post.endpoint()
    post.receiver.answer("/hook", 429, Retry_After=asked)
    await post.queue(endpoint)
    await post.carry()
    found = await post.only(endpoint)
    assert wait_s <= (found.next_at - (found.tried_at or 0)) / SECOND < wait_s + 5
    if asked != "nonsense":
        await post.queue(endpoint)
        post.house.clock.advance(0.5)
        await post.carry()
        assert len(post.receiver.calls) == 1, "the others wait as well"


async def test_gone_disables_the_endpoint_and_is_written_down(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.answer("/hook", 410)
    await post.queue(endpoint)
    await post.carry()
    found = await post.see(endpoint)
    assert (found.status, found.why_disabled) == (EndpointStatus.DISABLED, WhyDisabled.GONE)
    assert (await post.only(endpoint)).status is DeliveryStatus.FAILED
    (entry,) = await post.house.rows("SELECT * FROM audit WHERE action = 'webhook.disable'")
    assert (entry["actor"], entry["target"], json.loads(entry["detail"])) == (
        "operator",
        endpoint.id,
        {"reason": "gone"},
    )


async def test_an_endpoint_that_fails_for_days_is_disabled_and_one_that_rests_is_not(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.answer("/hook", 500)
    for _ in range(6 * 5):
        await post.queue(endpoint)
        await post.carry()
        if (await post.see(endpoint)).status is EndpointStatus.DISABLED:
            break
        post.house.clock.advance(4 * 3600)
    else:
        post.house.clock.advance(4 * 3600)
        await post.queue(endpoint)
        await post.carry()
    found = await post.see(endpoint)
    assert (found.status, found.why_disabled) == (EndpointStatus.DISABLED, WhyDisabled.FAILING)
    rested = await post.endpoint("/rested")
    post.receiver.answer("/rested", 500)
    await post.queue(rested)
    await post.carry()
    await post.house.change("DELETE FROM webhook_delivery")
    post.house.clock.advance(6 * 86_400)
    await post.queue(rested)
    await post.carry()
    assert (await post.see(rested)).status is EndpointStatus.ENABLED


async def test_a_slow_endpoint_delays_nobody_else(post: Post) -> None:
    slow, quick = await post.endpoint("/slow"), await post.endpoint("/quick")
    post.receiver.held.add("/slow")
    await post.queue(slow, 50)
    await post.courier.once()
    await post.receiver.arrived(couriers.OF_ENDPOINT)
    await post.queue(quick, 20)
    async with asyncio.timeout(60):
        while len(post.receiver.of("/quick")) < 20:
            await post.courier.once()
            await asyncio.sleep(0)
    assert len(post.receiver.of("/slow")) == couriers.OF_ENDPOINT
    post.receiver.let_go()
    await post.carry()
    assert len(post.receiver.of("/slow")) == 50


async def test_an_organization_does_not_take_every_place(post: Post) -> None:
    for at in range(4):
        endpoint = await post.endpoint(f"/{at}")
        post.receiver.held.add(f"/{at}")
        await post.queue(endpoint, 10)
    await post.courier.once()
    await post.receiver.arrived(couriers.OF_ORGANIZATION)
    assert not await post.courier.once()
    assert len(post.receiver.calls) == couriers.OF_ORGANIZATION
    theirs = await post.endpoint("/theirs", EVE)
    await post.queue(theirs)
    await post.courier.once()
    await post.receiver.arrived(couriers.OF_ORGANIZATION + 1)
    assert len(post.receiver.of("/theirs")) == 1


async def test_every_endpoint_has_its_turn_though_places_are_few(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(couriers, "AT_ONCE", couriers.OF_ENDPOINT)
    for at in range(4):
        await post.queue(await post.endpoint(f"/{at}"), 20)
    for _ in range(4):
        await post.courier.once()
        await post.courier.settle()
    assert {call.path for call in post.receiver.calls} == {"/0", "/1", "/2", "/3"}


async def test_a_failing_endpoint_gets_one_message_at_a_time(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.answer("/hook", 500)
    await post.queue(endpoint)
    await post.carry()
    post.receiver.held.add("/hook")
    await post.queue(endpoint, 5)
    await post.courier.once()
    await post.courier.once()
    await post.receiver.arrived(2)
    assert len(post.receiver.calls) == 2


async def test_two_processes_send_nothing_twice(post: Post) -> None:
    endpoint = await post.endpoint()
    await post.queue(endpoint, 40)
    both = (post.courier, post.another())
    while any(await asyncio.gather(*(each.once() for each in both))):
        for each in both:
            await each.settle()
    assert len(post.receiver.calls) == 40
    assert len({call.headers["webhook-id"] for call in post.receiver.calls}) == 40


async def test_what_a_dead_process_was_sending_is_sent_again_once_its_lease_is_over(post: Post) -> None:
    endpoint = await post.endpoint()
    post.receiver.held.add("/hook")
    await post.queue(endpoint)
    dead = post.another()
    await dead.once()
    await post.receiver.arrived(1)
    await dead.close(0)
    await post.carry()
    assert len(post.receiver.calls) == 1, "it may still be on its way"
    post.house.clock.advance(RULES.timeout_s + 16)
    post.receiver.let_go()
    await post.carry()
    found = await post.only(endpoint)
    assert (found.status, found.attempts, len(post.receiver.calls)) == (DeliveryStatus.DELIVERED, 2, 2)


async def test_a_late_report_changes_nothing(post: Post) -> None:
    endpoint = await post.endpoint()
    await post.queue(endpoint)
    async with post.house.db.write() as tx:
        (lost,) = await deliveries.claim(tx, endpoint.id, 1, 1)
    post.house.clock.advance(1)
    await post.carry()
    async with post.house.db.write() as tx:
        assert not await deliveries.report(tx, replace(lost, status=DeliveryStatus.FAILED))
    assert (await post.only(endpoint)).status is DeliveryStatus.DELIVERED


async def test_old_entries_of_the_log_go_and_waiting_ones_stay(post: Post) -> None:
    endpoint = await post.endpoint()
    await post.queue(endpoint)
    await post.carry()
    off = await post.endpoint("/off")
    await post.queue(off)
    await post.webhooks.change(CID, off.id, Change(enabled=False))
    post.house.clock.advance(29 * 86_400)
    await post.courier.once()
    assert len(await post.log(endpoint)) == 1
    late = await post.only(off)
    assert (late.status, late.error) == (DeliveryStatus.FAILED, "its time was over before it could be sent")
    post.house.clock.advance(2 * 86_400)
    await post.courier.once()
    assert (await post.log(endpoint), len(await post.log(off))) == ((), 1)


async def test_no_secret_and_no_url_is_logged(post: Post, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="hornada")
    endpoint = await post.endpoint("/hook?token=hush")
    await post.queue(endpoint)
    await post.carry()
    gone = await post.endpoint(url="http://127.0.0.1:9/hush")
    await post.queue(gone)
    await post.carry()
    await post.webhooks.rotate(CID, endpoint.id, overlap=True)
    told = caplog.text + json.dumps([dict(row) for row in await post.house.rows("SELECT * FROM audit")])
    assert endpoint.id in told
    assert "hush" not in told
    assert endpoint.secret.removeprefix("whsec_") not in told
    assert "127.0.0.1" not in told


async def test_what_waits_is_counted_without_disabled_endpoints(post: Post) -> None:
    endpoint, off = await post.endpoint(), await post.endpoint("/off")
    began = post.house.clock.now()
    await post.queue(endpoint, 3)
    await post.queue(off, 2)
    await post.webhooks.change(CID, off.id, Change(enabled=False))
    async with post.house.db.read() as tx:
        assert await deliveries.backlog(tx) == deliveries.Backlog(3, began)
    await post.carry()
    async with post.house.db.read() as tx:
        assert await deliveries.backlog(tx) == deliveries.Backlog(0, None)
    assert post.courier.counts["delivered"] == 3


async def test_an_endpoint_without_work_costs_no_write(post: Post) -> None:
    await post.endpoint()
    await post.carry()
    writes = 0
    write = post.house.db.write

    def counted() -> Any:
        nonlocal writes
        writes += 1
        return write()

    post.house.db.write = counted  # type: ignore[method-assign]
    assert not await post.courier.once()
    assert writes == 0
