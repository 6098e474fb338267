"""The worker: claims, sends, makes durable; nothing is lost or done twice, whatever fails."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import hornada.engine.dispatcher as dispatching
from hornada.core.batch import Batch, RequestCounts, Status, StopReason, Usage
from hornada.core.catalog import Catalog, Server
from hornada.core.errors import Code, Unavailable
from hornada.core.segment import unpack
from hornada.engine.dispatcher import EXPIRY_GRACE_S
from hornada.store import chunk as chunks
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.failing import Flaky, FullDisk
from tests.engine.house import ANA, House, folder, line, opened, people, texts
from tests.engine.model_server import ModelServer, Say, listening

NO = b'{"error": {"message": "no", "type": "its_own", "param": null, "code": "mine"}, "more": 1}'
"""A model server's refusal in OpenAI's envelope."""


async def started(house: House, server: ModelServer, *lines: str, calls: int | None = None) -> Batch:
    """A batch whose first calls are open."""
    server.holding = True
    batch = await house.accepted(*lines)
    before = server.total
    await house.dispatcher.once()
    await server.arrived(before + (min(len(lines), 4) if calls is None else calls))
    return batch


async def let_go(house: House, server: ModelServer) -> None:
    """Answers all that is open and lets the answers come in."""
    open_ = list(server.open)
    server.holding = False
    server.release()
    for text in open_:
        await server.gone(text)
    await in_flight(house, 0)


async def in_flight(house: House, lines: int) -> None:
    """Waits until no more lines than these are in flight: the answers of the others have come in."""
    async with asyncio.timeout(60):
        while sum(held.in_flight for held in house.dispatcher._held.values()) > lines:
            await asyncio.sleep(0.001)


async def tick(house: House, seconds: float = 0.5) -> None:
    house.clock.advance(seconds)
    await house.dispatcher.once()


async def ids(house: House, batch: Batch) -> tuple[list[str], list[str]]:
    output, errors = await house.results(batch)
    return [each["custom_id"] for each in output], [each["custom_id"] for each in errors]


def once_each(server: ModelServer, *asked: str) -> bool:
    return dict(server.calls) == dict.fromkeys(asked, 1)


async def test_every_line_is_sent_once_and_its_answer_kept(house: House, server: ModelServer) -> None:
    asked = texts(250)
    ended = await house.finish(await house.accepted(*asked))
    assert (ended.status, ended.counts) == (Status.COMPLETED, RequestCounts(250, 250, 0))
    output, errors = await house.results(ended)
    assert [(each["custom_id"], each["response"]["body"]["text"]) for each in output] == [(t, t) for t in asked]
    assert errors == []
    assert once_each(server, *asked)
    assert server.most_open <= 4


async def test_usage_and_price_of_every_answer_are_in_the_ledger_once(house: House) -> None:
    ended = await house.finish(await house.accepted(*texts(150)))
    assert ended.usage == Usage(450, 0, 300, 0)
    entries = await house.rows("SELECT * FROM ledger_entry")
    assert sum(entry["lines"] for entry in entries) == 150
    assert sum(entry["amount"] for entry in entries) == 150 * (3 * 1 + 2 * 2)
    assert {(e["org"], e["key"], e["batch"], e["model"], e["endpoint"]) for e in entries} == {
        ("org", "key-ana", ended.id, "m", "/v1/chat/completions:batch")
    }


async def test_one_flush_commits_all_chunks_and_batches(house: House, server: ModelServer) -> None:
    house.gates.resize(replace(house.model, capacity=300, batch_slots=300))
    server.holding = True
    batches = [await house.accepted(*texts(120, prefix)) for prefix in "ab"]
    while await house.dispatcher.once():
        pass
    await server.arrived(240)
    await let_go(house, server)
    written = 0

    async with house.db.read() as tx:
        assert await tx.rows("SELECT 1 FROM segment") == []
    original = house.db.write

    def counting() -> object:
        nonlocal written
        written += 1
        return original()

    house.dispatcher._recorder._db = type("Counted", (), {"read": house.db.read, "write": staticmethod(counting)})()
    await tick(house)
    assert written == 1
    assert [(await house.see(batch)).status for batch in batches] == [Status.FINALIZING] * 2
    assert await house.rows("SELECT DISTINCT state FROM chunk") == [{"state": "done"}]


async def test_bits_counts_segments_and_bytes_agree_at_every_commit(house: House, server: ModelServer) -> None:
    server.script = lambda text, nth: Say(400) if text.endswith("3") else Say()
    server.holding = True
    await house.accepted(*texts(12))
    await house.dispatcher.once()
    for answered in range(0, 12, 2):
        await server.arrived(min(12, answered + 4))
        server.release(*sorted(server.open)[:2])
        await in_flight(house, min(4, 10 - answered))
        await tick(house)
        (chunk,) = await house.rows("SELECT * FROM chunk")
        done = {at for at in range(12) if chunk["done"][at // 8] >> at % 8 & 1}
        found = set[int]()
        for row in await house.rows("SELECT * FROM segment"):
            data = await house.blobs.read(row["object"], row["byte_off"], row["byte_len"])
            assert hashlib.sha256(data).hexdigest() == row["sha256"]
            entries = unpack(row["lines"])
            assert (row["n_ok"], row["n_failed"]) == (
                sum(entry.ok for entry in entries),
                sum(not entry.ok for entry in entries),
            )
            assert not found & {entry.line for entry in entries}
            found |= {entry.line for entry in entries}
        assert done == found
        assert chunk["n_ok"] + chunk["n_failed"] == len(done)
    server.holding = False
    server.release()
    await house.work()


async def test_nothing_is_flushed_within_half_a_second_of_the_last_time(house: House, server: ModelServer) -> None:
    batch = await started(house, server, *texts(8))
    server.release("t0000")
    await server.arrived(5)
    await tick(house)
    assert (await house.see(batch)).counts.completed == 1
    server.release("t0001")
    await server.arrived(6)
    await tick(house, 0.4)
    assert (await house.see(batch)).counts.completed == 1
    await tick(house, 0.1)
    assert (await house.see(batch)).counts.completed == 2


async def test_a_chunk_that_nothing_else_goes_on_beside_is_flushed_at_once(house: House, server: ModelServer) -> None:
    batch = await started(house, server, "a")
    await let_go(house, server)
    assert house.rung.is_set()
    await house.dispatcher.once()
    assert (await house.see(batch)).status is Status.FINALIZING


@pytest.fixture
async def flaky(db: Database, tmp_path: Path, clock: Hands, url: str) -> AsyncIterator[tuple[House, Flaky]]:
    await people(db, clock)
    flaky = Flaky(db)
    async with opened(flaky, folder(tmp_path), clock, url) as house:
        yield house, flaky


async def test_results_outlast_a_database_that_is_away_when_they_are_to_be_committed(
    flaky: tuple[House, Flaky], server: ModelServer
) -> None:
    house, db = flaky
    batch = await started(house, server, *texts(6))
    server.release("t0000", "t0001")
    await server.arrived(6)
    db.before = 3
    for _ in range(3):
        with pytest.raises(Unavailable):
            await tick(house)
    server.release("t0002")
    await in_flight(house, 3)
    await tick(house)
    await let_go(house, server)
    ended = await house.finish(batch)
    assert (ended.counts, once_each(server, *texts(6))) == (RequestCounts(6, 6, 0), True)


@pytest.mark.parametrize("lines", [2, 6])
async def test_a_commit_whose_answer_is_lost_is_not_made_twice(
    flaky: tuple[House, Flaky], server: ModelServer, lines: int
) -> None:
    """``lines``: the commit that is lost ends the chunk, or it does not."""
    house, db = flaky
    batch = await started(house, server, *texts(lines))
    server.release("t0000", "t0001")
    await server.arrived(lines)
    await in_flight(house, lines - 2)
    db.after = 1
    with pytest.raises(Unavailable):
        await tick(house)
    server.holding = False
    server.release()
    ended = await house.finish(batch)
    assert (ended.status, ended.counts) == (Status.COMPLETED, RequestCounts(lines, lines, 0))
    assert once_each(server, *texts(lines))
    assert (await house.rows("SELECT CAST(sum(lines) AS BIGINT) AS n FROM ledger_entry"))[0]["n"] == lines


@pytest.mark.parametrize("lost", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
async def test_a_claim_that_comes_to_nothing_half_way_loses_no_chunk(
    flaky: tuple[House, Flaky], server: ModelServer, clock: Hands, lost: str, nth: int
) -> None:
    house, db = flaky
    batch = await house.accepted(*texts(150))
    for _ in range(2):
        setattr(db, lost, nth)
        for _ in range(nth):
            with pytest.raises(Unavailable):
                await house.dispatcher.once()
    clock.advance(10)
    ended = await house.finish(batch)
    assert (ended.counts, once_each(server, *texts(150))) == (RequestCounts(150, 150, 0), True)


async def test_results_outlast_a_disk_that_is_full(
    db: Database, tmp_path: Path, clock: Hands, url: str, server: ModelServer
) -> None:
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url) as house:  # type: ignore[arg-type]
        batch = await started(house, server, *texts(3))
        await let_go(house, server)
        disk.full = {"append"}
        for _ in range(3):
            with pytest.raises(Unavailable, match="full"):
                await tick(house)
        assert (await house.see(batch)).counts.completed == 0
        disk.full = set()
        ended = await house.finish(batch)
        assert (ended.counts, once_each(server, *texts(3))) == (RequestCounts(3, 3, 0), True)


async def test_segments_that_are_durable_are_not_written_again_when_the_commit_fails(
    db: Database, tmp_path: Path, clock: Hands, url: str, server: ModelServer
) -> None:
    await people(db, clock)
    flaky, disk = Flaky(db), FullDisk(folder(tmp_path))
    async with opened(flaky, disk, clock, url) as house:  # type: ignore[arg-type]
        await started(house, server, *texts(3))
        await let_go(house, server)
        flaky.before = 3
        for _ in range(3):
            with pytest.raises(Unavailable):
                await tick(house)
        await tick(house)
        assert disk.appended == 1


async def test_a_chunk_that_somebody_else_holds_by_now_drops_its_calls_and_results(
    house: House, server: ModelServer, tmp_path: Path, url: str
) -> None:
    batch = await started(house, server, *texts(6))
    server.release("t0000")
    await server.arrived(5)
    async with house.db.write() as tx:
        await chunks.void(tx, "other", 10)
    async with opened(house.db, house.blobs, house.clock, url, owner="other") as other:
        server.holding = False
        await other.dispatcher.once()
        await tick(house)
        assert house.dispatcher.held == 0
        assert house.dispatcher.unsaved_bytes == 0
        assert house.gate.lines == 0 or await drained(house)
        ended = await other.finish(batch)
    assert ended.counts == RequestCounts(6, 6, 0)
    assert (await house.rows("SELECT CAST(sum(lines) AS BIGINT) AS n FROM ledger_entry"))[0]["n"] == 6
    assert {row["epoch"] for row in await house.rows("SELECT epoch FROM segment")} == {2}


async def drained(house: House) -> bool:
    async with asyncio.timeout(60):
        while house.gate.lines:
            await asyncio.sleep(0.001)
    return True


async def test_a_cancelled_batch_starts_no_line_more_and_keeps_what_was_in_flight(
    house: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(150))
    await house.batches.cancel(ANA, batch.id)
    await let_go(house, server)
    ended = await house.finish(batch)
    assert (ended.status, ended.counts) == (Status.CANCELLED, RequestCounts(150, 4, 146))
    assert server.total == 4
    output, errors = await house.results(ended)
    assert [each["custom_id"] for each in output] == texts(4)
    assert [each["custom_id"] for each in errors] == texts(150)[4:]
    assert {(each["response"], each["error"]["code"]) for each in errors} == {(None, Code.BATCH_CANCELLED)}
    assert ended.usage == Usage(12, 0, 8, 0)


async def test_a_cancel_that_this_process_was_not_told_of_is_seen_at_the_next_tick(
    house: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(20))
    async with house.db.write() as tx:
        from hornada.store import batch as batches

        found = await house.see(batch)
        await batches.stop(tx, found, Status.CANCELLING, StopReason.CANCELLED, (), house.clock.now())
    await house.dispatcher.once()
    await let_go(house, server)
    assert (await house.finish(batch)).counts == RequestCounts(20, 4, 16)
    assert server.total == 4


async def test_a_line_that_waits_for_its_next_try_ends_with_its_cancelled_batch_at_once(
    house: House, server: ModelServer
) -> None:
    server.script = lambda text, nth: Say(429, headers="retry-after: 60\r\n")
    batch = await started(house, server, "a", "b")
    await let_go(house, server)
    await house.batches.cancel(ANA, batch.id)
    await house.dispatcher.once()
    await house.finalizer.once()
    ended = await house.see(batch)
    assert (ended.status, ended.counts) == (Status.CANCELLED, RequestCounts(2, 0, 2))


async def test_an_expired_batch_starts_no_line_more_and_gives_those_in_flight_a_minute(
    house: House, server: ModelServer, clock: Hands
) -> None:
    batch = await started(house, server, *texts(150))
    clock.set(batch.expires_at)
    await house.reaper.once()
    server.release("t0000", "t0001")
    await in_flight(house, 2)
    await tick(house)
    await tick(house, EXPIRY_GRACE_S - 1)
    assert sorted(server.open) == ["t0002", "t0003"]
    await tick(house, 2)
    await server.gone("t0002")
    await server.gone("t0003")
    ended = await house.finish(batch)
    assert (ended.status, ended.counts) == (Status.EXPIRED, RequestCounts(150, 2, 148))
    assert server.total == 4
    _, errors = await house.results(ended)
    assert {each["error"]["code"] for each in errors} == {Code.BATCH_EXPIRED}


async def test_lines_stopped_by_the_deadline_before_anybody_says_so_end_as_expired(
    house: House, server: ModelServer, clock: Hands
) -> None:
    batch = await started(house, server, *texts(6))
    clock.set(batch.expires_at)
    await let_go(house, server)
    await tick(house)
    assert house.dispatcher.held == 0
    assert not await house.dispatcher.once(), "an overdue batch is not claimed from"
    assert (await house.see(batch)).status is Status.IN_PROGRESS
    await house.reaper.once()
    ended = await house.finish(batch)
    assert (ended.status, ended.counts) == (Status.EXPIRED, RequestCounts(6, 4, 2))


async def test_no_line_starts_while_too_much_waits_to_become_durable(
    house: House, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "UNSAVED_BYTES", 2000)
    server.script = lambda text, nth: Say(body=b'{"text":"%b"}' % (b"x" * 1500))
    await started(house, server, *texts(40))
    server.holding = False
    server.release()
    async with asyncio.timeout(60):
        while house.gate.lines:
            await asyncio.sleep(0.001)
    assert house.dispatcher.unsaved_bytes > 2000
    assert server.total < 12
    before = server.total
    server.holding = True
    await house.dispatcher.once()
    assert house.dispatcher.unsaved_bytes == 0
    await server.arrived(before + 1)
    server.holding = False
    server.release()
    await house.work()
    assert once_each(server, *texts(40))


async def test_input_that_cannot_be_read_is_handed_back_and_holds_up_no_other_batch(
    house: House, server: ModelServer, clock: Hands
) -> None:
    broken = await house.accepted(*texts(250))
    (file,) = await house.rows("SELECT object, bytes FROM file WHERE id = :id", id=broken.input_file)
    whole = await house.blobs.read(file["object"], 0, file["bytes"])
    clock.advance(1)
    other = await house.accepted("a", "b")
    for spoilt in (whole[:-300], whole.replace(b"custom_id", b"custom-id"), whole.replace(b"\n", b" ")):
        await house.overwrite(file["object"], spoilt.ljust(len(whole)))
        await house.dispatcher.once()
        await house.dispatcher.once()
        clock.advance(10)
    assert (await house.finish(other)).status is Status.COMPLETED
    assert (await house.see(broken)).status is Status.IN_PROGRESS
    await house.overwrite(file["object"], whole)
    clock.advance(10)
    ended = await house.finish(broken)
    assert (ended.counts, server.calls["t0249"]) == (RequestCounts(250, 250, 0), 1)


async def test_a_graceful_end_commits_what_comes_in_and_hands_the_rest_back(
    house: House, server: ModelServer, url: str
) -> None:
    batch = await started(house, server, *texts(150))
    closing = asyncio.ensure_future(house.dispatcher.close(20))
    await asyncio.sleep(0)
    server.release()
    await closing
    assert house.dispatcher.held == 0
    assert server.total == 4
    assert (await house.see(batch)).counts == RequestCounts(150, 4, 0)
    assert {row["state"] for row in await house.rows("SELECT state FROM chunk")} == {"ready"}
    server.holding = False
    async with opened(house.db, house.blobs, house.clock, url, owner="next") as after:
        ended = await after.finish(batch)
    assert ended.counts == RequestCounts(150, 150, 0)
    assert once_each(server, *texts(150))


async def test_a_graceful_end_without_grace_runs_lines_in_flight_again(
    house: House, server: ModelServer, url: str
) -> None:
    batch = await started(house, server, *texts(6))
    await house.dispatcher.close(0)
    server.holding = False
    async with opened(house.db, house.blobs, house.clock, url, owner="next") as after:
        assert (await after.finish(batch)).counts == RequestCounts(6, 6, 0)


async def test_a_graceful_end_of_a_cancelled_batch_ends_its_chunks(house: House, server: ModelServer) -> None:
    batch = await started(house, server, *texts(6))
    await house.batches.cancel(ANA, batch.id)
    await house.dispatcher.close(0)
    assert {row["state"] for row in await house.rows("SELECT state FROM chunk")} == {"done"}
    await house.finalizer.once()
    assert (await house.see(batch)).status is Status.CANCELLED


# ---------------------------------------------------------------- which lines are tried again


async def answers(house: House, server: ModelServer, *says: Say) -> tuple[int, dict[str, object]]:
    """Runs one line against a server that gives these answers, the last one for ever; calls and the line's result."""
    server.script = lambda text, nth: replace_body(says[min(nth, len(says)) - 1])
    ended = await house.finish(await house.accepted("a"))
    output, errors = await house.results(ended)
    return server.calls["a"], (output + errors)[0]["response"]


