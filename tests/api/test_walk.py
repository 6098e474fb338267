"""Another organization's ids open nothing: every route that takes an id or a cursor, walked with a stranger's key."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hornada.api.router import Route
from tests.api.site import DIALECTS, OPERATOR_KEY, Site, open_site

UNKNOWN = "0" * 26
OWNED_BY_NOBODY = {"/models/{id:path}"}
BODIES: dict[str, Any] = {
    "changeOrganization": {"name": "taken over"},
    "addMember": {"name": "Mallory"},
    "changeMember": {"role": "member"},
    "createKey": {"name": "mine"},
    "addCredit": {"amount": 1},
    "completeUpload": {"part_ids": []},
    "adminCreateWebhookEndpoint": {"url": "https://example.com/", "event_types": ["batch.failed"]},
    "changeWebhookEndpoint": {"enabled": False},
    "adminChangeWebhookEndpoint": {"enabled": False},
}
"""Bodies that the routes would take."""


class Ids:
    """What the first organization has, by the path under which it is found; and the second one's key."""

    def __init__(self, site: Site, found: dict[str, str], stranger: str, own: str) -> None:
        self.site = site
        self.found = found
        self.stranger = stranger
        self.own = own
        self.walked: list[str] = []

    def of(self, path: str) -> str:
        """The id that stands in a path, or is the cursor of the list at that path."""
        return self.found[max((prefix for prefix in self.found if path.startswith(prefix)), key=len)]

    async def ask(self, route: Route, url: str, **query: str) -> tuple[int, str]:
        """Calls as the stranger; what differs between two calls is left out of the answer."""
        body = BODIES.get(route.name, {}) if route.method in {"POST", "PATCH", "PUT"} else None
        key = {"authorization": f"Bearer {self.stranger}"}
        answer = await self.site.client.request(route.method, url, json=body, params=query, headers=key)
        text = re.sub(r"req_\w+", "req", answer.text)
        for each in (*self.found.values(), UNKNOWN):
            text = text.replace(each, "ID")
        return answer.status_code, text


@pytest.fixture
async def ids(tmp_path: Path) -> AsyncIterator[Ids]:
    async with open_site(tmp_path) as site:
        file = (await site.upload()).json()["id"]
        batch = (await site.create(file)).json()["id"]
        about = {"bytes": 3, "filename": "a.jsonl", "mime_type": "application/jsonl", "purpose": "batch"}
        upload = (await site.client.post("/v1/uploads", json=about)).json()["id"]
        hook = {"url": "https://example.com/", "event_types": ["batch.failed"]}
        hook = (await site.client.post("/v1/webhook_endpoints", json=hook)).json()["id"].removeprefix("whe_")
        operator = {"authorization": f"Bearer {OPERATOR_KEY}"}

        async def post(path: str, **body: str) -> Any:
            answer = await site.client.post(f"/admin/{path}", json=body, headers=operator)
            assert answer.status_code == 200, answer.text
            return answer.json()

        first = (await site.client.get("/admin/organizations")).json()["data"][0]["id"]
        member = (await site.client.get(f"/admin/organizations/{first}/members")).json()["data"][0]["id"]
        key = (await site.client.get(f"/admin/organizations/{first}/keys")).json()["data"][0]["id"]
        own = (await post("organizations", name="strangers"))["id"]
        mallory = (await post(f"organizations/{own}/members", name="Mallory", role="admin"))["id"]
        stranger = (await post(f"organizations/{own}/keys", member_id=mallory))["key"]
        found = {
            "/files": file.removeprefix("file-"),
            "/batches": batch.removeprefix("batch_"),
            "/uploads": upload.removeprefix("upload_"),
            "/webhook_endpoints": hook,
            "/admin/webhook_endpoints": hook,
            "/admin/organizations/{id}/webhook_endpoints": hook,
            "/admin/batches": batch.removeprefix("batch_"),
            "/admin/organizations": first,
            "/admin/members": member,
            "/admin/keys": key,
            "/admin/organizations/{id}/members": member,
            "/admin/organizations/{id}/keys": key,
            "/admin/audit": (await site.client.get("/admin/audit", headers=operator)).json()["data"][-1]["id"],
        }
        yield Ids(site, found, stranger, own)


