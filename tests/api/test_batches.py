"""Calls under /batches over the real engine."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.site import CHAT, DIALECTS, EMBED, LINE, Site, open_site

ONE_HOUR = {"anchor": "created_at", "seconds": 3600}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def made(site: Site, base: str = "/v1", line: bytes = LINE, **more: object) -> dict[str, Any]:
    """A fresh batch."""
    file = await site.upload(line, base)
    answer = await site.create(file.json()["id"], base, **more)
    assert answer.status_code == 200, answer.text
    batch: dict[str, Any] = answer.json()
    return batch


def error(answer: httpx2.Response) -> tuple[int, str, str | None]:
    """Status, code and param."""
    found = answer.json()["error"]
    return answer.status_code, found["code"], found["param"]


async def test_a_new_batch_is_validating(site: Site) -> None:
    batch = await made(site, metadata={"suite": "x"}, output_expires_after=ONE_HOUR)
    assert batch["id"].startswith("batch_")
    assert (batch["status"], batch["endpoint"], batch["completion_window"]) == ("validating", CHAT, "24h")
    assert batch["metadata"] == {"suite": "x"}
    assert batch["expires_at"] == batch["created_at"] + 86400


async def test_a_batch_is_read_through_every_dialect_in_its_spelling(site: Site) -> None:
    bare = (await made(site))["id"].removeprefix("batch_")
    for base, name in DIALECTS.items():
        for spelled in ("batch_" + bare, "batch-" + bare, bare):
            batch = (await site.client.get(f"{base}/batches/{spelled}")).json()
            assert batch["id"] == "batch_" + bare
            assert batch["input_file_id"].startswith("file_" if name == "novita" else "file-")
            assert batch["errors"] == ("" if name == "novita" else None)


async def test_the_same_create_again_answers_the_first_and_names_it(site: Site) -> None:
    first = await made(site)
    again = await site.create(first["input_file_id"])
    assert again.json() == first
    assert again.headers["x-saptiva-deduplicated-from"] == first["id"]


async def test_the_first_create_names_none(site: Site) -> None:
    file = (await site.upload()).json()["id"]
    assert "x-saptiva-deduplicated-from" not in (await site.create(file)).headers


async def test_novitas_create_is_deduplicated_only_when_an_sdk_says_it_tries_again(site: Site) -> None:
    first = await made(site, "/openai/v1")
    second = await site.create(first["input_file_id"], "/openai/v1")
    assert second.json()["id"] != first["id"]
    body = {"input_file_id": first["input_file_id"], "endpoint": CHAT, "completion_window": "24h"}
    headers = {"x-stainless-retry-count": "1"}
    again = await site.client.post("/openai/v1/batches", json=body, headers=headers)
    assert again.json()["id"] == second.json()["id"]
    assert again.headers["x-deduplicated-from"] == second.json()["id"]


@pytest.mark.parametrize("where", ["body", "header"])
async def test_an_idempotency_key_may_be_in_the_body_or_the_header(site: Site, where: str) -> None:
    file = (await site.upload(base="/openai/v1")).json()["id"]
    body = {"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"}
    headers = {"idempotency-key": "once"} if where == "header" else {}
    body |= {"idempotency_key": "once"} if where == "body" else {}
    answers = [await site.client.post("/openai/v1/batches", json=body, headers=headers) for _ in range(2)]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    other = await site.client.post("/openai/v1/batches", json={**body, "metadata": {"a": "b"}}, headers=headers)
    assert error(other) == (400, "idempotency_key_reused", "Idempotency-Key")


async def test_an_unknown_input_file_is_404_and_named(site: Site) -> None:
    assert error(await site.create("file-doesnotexist0000")) == (404, "file_not_found", "input_file_id")


@pytest.mark.parametrize(
    ("base", "endpoint", "status"),
    [
        ("/v1", EMBED, 200),
        ("/openai/v1", EMBED, 400),
        ("/openai/v1", "/v1/completions", 200),
        ("/v1", "/v1/rerank", 400),
    ],
)
async def test_a_dialect_batches_what_it_knows_and_a_model_offers(
    site: Site, base: str, endpoint: str, status: int
) -> None:
    file = (await site.upload(base=base)).json()["id"]
    answer = await site.create(file, base, endpoint=endpoint)
    assert answer.status_code == status
    if status == 400:
        assert error(answer) == (400, "invalid_value", "endpoint")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b'{"a": NaN}', "invalid_json"),
        (b'{"metadata": {"a": "\\ud83d"}}', "invalid_json"),
        (b'{"a": "\xff"}', "invalid_json"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "invalid_json"),
        (b"[]", "invalid_type"),
        (b"{}", "missing_required_parameter"),
    ],
)
async def test_a_body_that_is_no_create_is_400(site: Site, body: bytes, code: str) -> None:
    answer = await site.client.post("/v1/batches", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"metadata": {"a": "\\ud83d"}}', "an escaped surrogate stands alone."),
        (b'{"metadata": {"a": "\\udc00\\ud83d x"}}', "an escaped surrogate stands alone."),
        (b'{"a": "\xed\xa0\xbd"}', "byte 0xed at position 7 is not UTF-8."),
        (b'{"a":', "it ends too early."),
        (b'{"a": 1' + b"0" * 5000 + b"}", "Integer value out of range"),
        (b"", "it is empty."),
    ],
)
async def test_a_body_that_cannot_be_read_is_told_why(site: Site, body: bytes, why: str) -> None:
    answer = await site.client.post("/v1/batches", content=body)
    assert f"We could not parse the JSON body of your request: {why}" in answer.json()["error"]["message"]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_a_mebibyte_is_413(site: Site, chunked: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(17):
            yield b" " * 65536

    answer = await site.client.post("/v1/batches", content=pieces() if chunked else b" " * (1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")


async def test_an_encoded_body_is_415(site: Site) -> None:
    answer = await site.client.post("/v1/batches", content=b"x", headers={"content-encoding": "gzip"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_encoding")


async def test_too_many_active_batches_say_when_to_come_back(site: Site) -> None:
    for number in range(3):
        await made(site, line=LINE.replace(b'"a"', b'"%d"' % number))
    file = (await site.upload(LINE.replace(b'"a"', b'"b"'))).json()["id"]
    answer = await site.create(file)
    assert error(answer) == (429, "too_many_active_batches", None)
    assert answer.headers["x-should-retry"] == "false"
    assert int(answer.headers["retry-after"]) <= 60


@pytest.mark.parametrize("base", DIALECTS)
async def test_a_list_is_walked_by_the_last_id_of_each_page(site: Site, base: str) -> None:
    ids = [(await made(site, base, LINE.replace(b'"a"', b'"%d"' % number)))["id"] for number in range(3)]
    first = (await site.client.get(f"{base}/batches?limit=2")).json()
    assert (first["object"], first["has_more"]) == ("list", True)
    rest = (await site.client.get(f"{base}/batches?limit=2&after={first['data'][-1]['id']}")).json()
    assert rest["has_more"] is False
    walked = [batch["id"] for batch in (*first["data"], *rest["data"])]
    assert sorted(walked) == sorted(ids)
    assert (first["first_id"], first["last_id"]) == (walked[0], walked[1])


async def test_an_unknown_after_is_404_and_named(site: Site) -> None:
    assert error(await site.client.get("/v1/batches?after=batch_none")) == (404, "batch_not_found", "after")


@pytest.mark.parametrize(
    "headers", [{"content-type": "application/json", "content-length": "0"}, {"content-length": "0"}, {}]
)
async def test_a_cancel_needs_no_body(site: Site, headers: dict[str, str]) -> None:
    batch = await made(site)
    answer = await site.client.post(f"/v1/batches/{batch['id']}/cancel", headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelling")


async def test_a_cancel_does_not_look_at_a_body(site: Site) -> None:
    batch = await made(site)
    answer = await site.client.post(f"/v1/batches/{batch['id']}/cancel", content=b"\xff not json")
    assert answer.status_code == 200


async def test_cancelling_again_is_200(site: Site) -> None:
    batch = await made(site)
    answers = [await site.client.post(f"/v1/batches/{batch['id']}/cancel") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize(
    ("ended", "strict"), [("cancelled", 200), ("completed", 409), ("failed", 409), ("expired", 409)]
)
async def test_cancelling_what_has_ended_is_spelled_by_the_dialect(site: Site, ended: str, strict: int) -> None:
    batch = await made(site)
    async with site.db.write() as tx:
        await tx.run("UPDATE batch SET status = :status", status=ended)
    for base in ("/v1", "/openai/v1"):
        answer = await site.client.post(f"{base}/batches/{batch['id']}/cancel")
        assert error(answer) == (400, "batch_not_cancellable", None)
    answer = await site.client.post(f"/strict/v1/batches/{batch['id']}/cancel")
    assert answer.status_code == strict
    assert answer.headers.get("x-should-retry") == ("false" if strict == 409 else None)


@pytest.mark.parametrize("base", list(DIALECTS))
async def test_a_batch_is_paused_and_resumed_in_every_dialect(site: Site, base: str) -> None:
    batch = await made(site, base)
    answers = [await site.client.post(f"{base}/batches/{batch['id']}/{deed}") for deed in ("pause", "pause", "resume")]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    shown = [answer.json().get("paused") for answer in answers]
    assert shown == ([None] * 3 if DIALECTS[base] == "novita" else [True, True, None])


@pytest.mark.parametrize("deed", ["pause", "resume"])
async def test_what_has_ended_is_neither_paused_nor_resumed(site: Site, deed: str) -> None:
    batch = await made(site)
    await site.client.post(f"/v1/batches/{batch['id']}/cancel")
    answer = await site.client.post(f"/v1/batches/{batch['id']}/{deed}")
    assert error(answer) == (400, "batch_not_pausable", None)
    assert answer.headers["x-should-retry"] == "false"


async def test_a_batch_says_how_it_gets_on_in_infernodes_dialect_only(tmp_path: Path) -> None:
    async with open_site(tmp_path, waiting_for=lambda batch, *, held: f"{batch.status}, to be sure") as site:
        batch = await made(site)
        assert batch["hornada"] == {
            "waiting_for": "validating, to be sure",
            "rate": None,
            "eta": None,
            "cost": 0,
            "estimated_cost": None,
            "errors_by_code": {},
            "retry_of": None,
        }
        for base, name in DIALECTS.items():
            shown = (await site.client.get(f"{base}/batches/{batch['id']}")).json()
            listed = (await site.client.get(f"{base}/batches")).json()["data"][0]
            assert shown.get("hornada") == listed.get("hornada") == (batch["hornada"] if name == "infernode" else None)