def replace_body(say: Say) -> Say:
    return Say(say.status, say.body, say.headers)


@pytest.mark.parametrize("status", [429, 502, 503])
async def test_a_busy_servers_answer_uses_up_no_try(house: House, server: ModelServer, status: int) -> None:
    calls, response = await answers(house, server, *[Say(status)] * 12, Say())
    assert (calls, response["status_code"]) == (13, 200)


@pytest.mark.parametrize("status", [408, 500, 504])
async def test_a_failing_line_is_tried_four_times_and_ends_with_the_last_answer(
    house: House, server: ModelServer, status: int
) -> None:
    last = Say(status, NO)
    calls, response = await answers(house, server, Say(500), Say(500), Say(500), last, Say())
    assert (calls, response["status_code"], response["body"]) == (4, status, json.loads(NO))


@pytest.mark.parametrize(
    ("say", "status"),
    [
        (Say(0), 502),
        (Say(200, b"<html>"), 502),
        (Say(200, b'{"half":'), 502),
        (Say(200, b'{"error": {"message": "no"}}'), 502),
        (Say(200, b'data: {"a": 1}\n\n'), 502),
        (Say(200, b"\xff{}"), 502),
    ],
)
async def test_what_is_no_answer_is_tried_four_times_and_ends_as_a_failure_of_the_upstream(
    house: House, server: ModelServer, say: Say, status: int
) -> None:
    calls, response = await answers(house, server, say)
    assert (calls, response["status_code"]) == (4, status)
    body = response["body"]
    assert isinstance(body, dict)
    assert body["error"]["code"] == Code.UPSTREAM_ERROR


