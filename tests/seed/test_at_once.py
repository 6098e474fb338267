"""What the guide promises of a thing done twice, and of limits, when many do it at the same moment.

At one process, and at two that share a ledger: every other call goes to the second.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from bench.client import Answer, Client
from bench.hornada import KEY, Hornada, table
from tests.seed.guide import CHAT, Guide, chat, configuration, jsonl, mark, several
from tests.seed.platform import INPUT, OUTPUT

MANY = 8
Doors = list[Guide]
"""The guide at each process; one for each call that is made at once."""
Open = Callable[..., Doors]


@pytest.fixture(params=["one process", "two processes"])
def doors(request: pytest.FixtureRequest, backend: Client, tmp_path: Path) -> Iterator[Open]:
    """Starts an installation with a plan."""
    env = {}
    if request.param == "two processes":
        env["HORNADA_STORAGE_DATABASE"] = request.getfixturevalue("fresh_postgres")()
        env["HORNADA_STORAGE_BLOBS"] = request.getfixturevalue("object_store").url()
    with ExitStack() as stack:

        def start(*, more: str = "", **plan: Any) -> Doors:
            opened = []
            for n in range(2 if env else 1):
                config = configuration(backend, plan=plan, more=more)
                server = stack.enter_context(Hornada(tmp_path / f"{n}", config, env))
                server.start()
                opened.append(Guide(Client(server.base, KEY), backend))
            return opened * (MANY // len(opened))

        yield start


def at_once(*calls: Callable[[], Answer]) -> list[Answer]:
    """The answers to calls that are all sent at the same moment."""
    ready = Barrier(len(calls))

    def sent(call: Callable[[], Answer]) -> Answer:
        ready.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(sent, calls))


def codes(answers: list[Answer], granted: int, code: str) -> None:
    """Asserts that so many were granted and all others refused with ``code``."""
    refused = [(answer.status, answer.code) for answer in answers if answer.status != 200]
    assert (len(answers) - len(refused), {found for _, found in refused}) == (granted, {code}), refused


def one(answers: list[Answer]) -> str:
    """The id that all tell, the first with no header, the others with one that names it."""
    (found,) = {answer.id for answer in answers}
    told = [answer.headers.get("x-saptiva-deduplicated-from") for answer in answers]
    assert {answer.status for answer in answers} == {200}
    assert (told.count(None), told.count(found)) == (1, len(answers) - 1)
    return str(found)


def created(guides: Doors, files: list[str]) -> list[Answer]:
    """A batch of each file, each at its own guide."""
    pairs = zip(guides, files, strict=True)
    return at_once(*(partial(guide.client.create, file) for guide, file in pairs))


def test_in_37_and_38_the_same_upload_is_one_file(doors: Open) -> None:
    data, guides = jsonl(*several(3)), doors()
    answers = at_once(*(partial(guide.client.upload, data) for guide in guides))
    one(answers)
    assert len(guides[0].call("GET", "/files").json["data"]) == 1


def test_in_40_the_same_create_is_one_batch(doors: Open) -> None:
    word, guides = mark(), doors()
    file = guides[0].upload(jsonl(*(chat(f"doc-{n}", f'{word} @@{{"hold": "{word}"}}') for n in range(3))))["id"]
    answers = at_once(*(partial(guide.client.create, file) for guide in guides))
    batch = one(answers)
    guides[0].backend.call("POST", "/__open", word.encode())
    assert guides[0].end({"id": batch}).answered(3)
    assert guides[0].calls(word) == 3


def test_in_45_and_85_no_more_calls_pass_than_the_limit(doors: Open) -> None:
    guides = doors(requests_per_minute=5)
    answers = at_once(*(partial(guide.call, "GET", "/batches") for guide in guides))
    codes(answers, 5, "rate_limit_exceeded")


def test_in_95_no_more_is_stored_than_the_limit(doors: Open) -> None:
    files = [jsonl(*several(4)) for _ in range(MANY)]
    guides = doors(storage_bytes=3 * len(files[0]))
    pairs = zip(guides, files, strict=True)
    answers = at_once(*(partial(guide.client.upload, data) for guide, data in pairs))
    codes(answers, 3, "storage_quota_exceeded")
    assert len(guides[0].call("GET", "/files").json["data"]) == 3


def test_in_96_no_more_batches_are_active_than_the_limit(doors: Open) -> None:
    guides, word = doors(active_batches=3), mark()
    files = [guides[0].upload(jsonl(chat("a", f'{word} {n} @@{{"hold": "{word}"}}')))["id"] for n in range(MANY)]
    codes(created(guides, files), 3, "too_many_active_batches")
    assert len(guides[0].call("GET", "/batches").json["data"]) == 3
    guides[0].backend.call("POST", "/__open", word.encode())


def test_in_97_no_more_lines_are_queued_than_the_limit(doors: Open) -> None:
    guides, word = doors(queued_lines=10), mark()
    held = [chat(f"doc-{n}", f'{word} @@{{"hold": "{word}"}}') for n in range(4)]
    files = [guides[0].upload(jsonl(*held, chat("own", f"{word} {n}")))["id"] for n in range(MANY)]
    answers = created(guides, files)
    assert [answer.status for answer in answers] == [200] * MANY
    batches = [guides[0].until(answer.json, lambda seen: seen["status"] != "validating") for answer in answers]
    assert sorted(batch["status"] for batch in batches) == ["failed"] * (MANY - 2) + ["in_progress"] * 2
    failed = [batch["errors"]["data"] for batch in batches if batch["status"] == "failed"]
    assert {entry["code"] for entries in failed for entry in entries} == {"enqueued_request_limit_exceeded"}
    guides[0].backend.call("POST", "/__open", word.encode())


def test_in_70_a_batch_is_cancelled_by_several(doors: Open) -> None:
    guides = doors()
    with guides[0].held(free=1) as batch:
        answers = at_once(*(partial(guide.cancel, batch) for guide in guides))
        assert {(answer.status, answer.json["status"]) for answer in answers} == {(200, "cancelling")}
        assert len({answer.json["cancelling_at"] for answer in answers}) == 1
    assert guides[-1].end(batch).batch["errors"] is None


def test_in_86_one_balance_pays_for_all_batches(doors: Open, backend: Client) -> None:
    upstream, text = f"http://127.0.0.1:{backend.port}/v1", mark()
    each = len(f"{text} 0") // 4 * INPUT + 7 * OUTPUT
    priced = {"name": "m-price", "upstream": upstream, "endpoints": [CHAT], "capacity": 1}
    price = f"price = {{ input = {INPUT}000000, output = {OUTPUT}000000 }}\n"
    guides = doors(more=f"credit = {30 * each}\n" + table("[[models]]", priced).rstrip() + "\n" + price)
    lines = [[chat(f"doc-{n}", f"{text} {k}", model="m-price") for n in range(30)] for k in range(3)]
    batches = [guide.start(jsonl(*some)) for guide, some in zip(guides, lines, strict=False)]
    ended = [guides[0].end(batch) for batch in batches]
    assert {one.batch["status"] for one in ended} == {"completed"}
    assert sum(len(one.output) for one in ended) == guides[0].calls(text) == 30
    assert {row["error"]["code"] for one in ended for row in one.error} == {"insufficient_credits"}
    assert guides[-1].call("GET", "/billing/balance").json["balance"] == 0


def test_in_100_a_file_is_deleted_or_used_never_both(doors: Open) -> None:
    guides = doors()
    for _ in range(20):
        file = guides[0].upload(jsonl(*several(1)))["id"]
        gone, made = at_once(
            partial(guides[0].call, "DELETE", f"/files/{file}"),
            partial(guides[1].client.create, file),
        )
        if gone.status == 200:
            assert (made.status, made.code) == (404, "file_not_found")
        else:
            assert (gone.status, gone.code) == (400, "file_in_use")
            assert guides[0].end(made.json).answered(1)