async def test_every_id_of_another_organization_is_as_unknown_as_one_that_does_not_exist(ids: Ids) -> None:
    for route in ids.site.app.routes:
        if "{id" not in route.path or route.path in OWNED_BY_NOBODY:
            continue
        for base in DIALECTS if route.mounted else ("",):
            found = ids.of(re.sub(r"/\{id.*", "", route.path))
            urls = [base + re.sub(r"\{id[^}]*\}", each, route.path) for each in (found, UNKNOWN)]
            theirs, nobodys = [await ids.ask(route, url) for url in urls]
            assert theirs == nobodys, (route.name, base)
            assert theirs[0] in ({404} if route.mounted else {403, 404}), (route.name, theirs)
            ids.walked.append(route.name)
    assert {"getFile", "deleteFile", "downloadFile", "getBatch", "cancelBatch", "revokeKey"} <= set(ids.walked)
    await _untouched(ids)


async def test_every_spelling_of_an_id_is_as_unknown(ids: Ids) -> None:
    for path in ("/files", "/batches"):
        for prefix in ("", "file-", "file_", "batch_", "batch-"):
            for base in DIALECTS:
                url = f"{base}{path}/{prefix}{ids.of(path)}"
                answer = await ids.site.client.get(url, headers={"authorization": f"Bearer {ids.stranger}"})
                assert answer.status_code == 404, url


async def test_every_cursor_of_another_organization_is_as_unknown_as_one_that_does_not_exist(ids: Ids) -> None:
    for route in ids.site.app.routes:
        if not any(each.name == "after" and each.schema["type"] == "string" for each in route.query):
            continue
        for base in DIALECTS if route.mounted else ("",):
            url = base + re.sub(r"\{id[^}]*\}", ids.own, route.path)
            theirs, nobodys = [await ids.ask(route, url, after=each) for each in (ids.of(route.path), UNKNOWN)]
            assert theirs == nobodys, (route.name, base)
            assert theirs[0] in ({404} if route.mounted else {403, 404}), (route.name, theirs)
            ids.walked.append(route.name)
    assert {"listFiles", "listBatches", "listOrganizations", "listMembers", "listKeys"} <= set(ids.walked)


async def test_every_list_is_empty_for_a_stranger(ids: Ids) -> None:
    key = {"authorization": f"Bearer {ids.stranger}"}
    for base in DIALECTS:
        for path in ("/files", "/batches"):
            assert (await ids.site.client.get(base + path, headers=key)).json()["data"] == []
    listed = (await ids.site.client.get("/admin/organizations", headers=key)).json()["data"]
    assert [organization["id"] for organization in listed] == [ids.own]


async def test_another_organizations_file_cannot_be_run(ids: Ids) -> None:
    answers = [await _create(ids, each) for each in (ids.of("/files"), UNKNOWN)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert [answer.json()["error"]["code"] for answer in answers] == ["file_not_found", "file_not_found"]


async def test_an_idempotency_key_of_another_organization_is_free(ids: Ids) -> None:
    form = {"file": ("in.jsonl", b"{}\n")}
    answers = [
        await ids.site.client.post(
            "/v1/files", data={"purpose": "batch"}, files=form, headers={"idempotency-key": "same", **key}
        )
        for key in ({}, {"authorization": f"Bearer {ids.stranger}"})
    ]
    assert len({answer.json()["id"] for answer in answers}) == 2


async def test_the_same_bytes_of_another_organization_are_a_file_of_their_own(ids: Ids) -> None:
    answer = await ids.site.upload(authorization=f"Bearer {ids.stranger}")
    assert answer.status_code == 200
    assert answer.json()["id"] != "file-" + ids.of("/files")
    assert "x-saptiva-deduplicated-from" not in answer.headers


async def _create(ids: Ids, file: str) -> httpx2.Response:
    body = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    key = {"authorization": f"Bearer {ids.stranger}"}
    return await ids.site.client.post("/v1/batches", json=body, headers=key)


async def _untouched(ids: Ids) -> None:
    assert (await ids.site.client.get(f"/v1/files/{ids.of('/files')}")).status_code == 200
    assert (await ids.site.client.get(f"/v1/batches/{ids.of('/batches')}")).json()["status"] == "validating"
    first = (await ids.site.client.get("/admin/organizations")).json()["data"][0]
    assert (first["name"], first["status"]) == ("default", "active")
    members = (await ids.site.client.get(f"/admin/organizations/{first['id']}/members")).json()["data"]
    assert [member["role"] for member in members] == ["admin"]
    (hook,) = (await ids.site.client.get("/v1/webhook_endpoints")).json()["data"]
    assert (hook["status"], hook["updated_at"]) == ("enabled", hook["created_at"])