@pytest.mark.parametrize("status", [400, 404, 409, 422, 501])
async def test_what_a_server_refuses_is_never_tried_again(house: House, server: ModelServer, status: int) -> None:
    calls, response = await answers(house, server, Say(status, NO), Say())
    assert (calls, response["status_code"], response["body"]) == (1, status, json.loads(NO))


@pytest.mark.parametrize("status", [401, 403, 302])
async def test_a_server_that_refuses_hornada_itself_is_a_failure_of_the_upstream(
    house: House, server: ModelServer, status: int
) -> None:
    calls, response = await answers(house, server, Say(status, b'{"error": "your key sk-123"}'))
    assert (calls, response["status_code"]) == (1, 502)
    assert "sk-123" not in str(response)


async def test_an_answer_whose_error_is_null_is_a_success(house: House, server: ModelServer) -> None:
    calls, response = await answers(house, server, Say(200, b'{"error": null,\n "text": "yes"}'))
    assert (calls, response["body"]) == (1, {"error": None, "text": "yes"})


async def test_a_line_that_is_busy_alone_while_others_succeed_ends_after_eight_times_and_a_minute(
    house: House, server: ModelServer, clock: Hands
) -> None:
    began = clock.monotonic()
    server.script = lambda text, nth: Say(429) if text == "bad" else Say(500 if nth < 3 else 200)
    batch = await house.accepted("bad", *texts(3))
    ended = await house.finish(batch)
    _, errors = await house.results(ended)
    assert (ended.counts, errors[0]["custom_id"]) == (RequestCounts(4, 3, 1), "bad")
    assert errors[0]["response"]["status_code"] == 429
    assert server.calls["bad"] >= 8
    assert clock.monotonic() - began >= 60


