"""What admins and the operator do to batches and files of others."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.office import Office, a_batch, audit, open_office


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as opened:
        yield opened


async def test_cancelled_by_org_admin_names_the_person(office: Office) -> None:
    batch = await a_batch(office)
    found = await office.done("ana", "POST", f"/infernode/v1/batches/{batch}/cancel")
    (entry,) = found["errors"]["data"]
    assert (entry["code"], entry["line"], entry["param"]) == ("cancelled_by_org_admin", None, None)
    assert "Ana" in entry["message"]


@pytest.mark.parametrize("path", ["/infernode/v1/batches/{}/cancel", "/v1/batches/{}/cancel", "batches/{}/cancel"])
async def test_cancelled_by_platform_admin_names_nobody(office: Office, path: str) -> None:
    found = await office.done("operator", "POST", path.format(await a_batch(office)))
    (entry,) = found["errors"]["data"]
    assert (found["status"], entry["code"], entry["line"]) == ("cancelling", "cancelled_by_platform_admin", None)


async def test_an_own_cancel_leaves_no_entry(office: Office) -> None:
    found = await office.done("max", "POST", f"/v1/batches/{await a_batch(office)}/cancel")
    assert (found["status"], found["errors"]) == ("cancelling", None)


async def test_a_member_cannot_cancel_or_delete_what_another_made(office: Office) -> None:
    batch = await a_batch(office, "ana")
    assert (await office.refused("max", "POST", f"/v1/batches/{batch}/cancel"))[:2] == (403, "permission_denied")
    file = (await office.done("max", "GET", f"/v1/batches/{batch}"))["input_file_id"]
    assert (await office.refused("max", "DELETE", f"/v1/files/{file}"))[:2] == (403, "permission_denied")


async def test_the_operator_reads_and_deletes_by_id(office: Office) -> None:
    batch = await a_batch(office)
    file = (await office.done("operator", "GET", f"/v1/batches/{batch}"))["input_file_id"]
    assert (await office.done("operator", "GET", f"/v1/files/{file}"))["id"] == file
    assert (await office.refused("operator", "DELETE", f"/v1/files/{file}"))[1] == "file_in_use"
    loose = (await office.site.upload(b"{}\n", authorization=f"Bearer {office.keys['max']}")).json()["id"]
    await office.done("operator", "DELETE", f"/v1/files/{loose}")
    assert ("operator", "file.delete") in await audit(office)


async def test_the_operator_lists_batches_of_all_and_of_one_organization(office: Office) -> None:
    ours, theirs = await a_batch(office), await a_batch(office, "first")
    both = await office.done("operator", "GET", "batches")
    assert {batch["id"] for batch in both["data"]} == {ours, theirs}
    one = await office.done("operator", "GET", "batches", organization=office.ids["acme"])
    assert [(batch["id"], batch["organization_id"], batch["member_id"]) for batch in one["data"]] == [
        (ours, office.ids["acme"], office.ids["max"])
    ]
    assert (await office.done("operator", "GET", "batches", status="completed"))["data"] == []
    page = await office.done("operator", "GET", "batches", limit=1)
    rest = await office.done("operator", "GET", "batches", limit=1, after=page["last_id"])
    assert (page["has_more"], rest["has_more"], page["data"] + rest["data"]) == (True, False, both["data"])
