"""Webhook endpoints as an organization's admin, a member, another organization and the operator see them."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hornada.core.webhook import EventType
from tests.api.office import Office, audit, open_office
from tests.engine.receiver import Receiver, receiving

PATH = "/v1/webhook_endpoints"
HOOK = {
    "name": "Ana's",
    "url": "https://example.com/hook?token=hush",
    "event_types": ["batch.failed", "batch.completed"],
}


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as office:
        yield office


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def made(office: Office, who: str = "ana", **change: Any) -> Any:
    return await office.done(who, "POST", PATH, HOOK | change)


@pytest.mark.parametrize("base", ["/v1", "/infernode/v1", "/openai/v1", "/strict/v1"])
async def test_an_admin_has_endpoints_in_openais_shape(office: Office, base: str) -> None:
    path = f"{base}/webhook_endpoints"
    created = await office.done("ana", "POST", path, HOOK)
    secret = created.pop("signing_secret")
    assert (secret[:6], len(base64.b64decode(secret[6:])) >= 24) == ("whsec_", True)
    assert created == {
        "id": created["id"],
        "object": "webhook_endpoint",
        "organization_id": office.ids["acme"],
        "name": "Ana's",
        "url": HOOK["url"],
        "event_types": ["batch.completed", "batch.failed"],
        "status": "enabled",
        "disabled_reason": None,
        "failing_since": None,
        "old_secret_expires_at": None,
        "created_at": created["created_at"],
        "updated_at": created["created_at"],
    }
    one = f"{path}/{created['id']}"
    assert await office.done("ana", "GET", one) == created
    listed = await office.done("ana", "GET", path)
    assert (listed["object"], listed["data"], listed["has_more"]) == ("list", [created], False)
    changed = await office.done("ana", "POST", one, {"name": "other", "enabled": False})
    assert (changed["name"], changed["status"], changed["disabled_reason"]) == ("other", "disabled", "asked")
    assert (await office.done("ana", "POST", one, {"enabled": True}))["disabled_reason"] is None
    gone = await office.done("ana", "DELETE", one)
    assert gone == {"id": created["id"], "object": "webhook_endpoint.deleted", "deleted": True}
    assert await office.refused("ana", "GET", one) == (404, "webhook_endpoint_not_found", "id")
    types = await office.done("max", "GET", f"{base}/webhook_event_types")
    assert types == {"object": "list", "data": [each.value for each in EventType]}


async def test_the_secret_is_shown_once_and_written_nowhere_else(office: Office) -> None:
    created = await made(office)
    key = created["signing_secret"].removeprefix("whsec_")
    rotated = await office.done("ana", "POST", f"{PATH}/{created['id']}/rotate_secret")
    assert (rotated["signing_secret"] != created["signing_secret"], rotated["old_secret_expires_at"]) == (True, None)
    kept = await office.done(
        "ana", "POST", f"{PATH}/{created['id']}/rotate_secret", {"keep_old_secret_active_for_24_hours": True}
    )
    assert kept["old_secret_expires_at"] == kept["updated_at"] + 86_400
    shown = [
        await office.done("ana", "GET", PATH),
        await office.done("ana", "GET", f"{PATH}/{created['id']}"),
        await office.done("operator", "GET", "audit", limit=100),
    ]
    for secret in (created, rotated, kept):
        assert secret["signing_secret"].removeprefix("whsec_") not in str(shown)
    assert key
    assert "hush" not in str(shown[2])


async def test_members_and_strangers_have_no_business_there(office: Office) -> None:
    created = await made(office)
    one = f"{PATH}/{created['id']}"
    calls: list[tuple[str, str, Any]] = [
        ("POST", PATH, HOOK),
        ("GET", PATH, None),
        ("GET", one, None),
        ("POST", one, {"name": "x"}),
        ("DELETE", one, None),
        ("POST", one + "/rotate_secret", None),
        ("POST", one + "/test", None),
        ("GET", one + "/deliveries", None),
        ("POST", one + "/deliveries/whd_none/redeliver", None),
    ]
    for method, path, body in calls:
        assert (await office.refused("max", method, path, body))[:2] == (403, "permission_denied"), path
        if path != PATH:
            found = await office.refused("first", method, path, body)
            assert found[:2] == (404, "webhook_endpoint_not_found"), path
            admin = path.replace("/v1", "/admin", 1)
            verb = "PATCH" if body == {"name": "x"} else method
            assert (await office.refused("first", verb, admin, body))[:2] == (404, "webhook_endpoint_not_found")
            assert (await office.refused("max", verb, admin, body))[0] == 403
    assert (await office.done("first", "GET", PATH))["data"] == []
    theirs = f"organizations/{office.ids['acme']}/webhook_endpoints"
    assert (await office.refused("first", "GET", theirs))[:2] == (404, "organization_not_found")
    assert (await office.refused("first", "POST", theirs, HOOK))[:2] == (404, "organization_not_found")


async def test_the_operator_reaches_every_organizations(office: Office) -> None:
    path = f"organizations/{office.ids['acme']}/webhook_endpoints"
    created = await office.done("operator", "POST", path, HOOK)
    assert [each["id"] for each in (await office.done("operator", "GET", path))["data"]] == [created["id"]]
    assert [each["id"] for each in (await office.done("ana", "GET", PATH))["data"]] == [created["id"]]
    one = f"webhook_endpoints/{created['id']}"
    assert (await office.done("operator", "PATCH", one, {"enabled": False}))["status"] == "disabled"
    assert (await office.done("operator", "POST", f"{one}/rotate_secret"))["signing_secret"]
    assert (await office.done("operator", "GET", f"{one}/deliveries"))["data"] == []
    assert (await office.done("operator", "DELETE", one))["deleted"]
    for method in ("GET", "POST"):
        assert (await office.refused("operator", method, PATH, HOOK))[:2] == (403, "permission_denied")
    assert [entry for entry in await audit(office) if entry[1].startswith("webhook.")] == [
        ("operator", "webhook.create"),
        ("operator", "webhook.change"),
        ("operator", "webhook.rotate"),
        ("operator", "webhook.delete"),
    ]


@pytest.mark.parametrize(
    ("change", "status", "code", "param"),
    [
        ({"url": None}, 400, "missing_required_parameter", "url"),
        ({"url": 1}, 400, "invalid_type", "url"),
        ({"url": "http://10.0.0.1/"}, 400, "invalid_value", "url"),
        ({"url": "https://169.254.169.254/"}, 400, "invalid_value", "url"),
        ({"url": "https://a:b@example.com/"}, 400, "invalid_value", "url"),
        ({"url": "https://example.com/" + "x" * 3000}, 400, "invalid_value", "url"),
        ({"event_types": None}, 400, "missing_required_parameter", "event_types"),
        ({"event_types": "batch.failed"}, 400, "invalid_type", "event_types"),
        ({"event_types": []}, 400, "integer_below_min_value", "event_types.length"),
        ({"event_types": ["batch.failed", "batch.done"]}, 400, "invalid_value", "event_types[1]"),
        ({"event_types": [1]}, 400, "invalid_type", "event_types[0]"),
        ({"name": ""}, 400, "invalid_value", "name"),
        ({"name": "x" * 201}, 400, "string_above_max_length", "name"),
        ({"events": ["batch.failed"]}, 400, "invalid_value", "events"),
    ],
)
async def test_what_is_wrong_is_named(
    office: Office, change: dict[str, Any], status: int, code: str, param: str
) -> None:
    assert await office.refused("ana", "POST", PATH, HOOK | change) == (status, code, param)
    created = await made(office)
    if None not in change.values():
        assert await office.refused("ana", "POST", f"{PATH}/{created['id']}", change) == (status, code, param)


async def test_a_change_must_change_something_that_is_known(office: Office) -> None:
    one = f"{PATH}/{(await made(office))['id']}"
    assert (await office.refused("ana", "POST", one, {}))[1] == "missing_required_parameter"
    assert await office.refused("ana", "POST", one, {"enabled": "yes"}) == (400, "invalid_type", "enabled")
    assert await office.refused("ana", "POST", f"{one}/test", {"event_type": "x"}) == (
        400,
        "invalid_value",
        "event_type",
    )
    found = await office.refused("ana", "GET", f"{one}/deliveries", status="lost")
    assert found == (400, "invalid_value", "status")


async def test_an_organization_has_so_many(office: Office) -> None:
    for _ in range(3):
        await made(office)
    assert (await office.refused("ana", "POST", PATH, HOOK))[:2] == (400, "too_many_webhook_endpoints")
    first = await office.done("ana", "GET", PATH, limit=2)
    assert (len(first["data"]), first["has_more"]) == (2, True)
    second = await office.done("ana", "GET", PATH, limit=2, after=first["last_id"])
    assert (len(second["data"]), second["has_more"]) == (1, False)
    assert await office.refused("ana", "GET", PATH, after="whe_nothing") == (
        404,
        "webhook_endpoint_not_found",
        "after",
    )


async def test_a_test_shows_what_the_receiver_answers_and_stands_in_the_log(office: Office, receiver: Receiver) -> None:
    created = await made(office, url=f"{receiver.url}/hook")
    one = f"{PATH}/{created['id']}"
    receiver.answer("/hook", 418)
    told = await office.done("ana", "POST", f"{one}/test", {"event_type": "batch.expired"})
    assert told == {
        "object": "webhook_endpoint.test",
        "webhook_endpoint_id": created["id"],
        "event_type": "batch.expired",
        "status_code": 418,
        "success": True,
    }
    (entry,) = (await office.done("ana", "GET", f"{one}/deliveries"))["data"]
    assert entry["id"].startswith("whd_")
    assert entry["event_id"] == receiver.calls[0].headers["webhook-id"]
    assert {name: entry[name] for name in ("object", "webhook_endpoint_id", "event_type", "status", "test")} == {
        "object": "webhook_delivery",
        "webhook_endpoint_id": created["id"],
        "event_type": "batch.expired",
        "status": "failed",
        "test": True,
    }
    assert (entry["attempts"], entry["response_status"], entry["next_attempt_at"]) == (1, 418, None)
    assert (await office.done("ana", "GET", f"{one}/deliveries", status="delivered"))["data"] == []
    again = await office.done("ana", "POST", f"{one}/deliveries/{entry['id']}/redeliver")
    assert (again["status"], again["event_id"]) == ("pending", entry["event_id"])
    other = await made(office)
    wrong = f"{PATH}/{other['id']}/deliveries/{entry['id']}/redeliver"
    assert await office.refused("ana", "POST", wrong) == (404, "webhook_delivery_not_found", "delivery_id")


async def test_a_test_that_nobody_answers_says_why(office: Office) -> None:
    created = await made(office, url="http://127.0.0.1:9/")
    found = await office.call("ana", "POST", f"{PATH}/{created['id']}/test")
    assert (found[0], found[1]["error"]["code"]) == (400, "webhook_unreachable")
    assert found[1]["error"]["message"] == "The endpoint did not answer: it cannot be reached: Connection refused."


async def test_an_erased_organization_has_none(office: Office) -> None:
    await made(office)
    await office.done("operator", "DELETE", f"organizations/{office.ids['acme']}")
    path = f"organizations/{office.ids['acme']}/webhook_endpoints"
    assert (await office.refused("operator", "POST", path, HOOK))[:2] == (409, "organization_erased")
