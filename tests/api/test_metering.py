"""Requests a minute over HTTP: which calls count, and what they are told."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hornada.core.account import Plan
from tests.api.site import CHAT, DIALECTS, KEY, OPERATOR_KEY, Site, open_site

LIMIT, REMAINING, RESET = (f"x-ratelimit-{what}-requests" for what in ("limit", "remaining", "reset"))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path, plan=Plan(requests_per_minute=4)) as opened:
        yield opened


async def use_up(site: Site) -> None:
    for _ in range(4):
        assert (await site.client.get("/v1/models")).status_code == 200


async def test_every_answer_says_how_many_calls_are_left(site: Site) -> None:
    told = []
    for path in ("/v1/files", "/openai/v1/batches", "/v1/files/file-none", "/strict/v1/files?limit=x"):
        answer = await site.client.get(path)
        told.append([answer.status_code, *(answer.headers[name] for name in (LIMIT, REMAINING, RESET))])
    assert told == [
        [200, "4", "3", "15s"],
        [200, "4", "2", "30s"],
        [404, "4", "1", "45s"],
        [400, "4", "0", "1m0s"],
    ]


@pytest.mark.parametrize("base", DIALECTS)
async def test_a_call_too_many_is_429_and_says_when_to_come_back(site: Site, base: str) -> None:
    await use_up(site)
    answer = await site.client.get(f"{base}/files")
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "15"
    assert "x-should-retry" not in answer.headers
    assert [answer.headers[name] for name in (LIMIT, REMAINING, RESET)] == ["4", "0", "1m0s"]
    error = answer.json()["error"]
    assert (error["code"], error["param"]) == ("rate_limit_exceeded", None)
    assert "4 requests a minute" in error["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/files"),
        ("GET", "/files"),
        ("HEAD", "/files/file-none/content"),
        ("DELETE", "/files/file-none"),
        ("POST", "/batches"),
        ("GET", "/batches"),
        ("GET", "/batches/batch_none"),
        ("POST", "/batches/batch_none/cancel"),
        ("GET", "/models"),
        ("GET", "/models/aliases"),
        ("GET", "/billing/balance"),
        ("POST", CHAT.removeprefix("/v1")),
        ("POST", "/embeddings"),
    ],
)
async def test_every_kind_of_call_counts(site: Site, method: str, path: str) -> None:
    first = await site.client.request(method, f"/v1{path}")
    assert first.headers[REMAINING] == "3"
    for _ in range(3):
        await site.client.request(method, f"/v1{path}")
    assert (await site.client.request(method, f"/v1{path}")).status_code == 429


async def test_calls_without_a_key_do_not_count(site: Site) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"):
        answer = await site.client.get(path)
        assert answer.status_code == 200
        assert LIMIT not in answer.headers
    for _ in range(5):
        answer = await site.client.get("/v1/models", headers={"authorization": "Bearer sk-wrong"})
        assert answer.status_code == 401
        assert LIMIT not in answer.headers
    assert (await site.client.get("/v1/models")).headers[REMAINING] == "3"


async def test_the_operator_and_what_stands_under_admin_do_not_count(site: Site) -> None:
    operator = {"authorization": f"Bearer {OPERATOR_KEY}"}
    for _ in range(5):
        for path, headers in (("/v1/files", operator), ("/admin/organizations", operator), ("/admin/audit", {})):
            answer = await site.client.get(path, headers=headers)
            assert answer.status_code in {200, 403}
            assert LIMIT not in answer.headers
    assert (await site.client.get("/v1/models")).headers[REMAINING] == "3"


async def test_a_path_that_does_not_exist_does_not_count(site: Site) -> None:
    for path in ("/v1/nothing", "/nothing"):
        assert LIMIT not in (await site.client.get(path)).headers
    assert (await site.client.get("/v1/models")).headers[REMAINING] == "3"


async def test_an_upload_that_is_refused_stores_nothing_and_ends_its_connection(site: Site) -> None:
    await use_up(site)
    big = await site.upload(b"x" * 1_200_000)
    assert (big.status_code, big.headers["connection"]) == (429, "close")
    assert big.json()["error"]["code"] == "rate_limit_exceeded"
    small = await site.upload()
    assert small.status_code == 429
    assert "connection" not in small.headers
    site.clock.advance(15)
    assert (await site.client.get("/v1/files")).json()["data"] == []


async def test_time_gives_calls_back(site: Site) -> None:
    await use_up(site)
    site.clock.advance(14.9)
    assert (await site.client.get("/v1/models")).status_code == 429
    site.clock.advance(0.1)
    assert (await site.client.get("/v1/models", headers={"api-key": KEY})).status_code == 200
    assert (await site.client.get("/v1/models")).status_code == 429
