"""The catalog as it stands."""

import logging

import pytest

from hornada.core.catalog import Model, Server
from hornada.engine.capacity import Gates
from hornada.engine.models import Models
from hornada.engine.servers import Servers
from hornada.upstream import connect
from tests.engine.model_server import ModelServer, listening

NOW = 1_760_000_000_000_000


def catalog(servers: Servers, *urls: str, configured: tuple[Model, ...] = (), gates: Gates | None = None) -> Models:
    return Models(
        configured,
        {"alias": "a"},
        tuple(Server(url=url) for url in urls),
        connect=servers.upstream,
        gates=gates or Gates(),
        now=NOW,
    )


async def test_models_are_what_servers_name(server: ModelServer, url: str) -> None:
    servers = Servers(connect)
    models = catalog(servers, url)
    assert not models.complete
    server.models = ["a", "b", "a"]
    assert not await models.once()
    assert models.complete
    found = models.catalog()
    assert sorted(found.models) == ["a", "b"]
    model = found.resolve("alias")
    assert model is not None
    assert (model.name, model.capacity, model.batch_slots, model.endpoints) == ("a", 8, 8, None)
    assert (model.servers, model.created_at) == ((Server(url=url),), NOW)
    await servers.close()


async def test_a_configured_model_stands_whatever_a_server_names(server: ModelServer, url: str) -> None:
    servers = Servers(connect)
    mine = Model(name="a", servers=(Server(url="http://mine"),), capacity=3, created_at=5)
    models = catalog(servers, url, configured=(mine,))
    server.models = ["a", "b"]
    await models.once()
    assert models.catalog().models["a"] == mine
    assert "b" in models.catalog().models
    await servers.close()


async def test_two_servers_that_name_the_same_model_share_it(server: ModelServer, url: str) -> None:
    servers = Servers(connect)
    other = ModelServer()
    async with listening(other) as second:
        server.models, other.models = ["a"], ["b", "a"]
        models = catalog(servers, url, second)
        await models.once()
        await servers.close()
    assert models.catalog().models["a"].servers == (Server(url=url), Server(url=second))
    assert models.catalog().models["b"].servers == (Server(url=second),)


async def test_a_server_that_does_not_answer_keeps_the_models_it_last_named(server: ModelServer) -> None:
    servers = Servers(connect)
    async with listening(server) as url:
        server.models = ["a"]
        models = catalog(servers, url)
        await models.once()
        await servers.close()
    await models.once()
    assert models.complete
    assert "a" in models.catalog().models
    await servers.close()


async def test_the_catalog_is_not_complete_before_every_server_has_answered(server: ModelServer, url: str) -> None:
    servers = Servers(connect)
    async with listening(ModelServer()) as gone:
        pass
    models = catalog(servers, url, gone)
    server.models = ["a"]
    await models.once()
    assert not models.complete
    assert "a" in models.catalog().models
    await servers.close()


async def test_a_changed_model_changes_its_gate(server: ModelServer, url: str) -> None:
    servers, gates = Servers(connect), Gates()
    server.models = ["a"]
    gate = gates.of(Model(name="a", servers=(), capacity=1, batch_slots=1))
    await catalog(servers, url, gates=gates).once()
    assert gate.allowed == 8
    await servers.close()


async def test_a_server_that_does_not_say_what_it_runs_is_told_once(
    server: ModelServer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="hornada")
    servers = Servers(connect)
    models = catalog(servers, url)
    server.models = ["a"]
    await models.once()
    server.models_status = 503
    for _ in range(3):
        await models.once()
    assert models.mute == 1
    assert "a" in models.catalog().models
    server.models_status = 200
    await models.once()
    assert models.mute == 0
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == said[2] == f"{url} runs a"
    assert said[1].startswith(f"{url} does not say which models it runs; the models that it named stay: ")
    assert len(said) == 3
    await servers.close()
