"""Streams of events over the real ledger, driven as a server would drive the application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hornada.api.own_schemas import BatchEvent
from hornada.core.batch import Status
from tests.api.site import DIALECTS, KEY, Site, open_site
from tests.api.test_batches import made


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path, onlookers=5) as opened:
        yield opened


class Stream:
    """One call and what it has been sent."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.data = b""
        self.over = False
        self._changed = asyncio.Condition()
        self._left = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        async with self._changed:
            if message["type"] == "http.response.start":
                self.status, self.headers = message["status"], dict(message["headers"])
            else:
                self.data += message["body"]
                self.over = not message.get("more_body", False)
            self._changed.notify_all()

    async def receive(self) -> dict[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}

    def leave(self) -> None:
        self._left.set()

    @property
    def events(self) -> list[dict[str, Any]]:
        """The data of the events so far."""
        blocks = [block for block in self.data.decode().split("\n\n") if "data: " in block]
        return [msgspec.json.decode(block.partition("data: ")[2]) for block in blocks]

    async def until(self, events: int = 0, *, over: bool = False) -> None:
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: len(self.events) >= events and (self.over or not over))


@asynccontextmanager
async def opened(site: Site, path: str, key: str = KEY, method: str = "GET", **headers: str) -> AsyncIterator[Stream]:
    """A stream; its client leaves at the end, on which its call must end too."""
    stream = Stream()
    given = [(b"authorization", f"Bearer {key}".encode())]
    given += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": given}
    task = asyncio.create_task(site.app(scope, stream.receive, stream.send))  # type: ignore[arg-type]
    try:
        yield stream
    finally:
        stream.leave()
        async with asyncio.timeout(60):
            await task


async def move(site: Site, batch: str, status: Status) -> None:
    """Has another process move a batch on."""
    async with site.db.write() as tx:
        await tx.run(
            "UPDATE batch SET status = :status, total = total + 1 WHERE id = :id",
            status=status,
            id=batch.removeprefix("batch_"),
        )


@pytest.mark.parametrize("base", list(DIALECTS))
async def test_events_tell_how_a_batch_gets_on_until_it_has_ended(site: Site, base: str) -> None:
    batch = (await made(site))["id"]
    shown = (await site.client.get(f"{base}/batches/{batch}")).json()
    async with opened(site, f"{base}/batches/{batch}/events") as stream:
        await stream.until(1)
        assert stream.headers[b"content-type"] == b"text/event-stream; charset=utf-8"
        await move(site, batch, Status.IN_PROGRESS)
        await stream.until(2)
        await move(site, batch, Status.COMPLETED)
        await stream.until(over=True)
    assert stream.status == 200
    assert [event["type"] for event in stream.events] == ["batch.progress", "batch.progress", "batch.completed"]
    assert stream.events[0]["batch"] == shown
    assert stream.events[-1]["batch"] == (await site.client.get(f"{base}/batches/{batch}")).json()
    assert b"event: batch.completed\nid: end\ndata: {" in stream.data
    for event in stream.events:
        known = {**event, "batch": {**event["batch"], **(await site.client.get(f"/v1/batches/{batch}")).json()}}
        if base == "/v1":
            msgspec.convert(known, BatchEvent)
        assert set(event["progress"]) >= {"rate", "eta", "cost", "errors_by_code", "waiting_for"}


async def test_of_a_batch_that_has_ended_there_is_one_event_and_none_for_who_has_seen_it(site: Site) -> None:
    batch = (await made(site))["id"]
    await move(site, batch, Status.COMPLETED)
    path = f"/v1/batches/{batch}/events"
    async with opened(site, path) as stream:
        await stream.until(over=True)
    assert [event["type"] for event in stream.events] == ["batch.completed"]
    async with opened(site, path, last_event_id="17") as stream:
        await stream.until(1, over=True)
    async with opened(site, path, last_event_id="end") as stream:
        await stream.until(over=True)
    assert (stream.status, stream.data) == (204, b"")


async def test_a_head_has_no_body(site: Site) -> None:
    batch = (await made(site))["id"]
    async with opened(site, f"/v1/batches/{batch}/events", method="HEAD") as stream:
        await stream.until(over=True)
    assert (stream.status, stream.data) == (200, b"")


async def test_nobody_watches_what_is_not_theirs(site: Site) -> None:
    async with opened(site, "/v1/batches/batch_nosuchbatch0000/events") as stream:
        await stream.until(over=True)
    assert stream.status == 404


async def test_an_organization_has_so_many_streams_at_once(site: Site) -> None:
    batch = (await made(site))["id"]
    path = f"/v1/batches/{batch}/events"
    for _ in range(2):  # and as many again when those are closed
        async with AsyncExitStack() as stack:
            for _ in range(5):
                await (await stack.enter_async_context(opened(site, path))).until(1)
            async with opened(site, path) as refused:
                await refused.until(over=True)
            assert (refused.status, refused.headers[b"retry-after"]) == (429, b"10")
            assert b"5 streams" in refused.data
        assert site.traffic.open == 0


async def test_streams_end_when_the_server_stops(tmp_path: Path) -> None:
    stopping = False
    async with open_site(tmp_path, stopping=lambda: stopping) as site:
        batch = (await made(site))["id"]
        async with opened(site, f"/v1/batches/{batch}/events") as stream:
            await stream.until(1)
            stopping = True
            await stream.until(over=True)
        assert [event["type"] for event in stream.events] == ["batch.progress"]
