"""Rows of organizations, members, keys, plans and the audit, as administration reads and changes them."""

import pytest
from msgspec.structs import replace

from hornada.core.account import AuditEntry, Plan, Role
from hornada.core.file import Purpose
from hornada.store import account, audit, file, organization, plan
from hornada.store import key as keys
from hornada.store import member as members
from hornada.store.database import Database
from tests.store.nouns import NOW, a_file, a_key

GOLD = Plan(name="gold", requests_per_minute=7, active_batches=0, queued_lines=5, storage_bytes=4, weight=3)


async def three(db: Database) -> list[str]:
    """Organizations, the newest first; two were made in the same moment."""
    async with db.write() as tx:
        for name, now in (("a", NOW), ("b", NOW + 1), ("c", NOW + 1)):
            assert await account.insert_organization(tx, id=name, name=name.upper(), plan="default", now=now)
            await account.insert_member(tx, id=f"m{name}", org="a", name=name, role=Role.MEMBER, now=now)
            await account.insert_key(tx, id=f"k{name}", org="a", member=f"m{name}", name=name, digest=name, now=now)
    return ["c", "b", "a"]


async def test_organizations_come_newest_first_in_pages(db: Database) -> None:
    newest_first = await three(db)
    async with db.read() as tx:
        assert [found.id for found in await organization.page(tx, None, 10)] == newest_first
        assert [found.id for found in await organization.page(tx, (NOW + 1, "c"), 1)] == ["b"]
        assert [found.id for found in await organization.page(tx, (NOW + 1, "b"), 10)] == ["a"]
        assert [found.id for found in await organization.page(tx, None, 10, org="b")] == ["b"]
        assert [found.id for found in await organization.page(tx, None, 10, name="A")] == ["a"]
        assert await organization.page(tx, None, 10, org="b", name="A") == ()


async def test_members_and_keys_come_newest_first_in_pages(db: Database) -> None:
    await three(db)
    async with db.write() as tx:
        await members.remove(tx, "mb", NOW)
        await keys.revoke(tx, "kb", NOW)
    async with db.read() as tx:
        assert [found.id for found in await members.page(tx, "a", None, 10)] == ["mc", "ma"]
        assert [found.id for found in await members.page(tx, "a", (NOW + 1, "mc"), 10)] == ["ma"]
        assert [found.id for found in await keys.page(tx, "a", (NOW + 1, "kc"), 10)] == ["kb", "ka"]
        assert await members.page(tx, "b", None, 10) == await keys.page(tx, "b", None, 10) == ()


async def test_a_member_or_key_is_found_in_its_organization_or_by_whoever_may_reach_all(db: Database) -> None:
    await three(db)
    async with db.write() as tx:
        for org, there in (("a", True), ("b", False), (None, True)):
            assert (await members.get(tx, org, "ma", lock=True) is not None) == there
            assert (await keys.get(tx, org, "ka") is not None) == there


async def test_what_was_taken_away_first_keeps_its_time(db: Database) -> None:
    await a_key(db, "digest")
    async with db.write() as tx:
        for now in (NOW, NOW + 1):
            await keys.revoke(tx, "key", now)
            await members.remove(tx, "member", now)
            await organization.condemn(tx, "org", now)
        found = await keys.get(tx, "org", "key")
        assert found is not None
        assert found.revoked_at == NOW
        member = await members.get(tx, "org", "member")
        assert member is not None
        assert member.removed_at == NOW
        org = await organization.get(tx, "org", lock=True)
        assert org is not None
        assert (org.suspended_at, org.erasing_at, org.erased_at) == (NOW, NOW, None)
        assert await organization.condemned(tx, 10) == ["org"]
        assert await account.lock(tx, "org")


async def test_an_organization_is_changed(db: Database) -> None:
    await a_key(db, "digest")
    async with db.write() as tx:
        before = await organization.get(tx, "org")
        assert before is not None
        after = replace(before, name="New", plan="other", suspended_at=NOW)
        await organization.update(tx, after)
        assert await organization.get(tx, "org") == after
        assert (await organization.named(tx, "New"), await organization.named(tx, "Acme")) == ("org", None)
        assert (await organization.on_plan(tx, "other"), await organization.on_plan(tx, "gold")) == (1, 0)


async def test_a_plan_is_set_changed_and_removed(db: Database) -> None:
    async with db.write() as tx:
        await plan.put(tx, replace(GOLD, weight=1), NOW)
        await plan.put(tx, GOLD, NOW)
        assert await plan.get(tx, "gold") == GOLD
        assert await plan.all_of(tx) == (GOLD,)
        await plan.remove(tx, "gold")
        assert await plan.get(tx, "gold") is None


async def test_a_key_is_found_with_the_terms_of_its_plan(db: Database) -> None:
    await a_key(db, "digest")
    async with db.write() as tx:
        found = await account.by_hash(tx, "digest")
        assert found is not None
        assert (found.plan, found.terms) == ("gold", None)
        await plan.put(tx, GOLD, NOW)
        found = await account.by_hash(tx, "digest")
        assert found is not None
        assert found.terms == GOLD


async def test_the_audit_comes_newest_first_of_one_organization_or_of_all(db: Database) -> None:
    def entry(number: int, org: str | None) -> AuditEntry:
        detail = {"n": number, "of": {"deep": [1, None]}}
        return AuditEntry(
            id=f"e{number}", at=NOW + number // 2, actor="x", action="a.b", org=org, target="t", detail=detail
        )

    entries = [entry(0, "a"), entry(1, "b"), entry(2, None), entry(3, "a")]
    async with db.write() as tx:
        for each in entries:
            await audit.insert(tx, each)
        assert await audit.page(tx, None, 10) == tuple(reversed(entries))
        assert await audit.page(tx, (NOW + 1, "e2"), 1) == (entries[1],)
        assert await audit.page(tx, None, 10, org="a") == (entries[3], entries[0])
        assert await audit.get(tx, "e2") == entries[2]
        assert await audit.get(tx, "e9") is None


@pytest.mark.parametrize("limit", [2, 10])
async def test_files_of_one_organization_are_hidden_a_few_at_a_time(db: Database, limit: int) -> None:
    ours = [
        a_file(sha256=str(n), purpose=purpose) for n, purpose in enumerate([Purpose.BATCH, Purpose.BATCH_OUTPUT] * 2)
    ]
    theirs = a_file(org="other")
    async with db.write() as tx:
        for each in (*ours, theirs):
            await file.insert(tx, each)
        hidden = []
        while n := await file.mark_all_deleted(tx, "org", NOW, limit):
            hidden.append(n)
        assert hidden == [limit] * (4 // limit) or hidden == [4]
        assert await organization.remains(tx, "org"), "their bytes are still there"
        for each in ours:
            assert await file.get(tx, "org", each.id) is None
            await file.forget(tx, each.id)
        assert not await organization.remains(tx, "org")
        assert await file.get(tx, "other", theirs.id) == theirs
        assert await file.get(tx, None, theirs.id) == theirs
