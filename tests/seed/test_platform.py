"""What others do while a batch runs: models that change, people who cancel, rights that end."""

from collections.abc import Callable

import pytest

from bench.client import Client
from tests.seed.guide import CHAT, chat, jsonl, mark, several
from tests.seed.platform import Person, Platform


def test_in_16_an_exact_name_may_stop_resolving_while_a_batch_runs(platform: Platform) -> None:
    guide, name = platform.user(), platform.model()
    with guide.held(60, free=4, model=name) as batch:
        platform.do("DELETE", f"/admin/models/{name}")
    ended = guide.end(batch)
    assert ended.batch["status"] == "completed"
    assert ended.output
    assert len(ended.output) + len(ended.error) == 60
    called = guide.ask("hi", model=name)
    assert (called.status, called.code) == (404, "model_not_found")
    for row in ended.error:
        assert (row["response"]["status_code"], row["error"]) == (404, None)
        told, seen = row["response"]["body"]["error"], called.json["error"]
        assert told == {**seen, "message": told["message"], "request_id": row["response"]["request_id"]}
        assert "retired" in told["message"]
    assert name not in {found["id"] for found in guide.call("GET", "/models").json["data"]}


def test_in_17_an_alias_outlives_the_update_of_its_model(platform: Platform) -> None:
    guide, old, new = platform.user(), platform.model(), platform.model()
    alias = f"Turbo of {old}"
    platform.do("PUT", f"/admin/aliases/{alias.replace(' ', '%20')}", {"model": old})
    with guide.held(30, free=4, model=alias) as batch:
        platform.do("PUT", f"/admin/aliases/{alias.replace(' ', '%20')}", {"model": new})
        platform.do("DELETE", f"/admin/models/{old}")
    ended = guide.end(batch)
    assert ended.answered(30)
    assert {row["response"]["body"]["model"] for row in ended.output} == {old, new}


def test_in_75_and_76_an_admin_of_the_organization_can_cancel_and_is_named(platform: Platform) -> None:
    org = platform.organization()
    member, admin = platform.person(org), platform.person(org, "admin")
    with member.guide.held() as batch:
        answer = admin.guide.cancel(batch)
        assert (answer.status, answer.json["status"]) == (200, "cancelling")
    ended = member.guide.end(batch)
    assert (ended.batch["status"], ended.causes) == ("cancelled", [("cancelled_by_org_admin", None)])
    (entry,) = ended.batch["errors"]["data"]
    assert (ended.batch["errors"]["object"], set(entry)) == ("list", {"code", "line", "message", "param"})
    assert (admin.member in entry["message"], entry["param"]) == (True, None)
    late = admin.guide.cancel(batch)
    assert (late.status, late.code) == (400, "batch_not_cancellable")


def test_in_75_and_78_an_admin_who_cancels_his_own_leaves_no_entry(platform: Platform) -> None:
    admin = platform.person(platform.organization(), "admin")
    with admin.guide.held() as batch:
        admin.guide.cancel(batch)
    assert admin.guide.end(batch).batch["errors"] is None


@pytest.mark.parametrize("ordinary", [True, False], ids=["by the ordinary route", "by the operator's route"])
def test_in_77_the_operator_can_cancel(platform: Platform, *, ordinary: bool) -> None:
    guide = platform.user()
    with guide.held() as batch:
        if ordinary:
            assert platform.guide.cancel(batch).status == 200
        else:
            platform.do("POST", f"/admin/batches/{batch['id']}/cancel")
    ended = guide.end(batch)
    assert (ended.batch["status"], ended.causes) == ("cancelled", [("cancelled_by_platform_admin", None)])


