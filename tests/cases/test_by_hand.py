"""The cases that need a server of their own: one batch too many, a kill in the middle, a window that runs out."""

import json
from pathlib import Path

from bench.client import Client, granted
from bench.hornada import Hornada
from tests.cases.conftest import configuration
from tests.cases.run import CASES, completed, read_input

RUNNING, FREE = 8, 60


def custom_ids(client: Client, file_id: str | None) -> list[str]:
    """The ids in a result file, in its order."""
    return [json.loads(line)["custom_id"] for line in client.content(file_id).splitlines()]


def wanted_ids(data: bytes) -> list[str]:
    """The ids of an input file."""
    return [json.loads(line)["custom_id"] for line in data.splitlines()]


def test_one_batch_more_than_the_plan_allows_is_refused_and_not_created(backend: Client, tmp_path: Path) -> None:
    data = read_input(CASES["too_many_active"], tmp_path)
    with Hornada(tmp_path, configuration(backend)) as server:
        server.start()
        client = server.client
        inputs = [granted(client.upload(data.replace(b"hold", b"hold%d" % n)), "upload")["id"] for n in range(6)]
        created = [granted(client.create(file_id), "create")["id"] for file_id in inputs[:5]]
        answer = client.create(inputs[5])
        assert (answer.status, answer.code) == (429, "too_many_active_batches")
        assert int(answer.headers["retry-after"]) >= 0
        assert answer.headers["x-should-retry"] == "false"
        listed = granted(client.call("GET", "/batches?limit=100"), "list")["data"]
        assert sorted(batch["id"] for batch in listed) == sorted(created)


def test_a_batch_survives_a_kill_in_the_middle(backend: Client, tmp_path: Path) -> None:
    rows = read_input(CASES["kill_and_restart"], tmp_path).splitlines(keepends=True)
    data = b"".join(rows[:FREE] + [row.replace(rb"\"delay\": 0.3", rb"\"hold\": \"kill\"") for row in rows[FREE:]])
    backend.call("POST", "/__reset", b"")
    with Hornada(tmp_path, configuration(backend, capacity=RUNNING, upstream_timeout_s=60)) as server:
        server.start()
        batch_id = server.client.submit(data)
        for batch in server.client.watch(batch_id, 60, poll=0.05):
            if completed(batch) >= FREE:
                break
        server.kill()
        backend.call("POST", "/__open", b"kill")
        server.start()
        batch = server.client.finish(batch_id, 60)
        good, bad = (custom_ids(server.client, batch[f"{kind}_file_id"]) for kind in ("output", "error"))
    calls = backend.call("GET", "/__stats").json["total"]
    wanted = wanted_ids(data)
    assert batch["status"] == "completed"
    assert (good, bad) == (wanted, [])
    assert len(wanted) <= calls <= len(wanted) + RUNNING, "only what was in flight is asked again"


def test_a_batch_that_runs_out_of_time_keeps_what_it_finished(backend: Client, tmp_path: Path) -> None:
    data = read_input(CASES["expire_partial"], tmp_path).replace(rb"\"delay\": 2", rb"\"delay\": 0.5")
    with Hornada(tmp_path, configuration(backend, capacity=1, batch_lifetime_s=5)) as server:
        server.start()
        batch = server.client.finish(server.client.submit(data), 90)
        good = custom_ids(server.client, batch["output_file_id"])
        bad = [json.loads(line) for line in server.client.content(batch["error_file_id"]).splitlines()]
    assert batch["status"] == "expired"
    assert good
    assert bad
    assert sorted(good + [row["custom_id"] for row in bad]) == sorted(wanted_ids(data))
    assert {(row["response"], row["error"]["code"]) for row in bad} == {(None, "batch_expired")}
    assert batch["request_counts"] == {"total": 30, "completed": len(good), "failed": len(bad)}


def test_every_case_that_needs_a_server_of_its_own_has_a_test_here() -> None:
    own = {case["id"] for case in CASES.values() if case["manual"]}
    assert own == {"too_many_active", "kill_and_restart", "expire_partial"}
