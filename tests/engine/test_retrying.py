"""The lines of a batch that failed run again, byte for byte, in a batch of their own."""

import asyncio
from typing import Any

import pytest

from hornada.core.batch import Batch, Status
from hornada.core.errors import Code, Refusal
from hornada.core.file import File
from hornada.core.limits import DialectRules
from hornada.dialects import DIALECTS
from hornada.engine import retrying
from hornada.engine.retrying import Choice, Retrying
from tests.engine.house import ANA, OPENAI, House, caller, line, texts
from tests.engine.model_server import ModelServer, Say

BAD = b'{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"bad_word"}}'
HUGE = b'{"error":{"message":"no","type":"invalid_request_error","param":null,"code":413}}'


def rules(name: str) -> DialectRules:
    return DIALECTS[name].rules


@pytest.fixture
def again(house: House) -> Retrying:
    return Retrying(house.db, house.blobs, house.files, house.batches, rules)


async def retried(again: Retrying, batch: Batch, *codes: str, who: Any = ANA, **change: Any) -> tuple[Batch, bool]:
    choice = Choice(
        codes=frozenset(codes), ids=frozenset(change.pop("ids", ())), answered=change.pop("answered", False)
    )
    asked: dict[str, Any] = {"retry": False, "idempotency_key": None}
    return await again.retry(who, batch.id, choice, **(asked | change))


async def refused(again: Retrying, batch: Batch, *codes: str, **change: Any) -> str:
    with pytest.raises(Refusal) as caught:
        await retried(again, batch, *codes, **change)
    assert caught.value.code is Code.BATCH_NOT_RETRYABLE
    return caught.value.message


def two_kinds(server: ModelServer) -> None:
    server.script = lambda text, nth: (
        Say(400, body=BAD) if "b" in text else Say(413, body=HUGE) if "h" in text else Say()
    )


async def content(house: House, batch: Batch) -> bytes:
    file: File = await house.files.get(ANA, batch.input_file)
    return await house.blobs.read(file.object, 0, file.bytes)


async def test_the_failed_lines_run_again_byte_for_byte(
    house: House, again: Retrying, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "_BLOCK", 64)
    two_kinds(server)
    odd = b'{"custom_id":"x\\u00e9b",  "body":{"model":"m","n":1.50,"messages":[{"role":"user","content":"xb"}]}}'
    lines = [
        b"\xef\xbb\xbf" + line("b0"),
        line("a1"),
        b" \r\n",
        odd + b"\r\n",
        line("h3"),
        line("a4"),
        line("b5").rstrip(),
    ]
    batch = await house.finish(await house.accepted(*lines))
    assert batch.counts.failed == 4
    new, earlier = await retried(again, batch)
    assert not earlier
    assert await content(house, new) == line("b0") + odd + b"\r\n" + line("h3") + line("b5")
    assert (new.retry_of, new.metadata) == (batch.id, {"retry_of": f"batch_{batch.id}"})
    assert (new.endpoint, new.dialect, new.status) == (batch.endpoint, batch.dialect, Status.VALIDATING)
    server.script = lambda text, nth: Say()
    await house.check()
    assert (await house.finish(new)).counts.completed == 4


@pytest.mark.parametrize(
    ("only", "taken"),
    [(("bad_word",), ["b0", "b2"]), (("http_413",), ["h1"]), (("http_400", "http_413"), ["b0", "h1", "b2"])],
)
async def test_only_those_that_failed_so(
    house: House, again: Retrying, server: ModelServer, only: tuple[str, ...], taken: list[str]
) -> None:
    two_kinds(server)
    batch = await house.finish(await house.accepted("b0", "h1", "b2", "a3"))
    assert batch.failures == {"bad_word": 2, "http_413": 1}
    new, _ = await retried(again, batch, *only)
    assert await content(house, new) == b"".join(map(line, taken))


async def test_only_the_lines_that_are_named(house: House, again: Retrying, server: ModelServer) -> None:
    two_kinds(server)
    batch = await house.finish(await house.accepted("b0", "a1", "b2", "h3", "a4"))
    new, _ = await retried(again, batch, ids=["h3", "b0"])
    assert await content(house, new) == line("b0") + line("h3")
    said = await refused(again, batch, ids=["b0", "c", *(f"d{i}" for i in range(6))])
    assert said == "The batch has no line with the custom_id 'c', 'd0', 'd1', 'd2', 'd3' and 2 more."
    assert "There is an answer to the line with the custom_id 'a1', 'a4'; " in await refused(
        again, batch, ids=["b0", "a4", "a1"]
    )
    new, _ = await retried(again, batch, ids=["b2", "a1"], answered=True)
    assert await content(house, new) == line("a1") + line("b2")


async def test_lines_that_have_an_answer_run_again_where_none_failed(house: House, again: Retrying) -> None:
    batch = await house.finish(await house.accepted("a0", "a1"))
    assert batch.error_file is None
    assert "nothing to retry" in await refused(again, batch, ids=["a0"])
    new, _ = await retried(again, batch, ids=["a1"], answered=True)
    assert await content(house, new) == line("a1")