async def test_a_body_that_a_regular_call_would_be_refused_for_never_reaches_the_server(
    house: House, server: ModelServer
) -> None:
    bad = line("a").replace(b'"messages":[', b'"messages":"no","was":[')
    ended = await house.finish(await house.accepted(bad, line("b")))
    _, errors = await house.results(ended)
    (error,) = errors
    assert (error["custom_id"], error["response"]["status_code"]) == ("a", 400)
    assert error["response"]["body"]["error"]["param"] == "messages"
    assert once_each(server, "b")


async def test_a_name_is_resolved_when_a_line_is_sent(house: House, server: ModelServer) -> None:
    batch = await house.accepted(line("a", model="alias"))
    house.catalog = Catalog(models=house.catalog.models, aliases={})
    ended = await house.finish(batch)
    _, errors = await house.results(ended)
    assert (errors[0]["response"]["status_code"], server.total) == (404, 0)
    assert errors[0]["response"]["body"]["error"]["code"] == Code.MODEL_NOT_FOUND


async def test_a_server_that_is_down_pauses_its_batches_and_loses_nothing(
    db: Database, tmp_path: Path, clock: Hands, server: ModelServer
) -> None:
    await people(db, clock)
    async with listening(ModelServer()) as url:
        port = int(url.rsplit(":", 1)[1].split("/")[0])
    async with opened(db, folder(tmp_path), clock, url) as house:
        batch = await house.accepted(*texts(30))
        for _ in range(200):
            await house.dispatcher.once()
            await house.pause()
            if house.dispatcher.state("m")[1]:
                break
        assert house.dispatcher.state("m")[1]
        assert (await house.see(batch)).counts == RequestCounts(30, 0, 0)
        async with listening(server, port):
            ended = await house.finish(batch)
            assert not house.dispatcher.state("m")[1]
            await house.servers.close()
    assert (ended.counts, once_each(server, *texts(30))) == (RequestCounts(30, 30, 0), True)


