"""What operators do to the catalog."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from hornada.core.catalog import Model, Price, Server
from hornada.core.errors import Code, Refusal
from hornada.engine.curator import Curator
from hornada.engine.models import Models
from hornada.store import audit, catalog
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import ANA, caller
from tests.engine.town import NEW, OLD, OPERATOR, Town, town_at

X = Model(name="x", servers=(Server(url="http://h:1/v1", api_key="secret"),), capacity=3, batch_slots=2, reserve=1)


@pytest.fixture
async def town(db: Database, tmp_path: Path, clock: Hands) -> AsyncIterator[Town]:
    async with town_at(db, tmp_path, clock) as town:
        yield town


async def afresh(town: Town) -> Models:
    """The catalog as another process, with the same configuration, would have it."""
    models = Models([town.m, town.n], {"alias": "m"}, (), connect=town.servers.upstream, gates=town.gates, now=1)
    async with town.db.read() as tx:
        models.overlay(await catalog.shelf(tx))
    return models


async def test_a_change_holds_at_once_and_for_every_process(town: Town) -> None:
    put = await town.curator.put_model(OPERATOR, X)
    assert put == replace(X, created_at=town.clock.now())
    await town.curator.put_alias(OPERATOR, "to x", "x")
    for models in (town._models, await afresh(town)):
        assert models.catalog().resolve("to x") == put
        assert models.catalog().resolve("alias") == town.catalog.models["m"]


async def test_a_model_of_the_configuration_can_be_changed_and_keeps_its_age(town: Town) -> None:
    changed = await town.curator.put_model(OPERATOR, replace(town.m, capacity=9))
    assert (changed.capacity, changed.created_at) == (9, 1)
    assert (await afresh(town)).catalog().models["m"] == changed


async def test_a_change_of_capacity_is_known_to_the_gate(town: Town) -> None:
    gate = town.gates.of(town.m)
    await town.curator.put_model(OPERATOR, replace(town.m, capacity=9, batch_slots=7, reserve=3))
    assert gate.allowed == 6


async def test_a_price_is_changed_alone(town: Town) -> None:
    before = town.catalog.models["m"]
    after = await town.curator.put_price(OPERATOR, "m", NEW)
    assert (before.price, after) == (OLD, replace(before, price=NEW))
    assert town.catalog.models["m"] == after


async def test_a_retired_model_is_gone_with_its_aliases_and_stays_so(town: Town) -> None:
    await town.curator.retire(OPERATOR, "m")
    for models in (town._models, await afresh(town)):
        assert models.catalog().resolve("m") is models.catalog().resolve("alias") is None
    with pytest.raises(Refusal, match="There is no model 'm'"):
        await town.curator.retire(OPERATOR, "m")
    await town.curator.put_model(OPERATOR, town.m)
    assert (await afresh(town)).catalog().resolve("alias") is not None


async def test_a_model_that_a_server_still_names_stays_retired(town: Town) -> None:
    town.old.models = ["found"]
    server = town.m.servers[0]
    models = Models([], {}, (server,), connect=town.servers.upstream, gates=town.gates, now=1)
    await models.once()
    curator = Curator(town.db, town.clock, models, on_changed=lambda: None)
    await curator.retire(OPERATOR, "found")
    await models.once()
    assert models.catalog().models == {}


async def test_a_removed_alias_of_the_configuration_stays_removed(town: Town) -> None:
    await town.curator.drop_alias(OPERATOR, "alias")
    assert (await afresh(town)).catalog().aliases == {}
    with pytest.raises(Refusal, match="There is no alias 'alias'"):
        await town.curator.drop_alias(OPERATOR, "alias")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "by another process"])
async def test_a_name_is_a_models_or_an_aliass(town: Town, elsewhere: bool) -> None:
    curator = town.curator
    if elsewhere:
        curator = Curator(town.db, town.clock, await afresh(town), on_changed=lambda: None)
    await curator.put_alias(OPERATOR, "x", "m")
    with pytest.raises(Refusal) as caught:
        await town.curator.put_model(OPERATOR, X)
    assert (caught.value.code, caught.value.param) == (Code.INVALID_VALUE, "name")
    with pytest.raises(Refusal) as caught:
        await town.curator.put_alias(OPERATOR, "n", "m")
    assert (caught.value.code, caught.value.param) == (Code.INVALID_VALUE, "alias")
    with pytest.raises(Refusal) as caught:
        await town.curator.put_alias(OPERATOR, "y", "x")
    assert (caught.value.code, caught.value.param) == (Code.MODEL_NOT_FOUND, "model")


async def test_a_refused_change_leaves_no_trace(town: Town) -> None:
    for name in ("alias", "nobody"):
        with pytest.raises(Refusal):
            await town.curator.put_price(OPERATOR, name, Price())
    async with town.db.read() as tx:
        assert await catalog.shelf(tx) == catalog.Shelf({}, {})
        assert await audit.page(tx, None, 10) == ()


async def test_the_catalog_is_the_operators(town: Town) -> None:
    for by in (ANA, caller("cid", role=ANA.role.ADMIN)):
        for attempt in (
            town.curator.put_model(by, X),
            town.curator.put_price(by, "m", NEW),
            town.curator.retire(by, "m"),
            town.curator.put_alias(by, "y", "m"),
            town.curator.drop_alias(by, "alias"),
        ):
            with pytest.raises(Refusal) as caught:
                await attempt
            assert caught.value.code is Code.PERMISSION_DENIED
        with pytest.raises(Refusal):
            town.curator.catalog(by)
    assert set(town.catalog.models) == {"m", "n"}


async def test_a_masked_secret_stays_what_it_was(town: Town) -> None:
    await town.curator.put_model(OPERATOR, X)
    masked = replace(X, capacity=5, servers=(replace(X.servers[0], api_key="***"),))
    assert (await town.curator.put_model(OPERATOR, masked)).servers == X.servers
    unknown = replace(X, servers=(Server(url="http://other:1/v1", api_key="***"),))
    with pytest.raises(Refusal, match="none is known for this URL"):
        await town.curator.put_model(OPERATOR, unknown)


async def test_the_audit_tells_of_a_change_and_of_no_secret(town: Town) -> None:
    await town.curator.put_model(OPERATOR, X)
    async with town.db.read() as tx:
        (entry,) = await audit.page(tx, None, 10)
    assert (entry.actor, entry.action, entry.target, entry.org) == ("operator", "model.set", "x", None)
    assert (entry.detail["capacity"], entry.detail["batch_slots"], entry.detail["reserve"]) == (3, 2, 1)
    assert b"secret" not in msgspec.json.encode(entry.detail)