def test_in_79_nobody_else_can_cancel(platform: Platform) -> None:
    org = platform.organization()
    owner, colleague, stranger = platform.person(org), platform.person(org), platform.user()
    with owner.guide.held(free=1) as batch:
        assert colleague.guide.check(batch)["id"] == batch["id"]
        assert (colleague.guide.cancel(batch).status, colleague.guide.cancel(batch).code) == (403, "permission_denied")
        assert (stranger.cancel(batch).status, stranger.cancel(batch).code) == (404, "batch_not_found")
        assert stranger.call("GET", f"/files/{batch['input_file_id']}").code == "file_not_found"
        assert stranger.call("GET", f"/batches/{batch['id']}").code == "batch_not_found"
        assert stranger.client.create(batch["input_file_id"]).code == "file_not_found"
        assert stranger.call("GET", "/batches").json["data"] == []
        assert owner.guide.check(batch)["status"] == "in_progress"
        owner.guide.cancel(batch)


def test_in_103_a_key_sees_and_uses_its_own_models_only(platform: Platform) -> None:
    guide = platform.person(platform.organization(), models=["m-other"]).guide
    assert [found["id"] for found in guide.call("GET", "/models").json["data"]] == ["m-other"]
    ended = guide.run(jsonl(*several(1)))
    assert (ended.batch["status"], ended.causes) == ("failed", [("model_not_found", 1)])
    for answer in (guide.ask("hi"), guide.call("GET", "/models/m-chat")):
        assert (answer.status, answer.code) == (404, "model_not_found")
    assert guide.ask("hi", model="m-other").status == 200
    assert guide.run(jsonl(chat("a", mark(), model="m-other"))).answered(1)


def lose_key(platform: Platform, org: str, person: Person) -> None:
    platform.do("DELETE", f"/admin/keys/{person.key}")


def lose_member(platform: Platform, org: str, person: Person) -> None:
    keys = platform.do("GET", f"/admin/organizations/{org}/keys")["data"]
    member = next(key["member_id"] for key in keys if key["id"] == person.key)
    platform.do("DELETE", f"/admin/members/{member}")


@pytest.mark.parametrize("lose", [lose_key, lose_member])
def test_in_89_and_104_failure_authorization_revoked_in_the_lines(
    platform: Platform, lose: Callable[[Platform, str, Person], None]
) -> None:
    org = platform.organization()
    gone, stays = platform.person(org), platform.person(org)
    with gone.guide.held(60, free=4, model=platform.model()) as batch:
        lose(platform, org, gone)
    assert gone.guide.call("GET", "/batches").code == "invalid_api_key"
    ended = stays.guide.end(batch)
    assert ended.batch["status"] == "completed"
    assert len(ended.output) + len(ended.error) == 60
    assert {(row["response"], row["error"]["code"]) for row in ended.error} == {(None, "authorization_revoked")}


def test_in_104_the_organization_stops_being_valid(platform: Platform) -> None:
    org = platform.organization()
    person = platform.person(org)
    with person.guide.held(60, free=4, model=platform.model()) as batch:
        platform.do("PATCH", f"/admin/organizations/{org}", {"suspended": True})
    ended = platform.guide.end(batch)
    assert (ended.batch["status"], len(ended.output) + len(ended.error)) == ("completed", 60)
    assert ended.output
    assert {(row["response"], row["error"]["code"]) for row in ended.error} == {(None, "authorization_revoked")}


def test_in_85_the_operator_has_no_limit(platform: Platform) -> None:
    client: Client = platform.guide.client
    assert "x-ratelimit-limit-requests" not in client.call("GET", "/batches").headers


def test_in_45_a_key_may_have_a_lower_limit_of_its_own(platform: Platform) -> None:
    org = platform.organization()
    limited, other = platform.person(org, requests_per_minute=2), platform.person(org)
    answers = [limited.guide.call("GET", "/batches") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert "this key may make 2 requests a minute" in answers[2].json["error"]["message"]
    assert other.guide.call("GET", "/batches").status == 200
    assert other.guide.call("POST", CHAT.removeprefix("/v1"), {}).code != "rate_limit_exceeded"
