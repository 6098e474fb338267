"""What is counted and logged of calls, and how new ones are turned away at the end."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hornada import __version__
from tests.api.site import KEY, Site, open_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def test_the_root_says_what_answers(site: Site) -> None:
    answer = await site.client.get("/", headers={"authorization": ""})
    told = {"name": "hornada", "version": __version__, "docs": "/docs", "openapi": "/openapi.json"}
    assert (answer.status_code, answer.json()) == (200, told)


@pytest.mark.parametrize("path", ["/", "/healthz", "/v1/models", "/v1/files/none", "/nothing"])
async def test_json_ends_with_a_newline(site: Site, path: str) -> None:
    answer = await site.client.get(path)
    assert answer.content.endswith(b"}\n")
    assert answer.headers["content-length"] == str(len(answer.content))


async def test_calls_are_counted_by_route_and_not_by_what_clients_write(site: Site) -> None:
    for path in ("/v1/files/file-a", "/openai/v1/files/file-b", "/v1/files/c%0Ad", "/nothing/at/all", "/healthz"):
        await site.client.get(path)
    await site.client.request("BREW", "/coffee")
    assert site.traffic.calls == {
        ("/files/{id}", "GET", 404): 3,
        ("unknown", "unknown", 404): 2,
        ("/healthz", "GET", 200): 1,
    }
    assert site.traffic.open == 0
    assert sum(site.traffic.seconds["/files/{id}"].counts) == 3


async def test_a_call_is_under_way_until_it_has_ended(tmp_path: Path) -> None:
    seen: list[int] = []

    async with open_site(tmp_path, stopping=lambda: bool(seen.append(site.traffic.open))) as site:
        await site.client.get("/v1/models")
        await site.client.get("/healthz")
    assert (seen, site.traffic.open) == ([1], 0)


async def test_while_it_stops_only_health_is_answered(tmp_path: Path) -> None:
    async with open_site(tmp_path, stopping=lambda: True) as site:
        answer = await site.client.get("/v1/models")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "service_unavailable")
        assert (answer.headers["connection"], answer.headers["retry-after"]) == ("close", "1")
        assert (await site.client.get("/healthz")).status_code == 200


async def test_the_access_log_has_neither_key_nor_query(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_site(tmp_path, access_log=True) as site:
        key = (await site.admission.principal(KEY)).key
        with caplog.at_level(logging.INFO, logger="hornada.access"):
            known = await site.client.get("/v1/files/a%0Ab?after=query-secret")
            unknown = await site.client.get("/v1/models", headers={"authorization": "Bearer key-secret"})
            root = await site.client.get("/")
    lines = [record.getMessage().split() for record in caplog.records if record.name == "hornada.access"]
    assert [(*line[:3], *line[5:]) for line in lines] == [
        ("GET", "/v1/files/a%0Ab", "404", known.headers["x-request-id"], key),
        ("GET", "/v1/models", "401", unknown.headers["x-request-id"], "-"),
        ("GET", "/", "200", root.headers["x-request-id"], "-"),
    ]
    assert "secret" not in caplog.text
    assert KEY not in caplog.text


async def test_without_the_setting_nothing_is_logged(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="hornada.access"):
        await site.client.get("/v1/models")
    assert not [record for record in caplog.records if record.name == "hornada.access"]


async def test_readiness_is_documented_with_both_answers(site: Site) -> None:
    answers = (await site.client.get("/openapi.json")).json()["paths"]["/readyz"]["get"]["responses"]
    assert answers["503"]["content"] == answers["200"]["content"]
