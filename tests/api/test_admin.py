"""Who may administer what, and what happens then."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hornada.api import admin_schemas
from tests.api.office import Office, a_batch, audit, open_office
from tests.api.site import OPERATOR_KEY, open_site


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as opened:
        yield opened


# roles

OPERATORS = [
    ("POST", "organizations", {"name": "x"}),
    ("PATCH", "organizations/{acme}", {"name": "x"}),
    ("DELETE", "organizations/{acme}", None),
    ("GET", "plans", None),
    ("PUT", "plans/gold", {}),
    ("GET", "plans/default", None),
    ("DELETE", "plans/gold", None),
    ("GET", "batches", None),
    ("POST", "batches/none/cancel", None),
    ("GET", "audit", None),
]
ADMINS = [
    ("GET", "organizations", None),
    ("GET", "organizations/{acme}", None),
    ("GET", "organizations/{acme}/members", None),
    ("POST", "organizations/{acme}/members", {"name": "Eva"}),
    ("PATCH", "members/{max}", {"role": "member"}),
    ("GET", "organizations/{acme}/keys", None),
    ("POST", "organizations/{acme}/keys", {}),
    ("DELETE", "keys/{max_key}", None),
    ("DELETE", "members/{max}", None),
]


@pytest.mark.parametrize(("method", "path", "body"), OPERATORS)
@pytest.mark.parametrize("who", ["ana", "max", "first"])
async def test_what_only_the_operator_may_do(office: Office, who: str, method: str, path: str, body: Any) -> None:
    assert await office.refused(who, method, path.format(**office.ids), body) == (403, "permission_denied", None)


@pytest.mark.parametrize(("method", "path", "body"), ADMINS)
async def test_what_an_admin_may_do_in_its_organization_and_a_member_may_not(
    office: Office, method: str, path: str, body: Any
) -> None:
    url = path.format(**office.ids)
    assert await office.refused("max", method, url, body) == (403, "permission_denied", None)
    await office.done("ana", method, url, body)


async def test_another_organization_does_not_exist_for_an_admin(office: Office) -> None:
    for method, path, body in ADMINS[1:]:
        status, code, _ = await office.refused("first", method, path.format(**office.ids), body)
        assert (status, code.endswith("_not_found")) == (404, True), (method, path)


async def test_without_an_operator_key_nobody_is_the_operator(tmp_path: Path) -> None:
    async with open_site(tmp_path, operator_key=None) as site:
        for key in ("", "None", OPERATOR_KEY):
            answer = await site.client.get("/admin/organizations", headers={"authorization": f"Bearer {key}"})
            assert answer.status_code == 401
        assert len((await site.client.get("/admin/organizations")).json()["data"]) == 1
        assert (await site.client.get("/admin/plans")).status_code == 403


async def test_the_operator_has_no_organization_to_work_in(office: Office) -> None:
    denied = (403, "permission_denied", None)
    create = {"input_file_id": "f", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    assert await office.refused("operator", "POST", "/v1/files") == denied
    assert await office.refused("operator", "POST", "/v1/batches", create) == denied
    assert await office.refused("operator", "POST", "/v1/chat/completions", {"model": "m-chat"}) == denied
    assert await office.refused("operator", "GET", "/v1/billing/balance") == denied
    assert (await office.done("operator", "GET", "/v1/files"))["data"] == []
    assert (await office.done("operator", "GET", "/v1/batches"))["data"] == []


async def test_the_routes_stand_outside_of_every_dialect(office: Office) -> None:
    assert (await office.refused("operator", "GET", "/v1/admin/organizations"))[1] == "not_found"
    assert (await office.refused("operator", "GET", "/openai/v1/admin/plans"))[1] == "not_found"


# what happens then


async def test_organizations_are_created_renamed_and_put_on_plans(office: Office) -> None:
    await office.done("operator", "PUT", "plans/gold", {"active_batches": 7})
    path = f"organizations/{office.ids['acme']}"
    changed = await office.done("operator", "PATCH", path, {"name": "Acme Inc.", "plan": "gold"})
    assert (changed["name"], changed["plan"], changed["status"]) == ("Acme Inc.", "gold", "active")
    assert await office.done("operator", "GET", path) == changed
    named = await office.done("operator", "GET", "organizations", name="Acme Inc.")
    assert named["data"] == [changed]
    taken = (409, "name_taken", "name")
    assert await office.refused("operator", "POST", "organizations", {"name": "Acme Inc."}) == taken
    assert await office.refused("operator", "PATCH", path, {"name": "default"}) == taken
    no_plan = (404, "plan_not_found", "plan")
    assert await office.refused("operator", "PATCH", path, {"plan": "none"}) == no_plan
    assert await office.refused("operator", "POST", "organizations", {"name": "b", "plan": "none"}) == no_plan
    assert await office.done("operator", "GET", path) == changed, "a refused change changes nothing"


async def test_a_key_is_shown_once_and_stored_as_a_hash(office: Office) -> None:
    body = {"name": "ci", "models": ["m-chat"], "requests_per_minute": 9, "expires_at": 2_000_000_000}
    made = await office.done("ana", "POST", f"organizations/{office.ids['acme']}/keys", body)
    assert made["key"].startswith("sk-")
    assert made["member_id"] == office.ids["ana"]
    listed = await office.done("ana", "GET", f"organizations/{office.ids['acme']}/keys")
    assert made | {"key": ""} == next(key for key in listed["data"] if key["id"] == made["id"]) | {"key": ""}
    assert not any("key" in key for key in listed["data"])
    async with office.site.db.read() as tx:
        rows = [row["hash"] for row in await tx.rows("SELECT hash FROM api_key")]
    assert made["key"] not in rows
    office.keys["ci"] = made["key"]
    principal = await office.site.admission.principal(made["key"])
    assert (principal.models, principal.requests_per_minute) == (frozenset({"m-chat"}), 9)
    assert principal.expires_at == 2_000_000_000_000_000


async def test_a_key_for_some_models_makes_only_such_keys(office: Office) -> None:
    path = f"organizations/{office.ids['acme']}/keys"
    office.keys["narrow"] = (await office.done("ana", "POST", path, {"models": ["m-chat"]}))["key"]
    assert (await office.done("narrow", "POST", path, {}))["models"] == ["m-chat"]
    assert await office.refused("narrow", "POST", path, {"models": ["m-chat", "other"]}) == (
        403,
        "permission_denied",
        "models",
    )


async def test_the_operators_key_is_made_for_a_member(office: Office) -> None:
    path = f"organizations/{office.ids['acme']}/keys"
    missing = (400, "missing_required_parameter", "member_id")
    assert await office.refused("operator", "POST", path, {}) == missing
    stranger = (await office.done("first", "GET", f"organizations/{office.ids['first']}/members"))["data"][0]["id"]
    unknown = (404, "member_not_found", "member_id")
    alone = await office.done("operator", "POST", f"organizations/{office.ids['first']}/keys", {})
    assert alone["member_id"] == stranger  # the only one there is
    assert await office.refused("operator", "POST", path, {"member_id": stranger}) == unknown
    assert await office.refused("ana", "POST", path, {"member_id": stranger}) == unknown


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "keys/{max_key}", None),
        ("DELETE", "members/{max}", None),
        ("PATCH", "organizations/{acme}", {"suspended": True}),
        ("DELETE", "organizations/{acme}", None),
    ],
)
async def test_a_right_that_is_taken_away_is_gone_at_once(office: Office, method: str, path: str, body: Any) -> None:
    assert await office.works("max")
    await office.done("operator", method, path.format(**office.ids), body)
    assert not await office.works("max")


async def test_a_suspended_organization_can_be_resumed(office: Office) -> None:
    path = f"organizations/{office.ids['acme']}"
    suspended = await office.done("operator", "PATCH", path, {"suspended": True})
    assert (suspended["status"], await office.works("ana")) == ("suspended", False)
    resumed = await office.done("operator", "PATCH", path, {"suspended": False})
    assert (resumed["status"], resumed["suspended_at"], await office.works("ana")) == ("active", None, True)


async def test_a_removed_member_is_gone_and_a_revoked_key_is_still_listed(office: Office) -> None:
    await office.done("ana", "DELETE", f"keys/{office.ids['max_key']}")
    keys = (await office.done("ana", "GET", f"organizations/{office.ids['acme']}/keys"))["data"]
    assert [key["revoked_at"] is not None for key in keys if key["id"] == office.ids["max_key"]] == [True]
    await office.done("ana", "DELETE", f"members/{office.ids['max']}")
    members = (await office.done("ana", "GET", f"organizations/{office.ids['acme']}/members"))["data"]
    assert [member["id"] for member in members] == [office.ids["ana"]]
    assert (await office.refused("ana", "DELETE", f"members/{office.ids['max']}"))[1] == "member_not_found"


async def test_a_role_holds_from_the_next_call_on(office: Office) -> None:
    path = f"members/{office.ids['max']}"
    assert (await office.done("ana", "PATCH", path, {"role": "admin"}))["role"] == "admin"
    await office.done("max", "PATCH", f"members/{office.ids['ana']}", {"role": "member"})
    assert await office.refused("ana", "PATCH", path, {"role": "member"}) == (403, "permission_denied", None)


async def test_a_change_of_a_plan_holds_from_the_next_call_on(office: Office) -> None:
    await office.done("operator", "PUT", "plans/tight", {"active_batches": 0})
    await office.done("operator", "PATCH", f"organizations/{office.ids['acme']}", {"plan": "tight"})
    file = (await office.site.upload(authorization=f"Bearer {office.keys['max']}")).json()["id"]
    create = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    assert (await office.refused("max", "POST", "/v1/batches", create))[:2] == (429, "too_many_active_batches")
    await office.done("operator", "PUT", "plans/tight", {"active_batches": 1})
    await office.done("max", "POST", "/v1/batches", create)


async def test_plans_of_the_configuration_stand_for_their_names(office: Office) -> None:
    in_use = (409, "plan_in_use", "name")
    assert await office.refused("operator", "PUT", "plans/default", {"weight": 2}) == in_use
    assert await office.refused("operator", "DELETE", "plans/default") == in_use
    await office.done("operator", "PUT", "plans/gold", {"weight": 2})
    await office.done("operator", "PATCH", f"organizations/{office.ids['acme']}", {"plan": "gold"})
    assert await office.refused("operator", "DELETE", "plans/gold") == in_use
    plans = (await office.done("operator", "GET", "plans"))["data"]
    assert [(plan["id"], plan["source"], plan["weight"]) for plan in plans] == [
        ("default", "configuration", 1),
        ("gold", "database", 2),
    ]
    await office.done("operator", "PATCH", f"organizations/{office.ids['acme']}", {"plan": "default"})
    await office.done("operator", "DELETE", "plans/gold")
    assert await office.refused("operator", "GET", "plans/gold") == (404, "plan_not_found", "name")


# the audit, pages and fields


async def test_every_change_is_in_the_audit(office: Office) -> None:
    acme, before = f"organizations/{office.ids['acme']}", len(await audit(office))
    await office.done("operator", "PUT", "plans/gold", {})
    for change in ({"name": "b"}, {"plan": "gold"}, {"suspended": True}):
        await office.done("operator", "PATCH", acme, change)
    await office.done("operator", "PATCH", acme, {"suspended": False})
    await office.done("operator", "PATCH", acme, {"plan": "default"})
    await office.done("operator", "DELETE", "plans/gold")
    eva = (await office.done("ana", "POST", f"{acme}/members", {"name": "Eva"}))["id"]
    await office.done("ana", "PATCH", f"members/{eva}", {"role": "admin"})
    key = (await office.done("ana", "POST", f"{acme}/keys", {"member_id": eva}))["id"]
    await office.done("ana", "DELETE", f"keys/{key}")
    await office.done("ana", "DELETE", f"keys/{key}")
    await office.done("ana", "DELETE", f"members/{eva}")
    await office.done("ana", "POST", f"/v1/batches/{await a_batch(office)}/cancel")
    await office.done("operator", "DELETE", acme)
    await office.done("operator", "DELETE", acme)
    ana = office.ids["ana"]
    assert (await audit(office))[before:] == [
        ("operator", "plan.set"),
        ("operator", "organization.rename"),
        ("operator", "organization.plan"),
        ("operator", "organization.suspend"),
        ("operator", "organization.resume"),
        ("operator", "organization.plan"),
        ("operator", "plan.remove"),
        (ana, "member.add"),
        (ana, "member.role"),
        (ana, "key.create"),
        (ana, "key.revoke"),
        (ana, "member.remove"),
        (ana, "batch.cancel"),
        ("operator", "organization.erase"),
    ]
    own = (await office.done("operator", "GET", "audit", organization=office.ids["acme"], limit=100))["data"]
    assert {entry["organization_id"] for entry in own} == {office.ids["acme"]}
    told = msgspec.json.encode((await office.done("operator", "GET", "audit", limit=100))["data"]).decode()
    assert not any(name in told for name in ("acme", "Ana", "Eva", "sk-")), "the audit holds no names"


async def test_lists_come_in_pages(office: Office) -> None:
    for path in ("organizations", f"organizations/{office.ids['acme']}/members", "audit"):
        whole = (await office.done("operator", "GET", path, limit=100))["data"]
        found, after = [], None
        while True:
            page = await office.done("operator", "GET", path, limit=1, **({"after": after} if after else {}))
            found += page["data"]
            after = page["last_id"]
            if not page["has_more"]:
                break
        assert found == whole
        assert len(whole) >= 2
    assert (await office.refused("operator", "GET", "audit", limit=0))[1:] == ("integer_below_min_value", "limit")
    assert (await office.refused("operator", "GET", "audit", after="none"))[1:] == ("invalid_value", "after")


@pytest.mark.parametrize(
    ("method", "path", "body", "refusal"),
    [
        ("POST", "organizations", {}, ("missing_required_parameter", "name")),
        ("POST", "organizations", {"name": None}, ("missing_required_parameter", "name")),
        ("POST", "organizations", {"name": " "}, ("invalid_value", "name")),
        ("POST", "organizations", {"name": "a\nb"}, ("invalid_value", "name")),
        ("POST", "organizations", {"name": "a" * 201}, ("string_above_max_length", "name")),
        ("POST", "organizations", {"name": 1}, ("invalid_type", "name")),
        ("POST", "organizations", {"name": "a", "plna": "b"}, ("invalid_value", "plna")),
        ("PATCH", "organizations/{acme}", {}, ("missing_required_parameter", None)),
        ("PATCH", "organizations/{acme}", {"suspended": "yes"}, ("invalid_type", "suspended")),
        ("POST", "organizations/{acme}/members", {"name": "a", "role": "operator"}, ("invalid_value", "role")),
        ("PATCH", "members/{max}", {}, ("missing_required_parameter", "role")),
        ("POST", "organizations/{acme}/keys", {"models": "m"}, ("invalid_type", "models")),
        ("POST", "organizations/{acme}/keys", {"models": [1]}, ("invalid_type", "models[0]")),
        ("POST", "organizations/{acme}/keys", {"expires_at": -1}, ("integer_below_min_value", "expires_at")),
        (
            "POST",
            "organizations/{acme}/keys",
            {"requests_per_minute": 0},
            ("integer_below_min_value", "requests_per_minute"),
        ),
        ("PUT", "plans/p", {"weight": 0}, ("integer_below_min_value", "weight")),
        ("PUT", "plans/p", {"active_batches": 1 << 60}, ("integer_above_max_value", "active_batches")),
        ("PUT", "plans/p", {"active_batches": True}, ("invalid_type", "active_batches")),
    ],
)
async def test_a_wrong_field_is_named(
    office: Office, method: str, path: str, body: Any, refusal: tuple[str, str | None]
) -> None:
    assert await office.refused("operator", method, path.format(**office.ids), body) == (400, *refusal)


async def test_what_is_answered_fits_the_schemas(office: Office) -> None:
    await a_batch(office)
    acme = f"organizations/{office.ids['acme']}"
    for path, schema in {
        "organizations": admin_schemas.OrganizationList,
        acme: admin_schemas.OrganizationObject,
        f"{acme}/members": admin_schemas.MemberList,
        f"{acme}/keys": admin_schemas.KeyList,
        "plans": admin_schemas.PlanList,
        "batches": admin_schemas.AdminBatchList,
        "audit": admin_schemas.AuditList,
    }.items():
        msgspec.convert(await office.done("operator", "GET", path), schema)
    body = {"member_id": office.ids["ana"]}
    msgspec.convert(await office.done("operator", "POST", f"{acme}/keys", body), admin_schemas.KeyObject)
    msgspec.convert(await office.done("operator", "DELETE", f"keys/{office.ids['max_key']}"), admin_schemas.Deleted)
    msgspec.convert(await office.done("operator", "DELETE", acme), admin_schemas.ErasureObject)
