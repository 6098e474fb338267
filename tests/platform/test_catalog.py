"""The catalog changes while batches run: aliases move, models are retired and come back, prices change."""

from urllib.parse import quote

import pytest

from bench.client import Client
from bench.hornada import Hornada
from tests.platform.fleet import until
from tests.platform.operator import CAPACITY, Ended, Operator, ended, half_way

LINES, FREE = 40, 8


@pytest.fixture
def client(server: Hornada) -> Client:
    """The first organization."""
    return server.client


def begun(operator: Operator, client: Client, names: list[str]) -> str:
    """A batch of which some lines are answered and the next are in flight, until they are let go."""
    batch = client.submit(operator.lines(names, free=FREE))
    half_way(client, batch, FREE)
    until(lambda: operator.calls() == FREE + CAPACITY)
    return batch


def go_on(operator: Operator, client: Client, name: str, model: str | None) -> None:
    """Lets what is in flight go once a name means another model, or none."""
    until(lambda: (client.call("GET", f"/models/{quote(name)}").json or {}).get("id") == model)
    operator.open()


def gone(found: Ended) -> list[str]:
    """Lines that end as a regular call to a retired model would."""
    for row in found.error:
        assert row["error"] is None
        assert row["response"]["status_code"] == 404
        assert row["response"]["body"]["error"]["code"] == "model_not_found"
    return [row["custom_id"] for row in found.error]


def test_lines_behind_a_move_of_their_alias_reach_the_new_model(operator: Operator, client: Client) -> None:
    old, new, alias = operator.model("old"), operator.model("new"), f"Alias of {operator.mark}"
    operator.command("alias", "set", alias, old)
    batch = begun(operator, client, [alias] * LINES)
    assert operator.point(alias, new)["model"] == new
    go_on(operator, client, alias, new)
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (LINES, 0))
    answered = found.answered()
    assert set(answered) == {old, new}
    assert max(answered[old]) < min(answered[new])
    assert operator.calls() == LINES


def test_of_two_names_of_one_model_only_the_alias_moves(operator: Operator, client: Client) -> None:
    old, new, alias = operator.model("old"), operator.model("new"), f"Alias of {operator.mark}"
    operator.point(alias, old)
    batch = begun(operator, client, [alias, old] * (LINES // 2))
    operator.point(alias, new)
    go_on(operator, client, alias, new)
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (LINES, 0))
    exact = {f"{at:03}" for at in range(1, LINES, 2)}
    answered = found.answered()
    assert exact < set(answered[old])
    assert answered[new]
    assert not exact & set(answered[new])
    assert operator.calls() == LINES


def test_lines_that_name_a_retired_model_end_as_a_regular_call_would(operator: Operator, client: Client) -> None:
    name = operator.model("old")
    batch = begun(operator, client, [name] * LINES)
    assert operator.told("DELETE", f"models/{name}") == {"id": name, "object": "model", "retired": True}
    go_on(operator, client, name, None)
    found = ended(client, batch)
    completed, failed = found.counts
    assert (found.batch["status"], completed, failed) == ("completed", operator.calls(), LINES - completed)
    assert FREE + CAPACITY <= completed < LINES
    assert gone(found) == [f"{at:03}" for at in range(completed, LINES)]
    call = client.call("POST", "/chat/completions", {"model": name, "messages": [{"role": "user", "content": "x"}]})
    assert (call.status, call.code) == (404, "model_not_found")


def test_of_a_batch_with_two_names_only_lines_of_the_retired_one_end(operator: Operator, client: Client) -> None:
    old, new, alias = operator.model("old"), operator.model("new"), f"alias-{operator.mark}"
    operator.point(alias, old)
    batch = begun(operator, client, [alias, old] * (LINES // 2))
    operator.point(alias, new)
    operator.told("DELETE", f"models/{old}")
    go_on(operator, client, old, None)
    found = ended(client, batch)
    assert found.batch["status"] == "completed"
    completed, failed = found.counts
    assert completed == operator.calls()
    assert failed > 0
    assert all(int(at) % 2 for at in gone(found))


def test_a_model_that_is_back_runs_batches_again(operator: Operator, client: Client) -> None:
    name = operator.model("old")
    operator.command("model", "retire", name)
    refused = ended(client, client.submit(operator.lines([name] * 2, 0)))
    assert refused.batch["status"] == "failed"
    assert [found["code"] for found in refused.batch["errors"]["data"]] == ["model_not_found"] * 2
    upstream = f"http://127.0.0.1:{operator.backend.port}/v1"
    operator.command("model", "set", name, "--upstream", upstream, "--endpoint", "/v1/chat/completions", "--batch", "2")
    shown = operator.told("GET", f"models/{name}")
    assert (shown["endpoints"], shown["capacity"], shown["batch"]) == (["/v1/chat/completions"], 8, 2)
    assert ended(client, client.submit(operator.lines([name] * 2, 0.01))).counts == (2, 0)


def test_the_command_line_lists_changes_and_prices_models(operator: Operator) -> None:
    name = operator.model("old", price={"input": 5})
    operator.command("price", "set", name, "--cached-input", "2", "--output", "9")
    operator.command("model", "set", name, "--api-key", "k-secret", "--capacity", "6", "--reserve", "1")
    found = next(model for model in operator.command("model", "list") if model["name"] == name)
    assert found["price"] == {"input": 5, "cached_input": 2, "output": 9}
    assert (found["upstream"][0]["api_key"], found["capacity"], found["batch"], found["reserve"]) == ("***", 6, 4, 1)
    said = operator.command("model", "set", name, "--capacity", "many", expect=2)
    assert 'capacity: must be a whole number from 1 to 9007199254740992, or "auto", not "many"' in said
    assert "model_not_found" in operator.command("price", "set", "nobody", "--input", "1", expect=2)
    alias = f"alias-{operator.mark}"
    operator.command("alias", "set", alias, name)
    assert {"alias": alias, "model": name}.items() <= operator.command("alias", "list")[-1].items()
    assert operator.command("alias", "remove", alias)["deleted"]


def test_what_operators_set_outlives_the_process(operator: Operator, server: Hornada, client: Client) -> None:
    name, alias = operator.model("old"), f"alias-{operator.mark}"
    operator.point(alias, name)
    retired = operator.model("new")
    operator.told("DELETE", f"models/{retired}")
    assert server.terminate() == 0
    server.start()
    assert client.call("GET", f"/models/{alias}").json["id"] == name
    assert client.call("GET", f"/models/{retired}").status == 404
