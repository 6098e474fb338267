"""Calls under /files over the real engine; the upload's own rules are tested with it."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.site import DIALECTS, LINE, Site, open_site

HEADERS = {"infernode": "x-saptiva-content-sha256", "novita": "x-content-sha256", "openai": "x-content-sha256"}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(("base", "name"), DIALECTS.items())
async def test_a_file_goes_in_and_comes_out_unchanged(site: Site, base: str, name: str) -> None:
    answer = await site.upload(LINE * 2, base)
    file = answer.json()
    assert answer.status_code == 200
    assert file["id"].startswith("file_" if name == "novita" else "file-")
    assert (file["bytes"], file["filename"], file["status"]) == (2 * len(LINE), "in.jsonl", "processed")
    assert file.get("metadata") == (None if name == "openai" else {"total_requests": 2})
    assert (await site.client.get(f"{base}/files/{file['id']}")).json() == file
    content = await site.client.get(f"{base}/files/{file['id']}/content", headers={"accept": "application/binary"})
    assert content.content == LINE * 2
    for header in {HEADERS[name], "x-content-sha256"}:
        assert content.headers[header] == hashlib.sha256(LINE * 2).hexdigest()
    assert content.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(("base", "days"), [("/v1", 30), ("/openai/v1", 15), ("/strict/v1", 30)])
async def test_an_input_lives_as_long_as_the_dialect_says(site: Site, base: str, days: int) -> None:
    file = (await site.upload(base=base)).json()
    assert file["expires_at"] - file["created_at"] == days * 86400


async def test_the_same_upload_again_answers_the_first_and_names_it(site: Site) -> None:
    first, again = await site.upload(), await site.upload()
    assert again.json() == first.json()
    assert again.headers["x-saptiva-deduplicated-from"] == first.json()["id"]
    assert again.headers["x-deduplicated-from"] == first.json()["id"]
    assert not {"x-saptiva-deduplicated-from", "x-deduplicated-from"} & set(first.headers)


async def test_novitas_upload_is_deduplicated_only_when_an_sdk_says_it_tries_again(site: Site) -> None:
    first = (await site.upload(base="/openai/v1")).json()["id"]
    second = (await site.upload(base="/openai/v1")).json()["id"]
    again = await site.upload(LINE, "/openai/v1", **{"x-stainless-retry-count": "1"})
    assert first != second
    assert again.headers["x-deduplicated-from"] == again.json()["id"]
    assert again.json()["id"] in {first, second}


async def test_a_refused_upload_closes_its_connection(site: Site) -> None:
    answer = await site.upload(b"x" * 5000)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "file_too_large")
    assert answer.headers["connection"] == "close"


async def test_an_upload_without_a_key_is_401_and_keeps_its_connection(site: Site) -> None:
    answer = await site.upload(authorization="")
    assert answer.status_code == 401
    assert "connection" not in answer.headers


async def test_a_client_that_waits_to_be_asked_for_the_body_is_told_to_close(site: Site) -> None:
    answer = await site.upload(authorization="", expect="100-continue")
    assert answer.status_code == 401
    assert answer.headers["connection"] == "close"


async def test_a_range_beyond_the_file_is_416_with_its_size(site: Site) -> None:
    file = (await site.upload()).json()["id"]
    answer = await site.client.get(f"/v1/files/{file}/content", headers={"range": "bytes=9999-"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (416, "range_not_satisfiable")
    assert answer.headers["content-range"] == f"bytes */{len(LINE)}"


async def test_a_deleted_file_is_gone(site: Site) -> None:
    file = (await site.upload()).json()["id"]
    answer = await site.client.request("DELETE", f"/v1/files/{file}", headers={"content-type": "application/json"})
    assert answer.json() == {"id": file, "object": "file", "deleted": True}
    assert (await site.client.get(f"/v1/files/{file}")).status_code == 404
    assert (await site.client.get(f"/v1/files/{file}/content")).status_code == 404
    assert (await site.client.get("/v1/files")).json()["data"] == []


async def test_the_input_of_a_live_batch_cannot_be_deleted(site: Site) -> None:
    file = (await site.upload()).json()["id"]
    await site.create(file)
    answer = await site.client.delete(f"/v1/files/{file}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "file_in_use")


@pytest.mark.parametrize("base", DIALECTS)
async def test_a_list_is_walked_both_ways_by_the_last_id_of_each_page(site: Site, base: str) -> None:
    ids = [(await site.upload(LINE * number, base)).json()["id"] for number in (1, 2, 3)]
    for order in ("asc", "desc"):
        walked: list[str] = []
        more, after = True, ""
        while more:
            page = (await site.client.get(f"{base}/files?limit=2&order={order}&after={after}")).json()
            walked += [file["id"] for file in page["data"]]
            more, after = page["has_more"], page["data"][-1]["id"]
        assert sorted(walked) == sorted(ids)
        assert walked == sorted(ids, reverse=order == "desc")


async def test_a_purpose_that_no_file_has_lists_none(site: Site) -> None:
    await site.upload()
    for purpose, count in (("batch", 1), ("batch_output", 0), ("fine-tune", 0)):
        page = (await site.client.get(f"/v1/files?purpose={purpose}")).json()
        assert (len(page["data"]), page["has_more"]) == (count, False)


async def test_an_unknown_after_is_404_and_named(site: Site) -> None:
    answer = await site.client.get("/v1/files?after=file-none")
    assert (answer.status_code, answer.json()["error"]["param"]) == (404, "after")
