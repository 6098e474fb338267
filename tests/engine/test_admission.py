"""Who may call."""

import hashlib

import pytest

from hornada.core.account import Plan, Role
from hornada.core.errors import Code, Refusal
from hornada.engine.admission import Admission
from hornada.store import key, plan
from hornada.store.database import Database
from tests.conftest import Hands
from tests.store.nouns import NOW, a_key

SECRET = "sk-secret"
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()
GOLD = Plan(name="gold", weight=5)


@pytest.fixture
def admission(db: Database, clock: Hands) -> Admission:
    return Admission(db, clock, {"default": Plan(), "gold": GOLD})


async def refusal(admission: Admission, token: str | None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await admission.principal(token)
    assert caught.value.code is Code.INVALID_API_KEY
    return caught.value


async def change(db: Database, sql: str) -> None:
    async with db.write() as tx:
        await tx.run(sql)


async def test_a_key_names_its_holder(db: Database, admission: Admission) -> None:
    await a_key(db, DIGEST, models=frozenset({"m"}), expires_at=NOW + 1)
    principal = await admission.principal(SECRET)
    assert (principal.org, principal.member, principal.key, principal.role) == ("org", "member", "key", Role.ADMIN)
    assert principal.plan == GOLD
    assert principal.models == frozenset({"m"})
    assert principal.expires_at == NOW + 1


async def test_every_bad_key_gets_the_same_answer(db: Database, admission: Admission) -> None:
    await a_key(db, DIGEST)
    messages = {(await refusal(admission, token)).message for token in (None, "", "sk-other", "ключ", "\ud83d")}
    await change(db, "UPDATE api_key SET revoked_at = 1")
    messages.add((await refusal(admission, SECRET)).message)
    assert len(messages) == 1


@pytest.mark.parametrize(
    "lost",
    [
        "UPDATE api_key SET revoked_at = 1",
        "UPDATE member SET removed_at = 1",
        "UPDATE organization SET suspended_at = 1",
        "DELETE FROM api_key",
    ],
)
async def test_what_is_withdrawn_bites_within_a_second(
    db: Database, admission: Admission, clock: Hands, lost: str
) -> None:
    await a_key(db, DIGEST)
    await admission.principal(SECRET)
    await change(db, lost)
    clock.advance(1)
    await refusal(admission, SECRET)


async def test_within_a_second_a_key_is_not_looked_up_again_unless_told_to_forget(
    db: Database, admission: Admission, clock: Hands
) -> None:
    await a_key(db, DIGEST)
    await admission.principal(SECRET)
    await change(db, "UPDATE api_key SET revoked_at = 1")
    clock.advance(0.9)
    await admission.principal(SECRET)
    admission.forget()
    await refusal(admission, SECRET)


async def test_a_key_expires_to_the_moment_also_when_it_was_just_seen(
    db: Database, admission: Admission, clock: Hands
) -> None:
    await a_key(db, DIGEST, expires_at=clock.now() + 100_000)
    await admission.principal(SECRET)
    clock.advance(0.1)
    await refusal(admission, SECRET)


async def test_a_key_works_as_soon_as_it_is_made(db: Database, admission: Admission) -> None:
    await refusal(admission, SECRET)
    await a_key(db, DIGEST)
    assert (await admission.principal(SECRET)).key == "key"


async def test_an_organization_whose_plan_is_gone_has_the_default_one(db: Database, clock: Hands) -> None:
    await a_key(db, DIGEST)
    default = Plan(active_batches=3)
    assert (await Admission(db, clock, {"default": default}).principal(SECRET)).plan == default
    assert (await Admission(db, clock, {}).principal(SECRET)).plan == Plan()


async def test_the_holder_of_a_key_is_found_by_its_id_until_it_loses_its_rights(
    db: Database, admission: Admission
) -> None:
    await a_key(db, DIGEST)
    assert await admission.holder("key") == await admission.principal(SECRET)
    await change(db, "UPDATE member SET removed_at = 1")
    assert await admission.holder("key") is None
    assert await admission.holder("none") is None


async def test_the_first_start_makes_an_organization_and_tells_its_key_once(db: Database, admission: Admission) -> None:
    key = await admission.bootstrap("Acme", None)
    assert key is not None
    assert key.startswith("sk-")
    assert (await admission.principal(key)).role is Role.ADMIN
    assert await admission.bootstrap("Acme", None) is None
    assert await admission.bootstrap("Other", "sk-late") is None
    await refusal(admission, "sk-late")


async def test_a_key_from_the_configuration_is_not_told_again(admission: Admission) -> None:
    assert await admission.bootstrap("default", "sk-test") is None
    assert (await admission.principal("sk-test")).plan == Plan()


async def test_keys_are_stored_as_hashes(db: Database, admission: Admission) -> None:
    await admission.bootstrap("default", "sk-test")
    async with db.read() as tx:
        rows = await tx.rows("SELECT * FROM api_key")
    assert "sk-test" not in str([tuple(row[name] for name in ("id", "hash", "name")) for row in rows])


async def test_the_operator_is_known_by_the_key_of_the_configuration_alone(db: Database, clock: Hands) -> None:
    await a_key(db, DIGEST)
    with_operator = Admission(db, clock, {}, "sk-operator")
    operator = await with_operator.principal("sk-operator")
    assert (operator.role, operator.org, operator.member, operator.key) == (Role.OPERATOR, "", "", "")
    assert operator.reach is None
    holder = await with_operator.principal(SECRET)
    assert (holder.role, holder.reach) == (Role.ADMIN, "org")
    without = Admission(db, clock, {})
    for token in ("sk-operator", "", "None"):
        await refusal(without, token)


@pytest.mark.parametrize("nothing", [None, ""])
async def test_an_empty_operator_key_is_none(db: Database, clock: Hands, nothing: str | None) -> None:
    await refusal(Admission(db, clock, {}, nothing), "")
    await refusal(Admission(db, clock, {}, nothing), None)


async def test_a_plan_of_the_database_holds_within_a_second_unless_the_configuration_has_its_name(
    db: Database, clock: Hands
) -> None:
    await a_key(db, DIGEST)
    admission, configured = Admission(db, clock, {"default": Plan()}), Admission(db, clock, {"gold": GOLD})
    assert (await admission.principal(SECRET)).plan == Plan()
    async with db.write() as tx:
        await plan.put(tx, Plan(name="gold", active_batches=1), NOW)
    clock.advance(1)
    assert (await admission.principal(SECRET)).plan == Plan(name="gold", active_batches=1)
    assert (await configured.principal(SECRET)).plan == GOLD


async def test_a_key_may_have_a_lower_limit_of_its_own(db: Database, admission: Admission) -> None:
    await a_key(db, DIGEST)
    await change(db, "UPDATE api_key SET requests_per_minute = 3")
    assert (await admission.principal(SECRET)).requests_per_minute == 3


async def test_only_keys_that_open_something_are_noted_as_used(
    db: Database, admission: Admission, clock: Hands
) -> None:
    await a_key(db, DIGEST, expires_at=clock.now() + 1)
    clock.advance(1)
    await refusal(admission, SECRET)
    await admission.uses.once()
    await change(db, "UPDATE api_key SET expires_at = NULL")
    admission.forget()
    await admission.principal(SECRET)
    used = clock.now()
    clock.advance(1)
    await admission.uses.once()
    async with db.read() as tx:
        found = await key.get(tx, "org", "key")
    assert found is not None
    assert found.last_used_at == used