async def test_one_server_of_two_that_is_down_does_not_stop_a_model(
    house: House, server: ModelServer, clock: Hands
) -> None:
    async with listening(ModelServer()) as gone:
        pass
    up = house.model.servers[0]
    both = replace(house.model, servers=(Server(url=gone), up))
    house.catalog = Catalog(models={"m": both}, aliases={})
    ended = await house.finish(await house.accepted(*texts(20)))
    assert (ended.counts, once_each(server, *texts(20))) == (RequestCounts(20, 20, 0), True)


async def test_a_model_that_fails_twenty_times_in_a_row_is_away_and_its_lines_use_up_no_tries(
    house: House, server: ModelServer
) -> None:
    server.script = lambda text, nth: Say(500)
    batch = await house.accepted(*texts(30))
    for _ in range(400):
        await house.dispatcher.once()
        await house.pause()
        if house.dispatcher.state("m")[1]:
            break
    assert house.dispatcher.state("m")[1]
    await house.pause()
    before = server.total
    for _ in range(20):
        await house.dispatcher.once()
        await house.pause()
    assert server.total - before <= 20, "one probe at a time"
    server.script = lambda text, nth: Say()
    ended = await house.finish(batch)
    assert ended.counts.total == 30
    assert ended.counts.completed >= 20
