"""Several real processes on one PostgreSQL and one bucket: killed, stopped, replaced, and every line once."""

import os
import signal

from bench.client import Client, granted
from bench.hornada import KEY, Hornada, answers
from tests.platform.fleet import Fleet, metric, soon, until
from tests.platform.operator import OPERATOR_KEY, ended
from tests.platform.work import Work

CAPACITY = 8


def loops(hornada: Hornada) -> set[str]:
    text = Client(f"http://127.0.0.1:{hornada.port}").call("GET", "/metrics").body.decode()
    return {line.split('"')[1] for line in text.splitlines() if line.startswith("hornada_loop_in_trouble{")}


def holds(hornada: Hornada) -> float:
    return metric(hornada, "hornada_chunks_held")


def check(client: Client, batch: str, lines: int, work: Work, repeats: int = 0) -> None:
    """Every line has one answer, and no more were asked twice than what a death may cost."""
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (lines, 0))
    assert sorted(row["custom_id"] for row in found.output) == [f"{at:04}" for at in range(lines)]
    assert lines <= work.calls() <= lines + repeats


def test_a_batch_runs_in_workers_at_once_and_never_where_calls_are_answered(fleet: Fleet, work: Work) -> None:
    api, one, two = fleet.add("api"), fleet.add("worker"), fleet.add("worker")
    runs = {"dispatcher", "validator", "finalizer", "reaper", "leases", "warden", "tidier", "eraser"}
    assert loops(one) >= runs | {"lease", "herald"}
    assert not loops(api) & runs
    assert loops(api) - loops(one) == {"usage", "key uses", "catalog"}
    batch = api.client.submit(work.lines(600, free=400))
    until(lambda: holds(one) and holds(two))
    assert holds(api) == 0
    work.open()
    check(api.client, batch, 600, work)
    assert metric(one, "hornada_lines_total") + metric(two, "hornada_lines_total") >= 600
    assert metric(api, "hornada_lines_total") == 0


def test_a_worker_says_how_it_is_and_answers_nothing_else(fleet: Fleet) -> None:
    worker = fleet.add("worker")
    root = Client(f"http://127.0.0.1:{worker.port}", KEY)
    until(lambda: answers(root, "/readyz"))
    assert [root.call("GET", path).status for path in ("/healthz", "/metrics")] == [200, 200]
    for path in ("/", "/v1/models", "/v1/batches", "/openapi.json", "/admin/organizations", "/ui"):
        assert root.call("GET", path).status == 404
    assert root.call("POST", "/v1/chat/completions", {"model": "m-chat", "messages": []}).status == 404


def test_where_calls_are_answered_it_is_said_that_nobody_runs_batches(fleet: Fleet, work: Work) -> None:
    api = fleet.add("api")
    root = Client(f"http://127.0.0.1:{api.port}")
    until(lambda: root.call("GET", "/readyz").json.get("notes") == ["no worker is alive; batches wait"])
    batch = api.client.submit(work.lines(3))
    worker = fleet.add("worker")
    until(lambda: not root.call("GET", "/readyz").json.get("notes"))
    check(api.client, batch, 3, work)
    until(lambda: metric(worker, 'hornada_processes_live{role="api"}') == 1)
    assert worker.terminate() == 0
    until(lambda: root.call("GET", "/readyz").json.get("notes"))


def test_a_batch_starts_elsewhere_well_within_a_second(fleet: Fleet, work: Work) -> None:
    api, _ = fleet.add("api"), fleet.add("worker")
    warm = api.client.submit(work.lines(1, delay=0))
    check(api.client, warm, 1, work)
    file = granted(api.client.upload(work.lines(1, delay=0.01)), "upload")["id"]

    def starting() -> float:
        before = work.calls()
        batch = granted(api.client.create(file), "create")["id"]
        took = until(lambda: work.calls() > before)
        assert ended(api.client, batch).counts == (1, 0)
        return took

    assert soon(0.9, starting)


def test_a_cancel_at_another_process_stops_lines_everywhere(fleet: Fleet, work: Work) -> None:
    api, _, _ = fleet.add("api"), fleet.add("worker"), fleet.add("worker")
    batch = api.client.submit(work.lines(800, delay=0.1))
    until(lambda: work.calls() > 20)
    granted(api.client.call("POST", f"/batches/{batch}/cancel"), "cancel")
    before = work.calls()
    found = ended(api.client, batch)
    assert (found.batch["status"], sum(found.counts), found.counts[0]) == ("cancelled", 800, work.quiet())
    assert work.calls() < before + 240, "as many as run in three seconds, on a machine that has nothing else to do"


