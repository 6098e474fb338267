"""What may be asked of results and of retries, and how what may not is refused."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hornada.api.results import wanted
from hornada.core.account import Plan
from hornada.engine.joining import Wanted
from tests.api.site import DIALECTS, Site, open_site
from tests.api.test_batches import error, made

GONE = "batch_doesnotexist0000"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("base", list(DIALECTS))
async def test_a_batch_without_results_gives_none(site: Site, base: str) -> None:
    batch = (await made(site, base))["id"]
    answer = await site.client.get(f"{base}/batches/{batch}/results")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/jsonl; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert (await site.client.head(f"{base}/batches/{batch}/results")).status_code == 200
    assert error(await site.client.get(f"{base}/batches/{GONE}/results")) == (404, "batch_not_found", "id")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"status": "good"}, (400, "invalid_value", "status")),
        ({"after": "x"}, (400, "invalid_type", "after")),
        ({"after": "-1"}, (400, "integer_below_min_value", "after")),
        ({"limit": "0"}, (400, "integer_below_min_value", "limit")),
        ({"limit": "9" * 15}, (400, "integer_above_max_value", "limit")),
        ({"custom_id": "x" * 513}, (400, "string_above_max_length", "custom_id")),
        ({"input": "maybe"}, (400, "invalid_value", "input")),
        ({"format": "csv"}, (400, "invalid_value", "format")),
    ],
)
async def test_a_query_that_makes_no_sense_is_refused(
    site: Site, query: dict[str, str], expected: tuple[int, str, str]
) -> None:
    batch = (await made(site))["id"]
    assert error(await site.client.get(f"/v1/batches/{batch}/results", params=query)) == expected


def test_a_query_says_what_is_wanted() -> None:
    assert wanted({}) == Wanted()
    assert wanted({"status": "", "after": "", "limit": "", "input": "", "format": ""}) == Wanted()
    found = wanted({"status": "failed", "after": "3", "limit": "9", "input": "false", "custom_id": 'a"'})
    assert found == Wanted(ok=False, after=3, limit=9, input=False, prefix=b'","custom_id":"a\\"')
    assert wanted({"after": "0" * 30 + "5", "limit": "007"}) == Wanted(after=5, limit=7)
    assert wanted({"format": "file"}) == Wanted(own=False, input=False)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"[]", (400, "invalid_type", None)),
        (b"{", (400, "invalid_json", None)),
        (b'{"only": "x"}', (400, "invalid_type", "only")),
        (b'{"only": []}', (400, "invalid_value", "only")),
        (b'{"only": [true]}', (400, "invalid_type", "only[0]")),
        (b'{"only": ["a", 1.5]}', (400, "invalid_type", "only[1]")),
        (b'{"only": ["%b"]}' % (b"x" * 65), (400, "string_above_max_length", "only[0]")),
        (b'{"only": [99]}', (400, "integer_below_min_value", "only[0]")),
        (b'{"only": [%b]}' % (b"9" * 4000), (400, "integer_above_max_value", "only[0]")),
        (b'{"only": ["a", "1000"]}', (400, "integer_above_max_value", "only[1]")),
        (b'{"idempotency_key": 1}', (400, "invalid_type", "idempotency_key")),
        (b'{"custom_ids": "a"}', (400, "invalid_type", "custom_ids")),
        (b'{"custom_ids": []}', (400, "invalid_value", "custom_ids")),
        (b'{"custom_ids": ["a", 7]}', (400, "invalid_type", "custom_ids[1]")),
        (b'{"custom_ids": ["%b"]}' % (b"x" * 513), (400, "string_above_max_length", "custom_ids[0]")),
        (b'{"custom_ids": [%b"a"]}' % (b'"a",' * 50_000), (400, "invalid_value", "custom_ids")),
        (b'{"custom_ids": ["a"], "only": [503]}', (400, "invalid_value", "only")),
        (b'{"custom_ids": ["a"], "answered": 1}', (400, "invalid_type", "answered")),
        (b'{"answered": true}', (400, "invalid_value", "answered")),
        (b'{"custom_ids": ["a"], "answered": true}', (400, "batch_not_retryable", None)),
        (b"", (400, "batch_not_retryable", None)),
        (b'{"only": ["batch_expired", 503, "429"]}', (400, "batch_not_retryable", None)),
        (b'{"only": null}', (400, "batch_not_retryable", None)),
    ],
)
async def test_a_retry_that_makes_no_sense_is_refused(
    site: Site, body: bytes, expected: tuple[int, str, str | None]
) -> None:
    batch = (await made(site))["id"]
    answer = await site.client.post(f"/v1/batches/{batch}/retry", content=body)
    assert error(answer) == expected
    assert error(await site.client.post(f"/v1/batches/{GONE}/retry")) == (404, "batch_not_found", "id")


async def test_our_own_calls_count_against_the_limit_of_requests(tmp_path: Path) -> None:
    async with open_site(tmp_path, plan=Plan(requests_per_minute=2)) as site:
        for path in ("results", "events"):
            answer = await site.client.get(f"/v1/batches/{GONE}/{path}")
            assert (answer.status_code, "x-ratelimit-remaining-requests" in answer.headers) == (404, True)
        assert error(await site.client.get(f"/v1/batches/{GONE}/results"))[:2] == (429, "rate_limit_exceeded")


async def test_without_batches_there_are_none_of_these_calls(tmp_path: Path) -> None:
    async with open_site(tmp_path, batches_enabled=False) as site:
        for method, path in (("GET", "a/results"), ("GET", "a/events"), ("POST", "a/retry"), ("POST", "validate")):
            answer = await site.client.request(method, f"/v1/batches/{path}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
