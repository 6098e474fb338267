"""The check of a file without a batch: of an upload, of a form and of a body, in every dialect."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from hornada.api.own_schemas import Validation
from hornada.core.account import Plan
from tests.api.site import CHAT, DIALECTS, LINE, Site, open_site
from tests.api.test_batches import error

BAD = b'{"custom_id":"b","url":"/v1/embeddings","body":{"model":"m-chat","messages":[]}}\n{\n'
JSONL = {"content-type": "application/jsonl"}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def check(site: Site, data: bytes, base: str = "/v1", **query: str) -> httpx2.Response:
    return await site.client.post(
        f"{base}/batches/validate", content=data, headers=JSONL, params={"endpoint": CHAT, **query}
    )


def told(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    msgspec.convert(found, Validation)
    return found


async def test_an_upload_a_form_and_a_body_get_the_same_answer(site: Site) -> None:
    file = (await site.upload(LINE)).json()["id"]
    path = "/v1/batches/validate"
    named = told(await site.client.post(path, json={"input_file_id": file, "endpoint": CHAT}))
    form = {"file": ("in.jsonl", LINE)}
    assert told(await site.client.post(path, data={"endpoint": CHAT}, files=form)) == named
    assert told(await site.client.post(path, params={"endpoint": CHAT}, files=form)) == named
    assert told(await check(site, LINE)) == named
    assert named == {
        "object": "batch.validation",
        "valid": True,
        "endpoint": CHAT,
        "model": "m-chat",
        "bytes": len(LINE),
        "lines": 1,
        "embedding_inputs": 0,
        "error_count": 0,
        "errors": None,
        "estimate": {
            "input_tokens": 0,
            "output_tokens_limit": None,
            "lines_without_limit": 1,
            "input_cost": 0,
            "cost_limit": None,
            "currency": "USD",
        },
    }


@pytest.mark.parametrize("base", list(DIALECTS))
async def test_faults_are_told_as_on_a_batch_in_each_dialects_codes(site: Site, base: str) -> None:
    found = told(await check(site, LINE + BAD, base))
    codes = [(each["line"], each["code"]) for each in found["errors"]["data"]]
    mismatch = "invalid_url" if DIALECTS[base] == "openai" else "url_mismatch"
    assert codes == [(2, mismatch), (3, "invalid_json_line")]
    assert (found["valid"], found["error_count"], found["lines"]) == (False, 2, 3)


async def test_nothing_stays_of_what_was_sent(site: Site, tmp_path: Path) -> None:
    files = (await site.client.get("/v1/files")).json()
    assert told(await check(site, LINE))["valid"]
    assert told(await check(site, b"{\n"))["valid"] is False
    assert error(await check(site, b"\x1f\x8b\x08" + LINE))[1] == "invalid_file_format"
    assert error(await check(site, b"x" * 5000))[:2] == (413, "file_too_large")
    assert (await site.client.get("/v1/files")).json() == files
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        (LINE, {"endpoint": "/v1/nothing"}, (400, "invalid_value", "endpoint")),
        (LINE, {"endpoint": ""}, (400, "invalid_value", "endpoint")),
        (b"", {}, (400, "empty_file", "file")),
    ],
)
async def test_what_is_wrong_with_the_call_is_refused(
    site: Site, content: bytes, query: dict[str, str], expected: tuple[int, str, str]
) -> None:
    assert error(await check(site, content, **query)) == expected


async def test_what_is_lacking_is_named(site: Site) -> None:
    path = "/v1/batches/validate"
    lacking = (400, "missing_required_parameter")
    assert error(await site.client.post(path, content=LINE, headers=JSONL)) == (*lacking, "endpoint")
    assert error(await site.client.post(path, files={"file": ("a", LINE)})) == (*lacking, "endpoint")
    assert error(await site.client.post(path, data={"endpoint": CHAT}, files={"other": ("a", LINE)}))[:2] == lacking
    assert error(await site.client.post(path, json={"endpoint": CHAT})) == (*lacking, "input_file_id")
    gone = {"input_file_id": "file-doesnotexist0000", "endpoint": CHAT}
    assert error(await site.client.post(path, json=gone)) == (404, "file_not_found", "input_file_id")


async def test_a_file_that_the_plan_has_no_room_for_is_told(tmp_path: Path) -> None:
    async with open_site(tmp_path, plan=Plan(queued_lines=0, requests_per_minute=1000)) as site:
        found = told(await check(site, LINE))
        assert [each["code"] for each in found["errors"]["data"]] == ["enqueued_request_limit_exceeded"]


async def test_an_organization_checks_so_many_files_at_once(site: Site) -> None:
    arrived, go = asyncio.Semaphore(0), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        arrived.release()
        await go.wait()
        yield LINE

    path, query = "/v1/batches/validate", {"endpoint": CHAT}
    calls = [
        asyncio.create_task(site.client.post(path, params=query, headers=JSONL, content=slowly())) for _ in range(2)
    ]
    for _ in calls:
        await arrived.acquire()
    assert error(await check(site, LINE))[:2] == (429, "rate_limit_exceeded")
    go.set()
    assert [told(await call)["valid"] for call in calls] == [True, True]
    assert told(await check(site, LINE))["valid"]
