"""How the dashboard's files are sent."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from hornada.api.dashboard import base_of
from tests.api.site import Site, open_site

BARE = {"authorization": ""}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def assets(site: Site) -> list[str]:
    """What the page loads."""
    page = (await site.client.get("/ui/")).text
    return re.findall(r'(?:src|href)="(assets/[^"]+)"', page)


async def test_the_page_needs_no_key_and_is_asked_for_again_each_time(site: Site) -> None:
    answer = await site.client.get("/ui/", headers=BARE)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    again = await site.client.get("/ui/", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-length" not in again.headers


async def test_the_page_says_where_the_api_is(site: Site) -> None:
    assert '<meta name="hornada-base" content="/v1" />' in (await site.client.get("/ui/")).text


def test_it_takes_the_best_dialect_that_it_speaks() -> None:
    assert base_of({"/novita": "novita", "/strict": "openai", "/v1": "infernode"}) == "/v1"
    assert base_of({"/novita": "novita", "/strict": "openai"}) == "/strict"
    assert base_of({"/novita": "novita"}) is None


async def test_what_the_page_loads_is_kept_for_ever_under_an_address_that_changes_with_it(site: Site) -> None:
    paths = await assets(site)
    assert len(paths) > 10
    for path in paths:
        answer = await site.client.get(f"/ui/{path}")
        assert answer.status_code == 200, path
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    stale = await site.client.get(f"/ui/{re.sub('assets/[0-9a-f]+', 'assets/0', paths[0])}")
    assert stale.status_code == 404


async def test_every_file_carries_its_guards(site: Site) -> None:
    for path in ("", (await assets(site))[0]):
        headers = (await site.client.get(f"/ui/{path}")).headers
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


async def test_the_policy_of_the_page_lets_in_its_own_files_only(site: Site) -> None:
    policy = (await site.client.get("/ui/")).headers["content-security-policy"]
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == parts["base-uri"] == parts["frame-ancestors"] == "'none'"
    assert re.fullmatch(r"'self' 'sha256-[\w+/]{43}='", parts["script-src"])
    assert parts["style-src"] == parts["connect-src"] == "'self'"
    assert "unsafe" not in policy


async def test_files_are_packed_for_whoever_takes_that(site: Site) -> None:
    path = next(each for each in await assets(site) if each.endswith(".css"))
    whole = await site.client.get(f"/ui/{path}", headers={"accept-encoding": "identity"})
    packed = await site.client.get(f"/ui/{path}", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(whole.headers["content-length"])
    assert packed.content == whole.content
    head = await site.client.head(f"/ui/{path}", headers={"accept-encoding": "identity"})
    assert (head.headers["content-length"], head.content) == (whole.headers["content-length"], b"")


@pytest.mark.parametrize("path", ["nothing.js", "%2e%2e/files.py", "assets/", "index.html"])
async def test_there_is_nothing_else(site: Site, path: str) -> None:
    answer = await site.client.get(httpx2.URL(f"http://hornada/ui/{path}"))
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "file_not_found"


async def test_browsers_are_led_to_the_page_and_programs_are_told_what_this_is(site: Site) -> None:
    led = await site.client.get("/", headers={"accept": "text/html,*/*"})
    assert (led.status_code, led.headers["location"]) == (302, "ui/")
    assert (await site.client.get("/")).json()["name"] == "hornada"


async def test_the_page_finds_its_files_without_the_last_slash_too(site: Site) -> None:
    page = (await site.client.get("/ui")).text
    path = re.findall(r'src="(ui/assets/[^"]+)"', page)[0]
    assert (await site.client.get(f"/{path}")).status_code == 200


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async with open_site(tmp_path, dashboard_enabled=False) as site:
        for path in ("/ui", "/ui/", "/ui/index.html"):
            answer = await site.client.get(path, headers=BARE)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
            assert "server.dashboard is false" in answer.json()["error"]["message"]
        assert (await site.client.get("/", headers={"accept": "text/html"})).json()["name"] == "hornada"
