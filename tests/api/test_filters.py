"""Lists that are narrowed by extra query keys, over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hornada.core.account import Plan
from tests.api.site import DIALECTS, LINE, Site, open_site

NOW = 1_760_000_000


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path, plan=Plan(requests_per_minute=100_000)) as opened:
        yield opened


async def made(site: Site, number: int, **metadata: str) -> str:
    """A batch created a second after the last one; its id."""
    site.clock.advance(1)
    file = await site.upload(LINE.replace(b'"a"', b'"%d"' % number))
    batch_id: str = (await site.create(file.json()["id"], metadata=metadata)).json()["id"]
    return batch_id


async def listed(site: Site, path: str, query: str, base: str = "/v1") -> list[str]:
    """The ids of a list, paged one by one as an SDK does."""
    found: list[str] = []
    after = ""
    while True:
        page: dict[str, Any] = (await site.client.get(f"{base}{path}?limit=1{after}&{query}")).json()
        found += [item["id"] for item in page["data"]]
        if not page["has_more"]:
            return found
        after = f"&after={page['last_id']}"


@pytest.mark.parametrize("base", DIALECTS)
async def test_batches_are_found_by_status_metadata_and_time(site: Site, base: str) -> None:
    one, two, three = [await made(site, n, suite="año & co" if n else "b", n=str(n)) for n in range(3)]
    await site.client.post(f"/v1/batches/{two}/cancel")
    for query, expected in {
        "": [three, two, one],
        "status=validating": [three, one],
        "status=cancelling,validating": [three, two, one],
        "status=completed": [],
        "metadata[suite]=a%C3%B1o%20%26%20co": [three, two],
        "metadata%5Bsuite%5D=a%C3%B1o+%26+co&metadata%5Bn%5D=1": [two],
        "metadata[suite]=b&metadata[n]=1": [],
        f"created_after={NOW + 1}": [three, two],
        f"created_before={NOW + 2}": [one],
        f"created_after={NOW + 1}&created_before={NOW + 3}&status=cancelling": [two],
    }.items():
        assert await listed(site, "/batches", query, base) == expected, query


async def test_a_page_may_go_on_behind_a_batch_that_no_longer_passes(site: Site) -> None:
    one, two, _ = [await made(site, n) for n in range(3)]
    await site.client.post(f"/v1/batches/{two}/cancel")
    assert await listed(site, "/batches", f"after={two}&status=validating") == [one]


async def test_files_are_found_by_time_and_purpose(site: Site) -> None:
    files = []
    for number in range(3):
        site.clock.advance(1)
        files.append((await site.upload(b"%d\n" % number)).json()["id"])
    assert await listed(site, "/files", f"created_after={NOW + 1}&order=asc") == files[1:]
    assert await listed(site, "/files", f"created_before={NOW + 3}&purpose=batch") == files[1::-1]
    assert await listed(site, "/files", f"created_before={NOW + 3}&purpose=batch_output") == []


@pytest.mark.parametrize(
    ("path", "param"),
    [
        ("/batches?status=done", "status"),
        ("/batches?metadata=x", "metadata"),
        ("/batches?created_after=x", "created_after"),
        ("/files?created_before=1e3", "created_before"),
    ],
)
async def test_a_filter_that_makes_no_sense_is_400_and_names_the_key(site: Site, path: str, param: str) -> None:
    answer = await site.client.get(f"/v1{path}")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