def test_a_key_that_is_revoked_at_one_process_is_refused_by_the_others_at_once(fleet: Fleet) -> None:
    one, two = fleet.add("api"), fleet.add("api")
    operator = Client(f"http://127.0.0.1:{one.port}", OPERATOR_KEY)
    org = granted(operator.call("GET", "/admin/organizations"), "organizations")["data"][0]["id"]

    def revoking() -> float:
        made = granted(operator.call("POST", f"/admin/organizations/{org}/keys", {"name": "short"}), "key")
        with_key = Client(two.base, made["key"])
        assert with_key.call("GET", "/models").status == 200
        granted(operator.call("DELETE", f"/admin/keys/{made['id']}"), "revoke")
        return until(lambda: with_key.call("GET", "/models").status == 401)

    assert soon(0.5, revoking), "who is told of nothing finds out after a second"


def test_what_operators_change_at_one_process_holds_at_the_others_within_a_second(
    fleet: Fleet, backend: Client
) -> None:
    one, two = fleet.add("api"), fleet.add("api")
    operator = Client(f"http://127.0.0.1:{one.port}", OPERATOR_KEY)
    upstream = {"upstream": f"http://127.0.0.1:{backend.port}/v1", "capacity": 2}
    names = iter(["m-other", "m-text", "m-1", "m-2", "m-3"])

    def offering() -> float:
        name = next(names)
        granted(operator.call("PUT", f"/admin/models/{name}", upstream), "put")
        return until(lambda: name in {row["id"] for row in two.client.call("GET", "/models").json["data"]})

    assert soon(1, offering)
    granted(operator.call("PUT", "/admin/aliases/also", {"model": "m-other"}), "put")
    until(lambda: two.client.call("GET", "/models/also").ok)
    asked = {"model": "also", "messages": [{"role": "user", "content": "hello"}]}
    assert two.client.call("POST", "/chat/completions", asked).status == 200


def test_a_worker_that_is_killed_loses_its_chunks_to_the_others_within_its_lease(fleet: Fleet, work: Work) -> None:
    api, one, two = fleet.add("api"), fleet.add("worker"), fleet.add("worker")
    batch = api.client.submit(work.lines(600, free=100))
    until(lambda: holds(one) and holds(two) and work.calls() > 100)
    one.kill()
    work.open()
    check(api.client, batch, 600, work, repeats=100 + CAPACITY)
    assert "is gone; what it held goes to others" in two.log()


def test_a_worker_that_slept_past_its_lease_starts_nothing_and_commits_nothing_of_it(fleet: Fleet, work: Work) -> None:
    api, one, two = fleet.add("api"), fleet.add("worker"), fleet.add("worker")
    batch = api.client.submit(work.lines(400, free=50))
    until(lambda: holds(one) and holds(two) and work.calls() > 50)
    os.kill(one.pid, signal.SIGSTOP)
    until(lambda: "is gone; what it held goes to others" in two.log())
    os.kill(one.pid, signal.SIGCONT)
    until(lambda: "others ended this process's lease" in one.log())
    work.open()
    check(api.client, batch, 400, work, repeats=50 + CAPACITY)
    again = api.client.submit(work.lines(50))
    ended(api.client, again)
    until(lambda: answers(Client(f"http://127.0.0.1:{one.port}"), "/readyz"))


def test_replacing_every_process_one_after_another_fails_nothing(fleet: Fleet, work: Work) -> None:
    apis, workers = [fleet.add("api"), fleet.add("api")], [fleet.add("worker"), fleet.add("worker")]
    batch = apis[0].client.submit(work.lines(400, delay=0.2))
    until(lambda: work.calls() > 20)
    for at in range(2):
        old, workers[at] = workers[at], fleet.add("worker")
        assert old.terminate() == 0
        old, apis[at] = apis[at], fleet.add("api")
        assert old.terminate() == 0
    check(apis[0].client, batch, 400, work)


def test_workers_that_are_all_gone_hold_up_a_cancelled_batch_only_until_one_comes(fleet: Fleet, work: Work) -> None:
    api, one = fleet.add("api"), fleet.add("worker")
    batch = api.client.submit(work.lines(300, free=10))
    until(lambda: work.calls() > 10)
    one.kill()
    granted(api.client.call("POST", f"/batches/{batch}/cancel"), "cancel")
    fleet.add("worker")
    found = ended(api.client, batch)
    assert (found.batch["status"], sum(found.counts)) == ("cancelled", 300)
