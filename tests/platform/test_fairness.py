"""A model is shared: small batches end beside large ones, and organizations get what their weights say."""

import json
import uuid

from bench.client import Client, granted
from bench.hornada import Hornada
from tests.platform.fleet import until
from tests.platform.operator import PATIENCE_S, Operator, half_way


def second_organization(operator: Operator, server: Hornada, weight: int) -> Client:
    """A client of a fresh organization whose plan has this weight."""
    mark = uuid.uuid4().hex[:8]
    plan = {"weight": weight, "requests_per_minute": 1_000_000, "active_batches": 10}
    operator.told("PUT", f"plans/{mark}", plan)
    org = operator.told("POST", "organizations", {"name": mark, "plan": mark})["id"]
    member = operator.told("POST", f"organizations/{org}/members", {"name": "somebody", "role": "admin"})["id"]
    key = operator.told("POST", f"organizations/{org}/keys", {"member_id": member, "name": "key"})["key"]
    return Client(f"http://127.0.0.1:{server.port}/v1", key)


def done(client: Client, batch: str) -> int:
    return int(client.batch(batch)["request_counts"]["completed"])


def test_a_small_batch_ends_in_moments_beside_a_large_one(operator: Operator, server: Hornada) -> None:
    name = operator.model("shared")
    large = server.client.submit(operator.lines([name] * 400, delay=0.1))
    half_way(server.client, large, 8)
    small = server.client.submit(operator.lines([name] * 10, delay=0.1))
    assert server.client.finish(small, PATIENCE_S, 0.02)["status"] == "completed"
    assert done(server.client, large) < 200
    granted(server.client.call("POST", f"/batches/{large}/cancel"), "cancel")


def test_two_organizations_share_a_model_by_the_weights_of_their_plans(operator: Operator, server: Hornada) -> None:
    name = operator.model("shared")
    other = second_organization(operator, server, weight=3)
    first = server.client.submit(operator.lines([name] * 400, delay=0.1, word="one"))
    half_way(server.client, first, 4)
    second = other.submit(operator.lines([name] * 400, delay=0.1, word="two"))
    until(lambda: operator.order("two").count("two") > 120)
    calls = operator.order("one", "two")
    calls = calls[calls.index("two") :][:120]
    assert 2 <= calls.count("two") / calls.count("one") <= 4.5
    for client, batch in ((server.client, first), (other, second)):
        granted(client.call("POST", f"/batches/{batch}/cancel"), "cancel")


def always(operator: Operator, name: str, count: int, directive: dict[str, object]) -> bytes:
    """Lines that the model server answers with this, every time."""
    rows = []
    for at in range(count):
        text = f"{operator.mark} always {at} @@{json.dumps(directive)}"
        body = {"model": name, "messages": [{"role": "user", "content": text}]}
        rows.append({"custom_id": f"bad-{at}", "method": "POST", "url": "/v1/chat/completions", "body": body})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_lines_that_always_fail_hold_up_nobody_else(operator: Operator, server: Hornada) -> None:
    name = operator.model("shared")
    other = second_organization(operator, server, weight=1)
    bad = server.client.submit(always(operator, name, 40, {"status": 500}))
    for seen in server.client.watch(bad, PATIENCE_S, 0.05):
        if seen["status"] == "in_progress":
            break
    good = other.submit(operator.lines([name] * 30, delay=0.01))
    assert other.finish(good, PATIENCE_S, 0.05)["status"] == "completed"
    granted(server.client.call("POST", f"/batches/{bad}/cancel"), "cancel")


def test_lines_that_are_always_refused_hold_up_no_other_batch_of_their_organization(
    operator: Operator, server: Hornada
) -> None:
    name = operator.model("shared")
    bad = server.client.submit(always(operator, name, 12, {"status": 429}))
    good = server.client.submit(operator.lines([name] * 5, delay=0.01))
    assert server.client.finish(good, PATIENCE_S, 0.05)["status"] == "completed"
    granted(server.client.call("POST", f"/batches/{bad}/cancel"), "cancel")
