"""What the operator does to the catalog over HTTP, and what keys see of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hornada.core.kinds import TAKEN
from tests.api.site import CHAT, OPERATOR_KEY, Site, open_site

SPEC: dict[str, Any] = {
    "upstream": [{"url": "http://h:1/v1", "api_key": "k-secret", "model": "real", "weight": 2}, "http://h:2/v1"],
    "endpoints": [CHAT],
    "capacity": 10,
    "batch": 6,
    "reserve": 1,
    "price": {"input": 5, "output": 7},
}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def operator(site: Site, method: str, path: str, body: Any = None) -> httpx2.Response:
    headers = {"authorization": f"Bearer {OPERATOR_KEY}"}
    return await site.client.request(method, f"/admin/{path}", headers=headers, json=body)


async def told(site: Site, method: str, path: str, body: Any = None) -> Any:
    answer = await operator(site, method, path, body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refused(site: Site, method: str, path: str, body: Any = None) -> tuple[int, str, str | None]:
    answer = await operator(site, method, path, body)
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"]


async def names(site: Site) -> list[str]:
    return [model["id"] for model in (await site.client.get("/v1/models")).json()["data"]]


async def test_a_model_that_is_put_is_shown_and_offered_at_once(site: Site) -> None:
    put = await told(site, "PUT", "models/acme/m%20one", SPEC)
    assert put == {
        "object": "model",
        "name": "acme/m one",
        "upstream": [
            {"url": "http://h:1/v1", "api_key": "***", "model": "real", "weight": 2, "ca_file": None},
            {"url": "http://h:2/v1", "api_key": None, "model": None, "weight": 1, "ca_file": None},
        ],
        "endpoints": [CHAT],
        "capacity": 10,
        "batch": 6,
        "reserve": 1,
        "harm": None,
        "batch_priority": None,
        "paused": False,
        "price": {"input": 5, "cached_input": None, "output": 7},
        "created_at": site.clock.now() // 1_000_000,
    }
    assert await told(site, "GET", "models/acme%2Fm%20one") == put
    listed = await told(site, "GET", "models")
    assert listed["object"] == "list"
    assert [model["name"] for model in listed["data"]] == ["m-chat", "org/m embed:v1", "acme/m one"]
    assert await names(site) == ["m-chat", "org/m embed:v1", "acme/m one"]


async def test_no_secret_is_ever_shown(site: Site) -> None:
    server = {"url": "http://u:p-secret@h/v1?token=t-secret", "api_key": "k-secret"}
    put = await operator(site, "PUT", "models/m", {"upstream": [server]})
    assert (put.status_code, "secret" in put.text) == (200, False)
    for path in ("models", "models/m", "audit"):
        assert "secret" not in (await operator(site, "GET", path)).text


async def test_what_is_shown_can_be_changed_and_sent_back(site: Site) -> None:
    shown = await told(site, "PUT", "models/m", SPEC)
    site.clock.advance(60)
    assert await told(site, "PUT", "models/m", shown | {"capacity": 20}) == shown | {"capacity": 20}
    async with site.db.read() as tx:
        row = await tx.row("SELECT spec FROM model WHERE name = 'm'")
    assert row is not None
    assert '"api_key":"k-secret"' in row["spec"]


async def test_a_masked_secret_that_nobody_knows_is_refused(site: Site) -> None:
    entry = {"url": "http://h:1/v1", "api_key": "***"}
    assert await refused(site, "PUT", "models/m", {"upstream": [entry]}) == (400, "invalid_value", "upstream")


@pytest.mark.parametrize("upstream", ["http://h:1/v1", ["http://h:1/v1"], [{"url": "http://h:1/v1/"}]])
async def test_an_upstream_is_a_url_or_a_list_and_the_rest_has_its_defaults(site: Site, upstream: Any) -> None:
    put = await told(site, "PUT", "models/m", {"upstream": upstream})
    assert [server["url"] for server in put["upstream"]] == ["http://h:1/v1"]
    assert (put["endpoints"], put["capacity"], put["batch"], put["reserve"]) == (None, 8, 8, None)
    assert put["price"] == {"input": 0, "cached_input": None, "output": 0}


@pytest.mark.parametrize(
    ("change", "param", "said"),
    [
        ({"upstream": None}, "upstream", "upstream: is missing"),
        ({"upstream": []}, "upstream", "must name at least one server"),
        ({"upstream": ["ftp://h"]}, "upstream[0]", "must be a URL with its scheme"),
        ({"upstream": [{"url": "http://h", "wieght": 1}]}, "upstream[0].wieght", 'did you mean "weight"?'),
        ({"endpoints": ["/v1/chat"]}, "endpoints", "must be a list of endpoints"),
        ({"capacity": 0}, "capacity", 'must be a whole number from 1 to 9007199254740992, or "auto", not 0'),
        ({"batch": 11}, "batch", "from 0 to the capacity, 10, not 11"),
        ({"reserve": 11}, "reserve", "must be at most the capacity, 10, not 11"),
        ({"price": {"input": 1.5}}, "price.input", "must be a whole number from 0 to 1000000000000, not 1.5"),
        ({"price": 3}, "price", "must be a table, not 3"),
        ({"name": "other"}, "name", "the body another one"),
        ({"capacty": 3}, "capacty", 'did you mean "capacity"?'),
    ],
)
async def test_a_wrong_model_is_refused_in_the_words_of_the_configuration(
    site: Site, change: dict[str, Any], param: str, said: str
) -> None:
    answer = await operator(site, "PUT", "models/m", SPEC | change)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_value", param)
    assert said in error["message"]
    assert await names(site) == ["m-chat", "org/m embed:v1"]


@pytest.mark.parametrize("name", sorted(TAKEN - {".", ".."}))
async def test_a_name_that_is_a_path_of_its_own_is_refused(site: Site, name: str) -> None:
    assert await refused(site, "PUT", f"models/{name}", SPEC) == (400, "invalid_value", "name")
    assert await refused(site, "PUT", f"aliases/{name}", {"model": "m-chat"}) == (400, "invalid_value", "alias")


async def test_no_other_name_of_a_model_is_a_path_of_its_own(site: Site) -> None:
    paths = {route.path for route in site.app.routes if route.path.startswith("/models/") and "{" not in route.path}
    assert {path.removeprefix("/models/") for path in paths} == TAKEN - {".", ".."}


async def test_every_fault_of_a_model_is_told_at_once(site: Site) -> None:
    message = (await operator(site, "PUT", "models/m", {"capacity": 0, "batch": "x"})).json()["error"]["message"]
    assert [part.split(":")[0] for part in message.split("; ")] == ["upstream", "capacity", "batch"]


@pytest.mark.parametrize("key", ["secret key", "secret\r\nX-Evil: 1", "secret\u0000", " "])
async def test_a_key_that_no_header_can_hold_is_refused(site: Site, key: str) -> None:
    answer = await operator(site, "PUT", "models/m", {"upstream": [{"url": "http://h", "api_key": key}]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "upstream[0].api_key")
    assert "secret" not in answer.text


@pytest.mark.parametrize("path", ["models/a%0Ab", "aliases/a%00", "models/" + "m" * 257, "aliases/" + "m" * 257])
async def test_a_name_that_cannot_be_seen_whole_is_refused(site: Site, path: str) -> None:
    body = SPEC if path.startswith("models") else {"model": "m-chat"}
    assert (await refused(site, "PUT", path, body))[0] == 400


async def test_a_name_may_be_as_long_as_in_the_configuration(site: Site) -> None:
    assert (await told(site, "PUT", "models/" + "m" * 256, SPEC))["name"] == "m" * 256
    assert (await told(site, "PUT", "aliases/" + "a" * 256, {"model": "m-chat"}))["alias"] == "a" * 256


async def test_a_secret_is_not_shown_in_a_refusal_either(site: Site) -> None:
    answer = await operator(site, "PUT", "models/m", {"upstream": [{"url": "http://h", "api_key": ["secret"]}]})
    assert answer.status_code == 400
    assert "secret" not in answer.text


async def test_a_price_alone_can_be_changed_also_of_a_name_with_slashes(site: Site) -> None:
    await told(site, "PUT", "models/acme/m", SPEC)
    priced = await told(site, "PUT", "models/acme/m/price", {"input": 1, "cached_input": 2, "output": 3})
    assert priced["price"] == {"input": 1, "cached_input": 2, "output": 3}
    assert priced["upstream"][0]["model"] == "real"
    assert await refused(site, "PUT", "models/nobody/price", {"input": 1}) == (404, "model_not_found", "model")
    assert await refused(site, "PUT", "models/acme/m/price", {"input": -1}) == (400, "invalid_value", "input")


@pytest.mark.parametrize("price", [10**24, 10**12 + 1])
@pytest.mark.parametrize("name", ["input", "cached_input", "output"])
async def test_a_price_that_no_database_could_add_up_is_refused(site: Site, name: str, price: int) -> None:
    await told(site, "PUT", "models/m", SPEC)
    answer = await operator(site, "PUT", "models/m/price", {name: price})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == (
        f"{name}: must be a whole number from 0 to 1000000000000, not {price}."
    )
    assert await refused(site, "PUT", "models/m", SPEC | {"price": {name: price}}) == (
        400,
        "invalid_value",
        f"price.{name}",
    )


async def test_a_retired_model_is_gone_until_it_is_put_again(site: Site) -> None:
    assert await told(site, "DELETE", "models/m-chat") == {"id": "m-chat", "object": "model", "retired": True}
    assert await names(site) == ["org/m embed:v1"]
    assert (await site.client.get("/v1/models/m-chat")).status_code == 404
    assert (await site.client.get("/v1/models/Saptiva%20Turbo")).status_code == 404
    assert await refused(site, "GET", "models/m-chat") == (404, "model_not_found", "model")
    assert await refused(site, "DELETE", "models/m-chat") == (404, "model_not_found", "model")
    await told(site, "PUT", "models/m-chat", SPEC)
    assert (await site.client.get("/v1/models/Saptiva%20Turbo")).json()["id"] == "m-chat"


async def test_an_alias_is_set_moved_listed_and_removed(site: Site) -> None:
    said = {"id": "a/b c", "object": "alias", "alias": "a/b c", "name": "m-chat", "model": "m-chat"}
    assert await told(site, "PUT", "aliases/a/b%20c", {"model": "m-chat"}) == said
    assert said in (await told(site, "GET", "aliases"))["data"]
    await told(site, "PUT", "aliases/a/b%20c", {"model": "org/m embed:v1"})
    assert (await site.client.get("/v1/models/a%2Fb%20c")).json()["id"] == "org/m embed:v1"
    assert await told(site, "DELETE", "aliases/a/b%20c") == {"id": "a/b c", "object": "alias", "deleted": True}
    assert (await site.client.get("/v1/models/a%2Fb%20c")).status_code == 404
    assert await refused(site, "DELETE", "aliases/a/b%20c") == (404, "model_not_found", "alias")


async def test_an_alias_of_the_configuration_can_be_removed_too(site: Site) -> None:
    await told(site, "DELETE", "aliases/Vectors")
    assert [alias["alias"] for alias in (await told(site, "GET", "aliases"))["data"]] == ["Saptiva Turbo"]


async def test_names_of_models_and_aliases_never_meet(site: Site) -> None:
    assert await refused(site, "PUT", "aliases/m-chat", {"model": "m-chat"}) == (400, "invalid_value", "alias")
    assert await refused(site, "PUT", "models/Vectors", SPEC) == (400, "invalid_value", "name")
    assert await refused(site, "PUT", "aliases/x", {"model": "Vectors"}) == (404, "model_not_found", "model")
    assert await refused(site, "PUT", "aliases/x", {}) == (400, "missing_required_parameter", "model")
    assert await refused(site, "PUT", "aliases/x", {"model": "m-chat", "to": 1}) == (400, "invalid_value", "to")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "models"),
        ("GET", "models/m-chat"),
        ("PUT", "models/m-chat"),
        ("PUT", "models/m-chat/price"),
        ("DELETE", "models/m-chat"),
        ("GET", "aliases"),
        ("PUT", "aliases/x"),
        ("DELETE", "aliases/Vectors"),
    ],
)
async def test_the_catalog_is_the_operators_alone(site: Site, method: str, path: str) -> None:
    mine = await site.client.request(method, f"/admin/{path}", json={"not": "known"})
    assert (mine.status_code, mine.json()["error"]["code"]) == (403, "permission_denied")
    nobodys = await site.client.request(method, f"/admin/{path}", headers={"authorization": "Bearer sk-x"})
    assert nobodys.status_code == 401
    assert await names(site) == ["m-chat", "org/m embed:v1"]
    assert len((await site.client.get("/v1/models/aliases")).json()["data"]) == 2


async def test_every_change_is_in_the_audit(site: Site) -> None:
    await told(site, "PUT", "models/m", SPEC)
    site.clock.advance(1)
    await told(site, "PUT", "models/m/price", {"input": 9})
    site.clock.advance(1)
    await told(site, "PUT", "aliases/x", {"model": "m"})
    site.clock.advance(1)
    await told(site, "DELETE", "aliases/x")
    site.clock.advance(1)
    await told(site, "DELETE", "models/m")
    entries = (await told(site, "GET", "audit"))["data"][:5]
    assert [(entry["actor"], entry["action"], entry["target"]) for entry in reversed(entries)] == [
        ("operator", "model.set", "m"),
        ("operator", "model.price", "m"),
        ("operator", "alias.set", "x"),
        ("operator", "alias.remove", "x"),
        ("operator", "model.retire", "m"),
    ]


@pytest.mark.parametrize("listed", ['["m-chat"]', '["Saptiva Turbo","retired"]'])
async def test_a_key_sees_the_models_of_its_list_and_their_aliases(site: Site, listed: str) -> None:
    async with site.db.write() as tx:
        await tx.run("UPDATE api_key SET models = :listed", listed=listed)
    site.clock.advance(2)
    assert await names(site) == ["m-chat"]
    aliases = (await site.client.get("/v1/models/aliases")).json()["data"]
    assert [alias["alias"] for alias in aliases] == ["Saptiva Turbo"]
    assert (await site.client.get("/v1/models/Saptiva%20Turbo")).json()["id"] == "m-chat"
    foreign, unknown = [
        (await site.client.get(f"/v1/models/{name}")).json()["error"] for name in ("Vectors", "Nothing")
    ]
    assert foreign["code"] == unknown["code"] == "model_not_found"
    assert foreign["message"].replace("Vectors", "Nothing") == unknown["message"]


async def test_the_operator_sees_every_model_on_the_ordinary_routes(site: Site) -> None:
    headers = {"authorization": f"Bearer {OPERATOR_KEY}"}
    assert len((await site.client.get("/v1/models", headers=headers)).json()["data"]) == 2


async def test_a_paused_model_says_so_until_it_is_resumed(site: Site) -> None:
    await told(site, "PUT", "models/acme/m", SPEC)
    assert (await told(site, "POST", "models/acme/m/pause"))["paused"] is True
    assert (await told(site, "GET", "models/acme/m"))["paused"] is True
    assert [model["paused"] for model in (await told(site, "GET", "models"))["data"]] == [False, False, True]
    shown = await told(site, "GET", "models/acme/m")
    assert (await told(site, "PUT", "models/acme/m", shown))["paused"] is True, "it is sent back as it was shown"
    assert (await told(site, "POST", "models/acme/m/resume"))["paused"] is False
    assert await refused(site, "POST", "models/nobody/pause") == (404, "model_not_found", "model")


async def test_the_priority_of_lines_is_kept(site: Site) -> None:
    put = await told(site, "PUT", "models/m", SPEC | {"batch_priority": 10})
    assert put["batch_priority"] == 10
    assert await refused(site, "PUT", "models/m", SPEC | {"batch_priority": "low"}) == (
        400,
        "invalid_value",
        "batch_priority",
    )