async def test_lines_that_were_cancelled_run_again(house: House, again: Retrying) -> None:
    batch = await house.accepted(*texts(3))
    await house.batches.cancel(ANA, batch.id)
    batch = await house.finish(batch)
    new, _ = await retried(again, batch, "batch_cancelled")
    assert await content(house, new) == b"".join(map(line, texts(3)))


async def test_what_cannot_be_retried_is_refused_in_words(house: House, again: Retrying, server: ModelServer) -> None:
    two_kinds(server)
    batch = await house.accepted("b0", "a1")
    assert "'in_progress'" in await refused(again, batch)
    batch = await house.finish(batch)
    assert "bad_word (1)" in await refused(again, batch, "http_500")
    assert await house.rows("SELECT id FROM file WHERE purpose = 'batch'") != []
    good = await house.finish(await house.accepted("a0"))
    assert "nothing to retry" in await refused(again, good)
    faulty = await house.fresh(b"{\n")
    await house.check()
    assert "faults" in await refused(again, faulty)
    assert batch.error_file is not None
    await house.files.delete(ANA, batch.error_file)
    assert "error file" in await refused(again, batch)
    await house.files.delete(ANA, batch.input_file)
    assert "input file" in await refused(again, batch)


async def test_the_same_retry_again_answers_the_first_and_makes_no_second_file(
    house: House, again: Retrying, server: ModelServer
) -> None:
    two_kinds(server)
    batch = await house.finish(await house.accepted("b0"))
    first, _ = await retried(again, batch)
    assert await retried(again, batch) == (first, True)
    strict = await house.upload(line("b7"))
    batch, _ = await house.create(strict, rules=OPENAI)
    await house.check()
    batch = await house.finish(batch)
    first, _ = await retried(again, batch, idempotency_key="once")
    files = await house.rows("SELECT id FROM file")
    assert await retried(again, batch, idempotency_key="once") == (first, True)
    assert await retried(again, batch, retry=True) == (first, True)
    assert (await retried(again, batch))[1] is False
    assert await house.rows("SELECT id FROM file") == files


async def test_a_retry_counts_against_the_plan_and_leaves_no_file_when_it_is_refused(
    house: House, again: Retrying, server: ModelServer
) -> None:
    two_kinds(server)
    batch = await house.finish(await house.accepted("b0", "a1"))
    other = await house.fresh("other")
    files = await house.rows("SELECT id FROM file")
    with pytest.raises(Refusal) as caught:
        await retried(again, batch, who=caller(active_batches=1))
    assert caught.value.code is Code.TOO_MANY_ACTIVE_BATCHES
    with pytest.raises(Refusal) as caught:
        await retried(again, batch, who=caller(storage_bytes=100))
    assert caught.value.code is Code.STORAGE_QUOTA_EXCEEDED
    assert await house.rows("SELECT id FROM file") == files
    inputs = {f"input/{each}" for each in (batch.input_file, other.input_file)}
    keys = house.blobs.keys()
    assert {key async for key, _ in keys if key.startswith("input/")} == inputs


async def test_anybody_of_the_organization_may_retry_and_nobody_else(
    house: House, again: Retrying, server: ModelServer
) -> None:
    two_kinds(server)
    batch = await house.finish(await house.accepted("b0"))
    new, _ = await retried(again, batch, who=caller("bob"))
    assert new.member == "bob"
    with pytest.raises(Refusal) as caught:
        await retried(again, batch, who=caller("eve", org="foreign"))
    assert caught.value.code is Code.BATCH_NOT_FOUND


async def test_metadata_without_room_stay_as_they_are(house: House, again: Retrying, server: ModelServer) -> None:
    two_kinds(server)
    full = {str(at): "x" for at in range(16)}
    batch, _ = await house.create(await house.upload(line("b0")), metadata=full)
    await house.check()
    batch = await house.finish(batch)
    first, _ = await retried(again, batch)
    assert (first.metadata, first.retry_of) == (full, batch.id)


async def test_an_organization_has_so_many_retries_under_way(house: House, server: ModelServer) -> None:
    two_kinds(server)
    batch = await house.finish(await house.accepted("b0"))
    full = Retrying(house.db, house.blobs, house.files, house.batches, rules, most=0)
    with pytest.raises(Refusal) as caught:
        await retried(full, batch)
    assert (caught.value.code, "0 retries under way" in caught.value.message) == (Code.RATE_LIMIT_EXCEEDED, True)


async def test_the_event_loop_turns_while_many_lines_are_looked_at(
    house: House, again: Retrying, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_kinds(server)
    batch = await house.finish(await house.accepted(*(f"b{at}" for at in range(300))))
    monkeypatch.setattr(retrying, "_AT_A_STRETCH", 16)
    code_of, looked = retrying.code_of, [0]
    monkeypatch.setattr(retrying, "code_of", lambda *seen: looked.append(looked.pop() + 1) or code_of(*seen))

    async def turning() -> None:
        while True:
            looked.append(0)
            await asyncio.sleep(0)

    task = asyncio.create_task(turning())
    assert "nothing to retry" in await refused(again, batch, "nope")
    task.cancel()
    assert sum(looked) == 300
    assert max(looked) <= 16
