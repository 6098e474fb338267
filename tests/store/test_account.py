"""Organizations, members and keys."""

import pytest

from hornada.core.account import Role
from hornada.store import account
from hornada.store.account import Credential
from hornada.store.database import Database
from tests.store.nouns import NOW, a_key


async def credential(db: Database) -> Credential:
    async with db.read() as tx:
        found = await account.by_hash(tx, "digest")
        assert found == await account.by_key(tx, "key")
    assert found is not None
    return found


async def test_a_key_is_found_with_what_its_rights_hang_on(db: Database) -> None:
    await a_key(db, "digest", expires_at=NOW + 1, models=frozenset({"b", "a"}))
    assert await credential(db) == Credential(
        key="key",
        org="org",
        member="member",
        role=Role.ADMIN,
        plan="gold",
        models=frozenset({"a", "b"}),
        expires_at=NOW + 1,
        withdrawn=False,
    )


async def test_a_key_without_a_list_may_use_every_model_and_one_with_an_empty_list_none(db: Database) -> None:
    await a_key(db, "digest")
    assert (await credential(db)).models is None
    async with db.write() as tx:
        await tx.run("UPDATE api_key SET models = '[]'")
    assert (await credential(db)).models == frozenset()


async def test_an_unknown_key_is_not_found(db: Database) -> None:
    await a_key(db, "digest")
    async with db.read() as tx:
        assert await account.by_hash(tx, "other") is None
        assert await account.by_key(tx, "other") is None


@pytest.mark.parametrize(
    "lost",
    [
        "UPDATE api_key SET revoked_at = 1",
        "UPDATE member SET removed_at = 1",
        "UPDATE organization SET suspended_at = 1",
    ],
)
async def test_a_key_opens_nothing_once_it_its_member_or_its_organization_lost_its_rights(
    db: Database, lost: str
) -> None:
    await a_key(db, "digest")
    assert (await credential(db)).good(NOW)
    async with db.write() as tx:
        await tx.run(lost)
    assert not (await credential(db)).good(NOW)


async def test_a_key_opens_nothing_from_the_moment_it_expires(db: Database) -> None:
    await a_key(db, "digest", expires_at=NOW)
    found = await credential(db)
    assert found.good(NOW - 1)
    assert not found.good(NOW)


async def test_names_of_organizations_are_unique(db: Database) -> None:
    async with db.write() as tx:
        assert await account.insert_organization(tx, id="a", name="Acme", plan="p", now=NOW)
        assert not await account.insert_organization(tx, id="b", name="Acme", plan="p", now=NOW)
        assert await account.organizations(tx) == 1


async def test_a_member_has_a_name(db: Database) -> None:
    await a_key(db, "digest")
    async with db.read() as tx:
        assert await account.member_name(tx, "member") == "Ana"
        assert await account.member_name(tx, "nobody") is None
