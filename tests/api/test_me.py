"""Who calls, and how the slots of models are used."""

from pathlib import Path

import msgspec

from hornada import __version__
from hornada.api.capacity import CapacityList
from hornada.api.me import MeObject
from tests.api.site import OPERATOR_KEY, open_site


async def test_a_key_is_told_whose_it_is_and_what_its_plan_allows(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        answer = await site.client.get("/v1/me")
        me = msgspec.json.decode(answer.content, type=MeObject)
        assert (me.role, me.currency, me.batches, me.webhooks, me.version) == ("admin", "USD", True, True, __version__)
        assert me.organization is not None
        assert me.member is not None
        assert me.key is not None
        assert me.plan is not None
        assert (me.member.name, me.key.name, me.key.models, me.plan.name) == ("admin", "first", None, "default")
        assert "sk-" not in answer.text


async def test_what_is_used_stands_beside_what_the_plan_allows(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        assert (await site.client.get("/v1/me")).json()["used"] == {
            "storage_bytes": 0,
            "active_batches": 0,
            "queued_lines": 0,
        }
        file = (await site.upload()).json()
        upload = {"purpose": "batch", "filename": "c.jsonl", "bytes": 100, "mime_type": "application/jsonl"}
        upload_id = (await site.client.post("/v1/uploads", json=upload)).json()["id"]
        part = await site.client.post(f"/v1/uploads/{upload_id}/parts", files={"data": b"x" * 60})
        assert part.status_code == 200, part.text
        await site.create(file["id"])
        used = msgspec.json.decode((await site.client.get("/v1/me")).content, type=MeObject).used
        assert used is not None
        assert (used.storage_bytes, used.active_batches) == (file["bytes"] + 60, 1)


async def test_the_operator_belongs_to_nobody(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        answer = await site.client.get("/v1/me", headers={"authorization": f"Bearer {OPERATOR_KEY}"})
        me = msgspec.json.decode(answer.content, type=MeObject)
        assert me.role == "operator"
        assert (me.organization, me.member, me.key, me.plan, me.used) == (None,) * 5


async def test_a_key_sees_the_slots_of_the_models_that_it_may_use(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        everything = msgspec.json.decode((await site.client.get("/v1/models/capacity")).content, type=CapacityList)
        listed = [model["id"] for model in (await site.client.get("/v1/models")).json()["data"]]
        assert [model.id for model in everything.data] == listed
        first = everything.data[0]
        assert (first.capacity, first.regular, first.batch, first.reserve, first.free) == (8, 1, 2, 1, 4)

        org = (await site.client.get("/v1/me")).json()["organization"]["id"]
        body = {"name": "one model", "models": [listed[0]]}
        made = (await site.client.post(f"/admin/organizations/{org}/keys", json=body)).json()
        narrow = {"authorization": f"Bearer {made['key']}"}
        found = msgspec.json.decode(
            (await site.client.get("/v1/models/capacity", headers=narrow)).content, type=CapacityList
        )
        assert [model.id for model in found.data] == listed[:1]
        assert (await site.client.get("/v1/me", headers=narrow)).json()["key"]["models"] == listed[:1]
