"""Backup of a server that runs, and restore where nothing is."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.client import Client, granted
from bench.hornada import PROGRAM, Hornada, answers, model, settings
from hornada.service.keeping import keeping, removing

LINES = 300


@pytest.fixture
def server(backend: Client, tmp_path: Path) -> Iterator[Hornada]:
    models = [model("m-chat", f"http://127.0.0.1:{backend.port}/v1", capacity=8, batch=8)]
    with Hornada(tmp_path / "first", settings(models)) as hornada:
        hornada.start()
        yield hornada


def command(name: str, folder: Path, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, name, folder, "--data", data], capture_output=True, text=True, check=False, timeout=120
    )


def lines(word: str, free: int) -> bytes:
    """All but the first ``free`` are not answered until the model server is told the word."""
    rows = []
    for at in range(LINES):
        order = {"delay": 0.05} if at < free else {"hold": word}
        body = {"model": "m-chat", "messages": [{"role": "user", "content": f"{at} @@{json.dumps(order)}"}]}
        rows.append({"custom_id": f"{at:03}", "method": "POST", "url": "/v1/chat/completions", "body": body})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def ids(client: Client, batch: str) -> list[str]:
    found = client.finish(batch, 60)
    assert found["status"] == "completed"
    return sorted(json.loads(row)["custom_id"] for row in client.content(found["output_file_id"]).splitlines())


def test_a_running_batch_goes_on_from_a_backup_on_another_machine(
    server: Hornada, backend: Client, tmp_path: Path
) -> None:
    client = server.client
    gone = granted(client.upload(b'{"deleted": 1}\n'), "upload")["id"]
    kept = granted(client.upload(b'{"kept": 1}\n'), "upload")["id"]
    granted(client.call("DELETE", f"/files/{gone}"), "delete")
    batch = client.submit(lines("copied", 40))
    for seen in client.watch(batch, 60, 0.02):
        if seen["request_counts"]["completed"] >= 40:
            break
    done = command("backup", tmp_path / "copy", server.data)
    assert (done.returncode, done.stderr) == (0, "")
    assert "were copied to" in done.stdout
    backend.call("POST", "/__open", b"copied")
    assert ids(client, batch) == [f"{at:03}" for at in range(LINES)]
    server.terminate()
    shutil.rmtree(server.data)

    assert command("restore", tmp_path / "copy", server.data).returncode == 0
    server.start()
    assert client.batch(batch)["request_counts"]["completed"] >= 40
    assert ids(client, batch) == [f"{at:03}" for at in range(LINES)]
    assert client.content(kept) == b'{"kept": 1}\n'
    assert client.call("GET", f"/files/{gone}").status == 404


def test_a_copy_is_for_its_user_only_and_never_over_another(server: Hornada, tmp_path: Path) -> None:
    granted(server.client.upload(b"{}\n"), "upload")
    copy = tmp_path / "copy"
    assert command("backup", copy, server.data).returncode == 0
    modes = {path.stat().st_mode & 0o077 for path in [copy, *copy.rglob("*")]}
    assert modes == {0}
    again = command("backup", copy, server.data)
    assert (again.returncode, again.stderr) == (2, f"Nothing was copied: {copy} is not empty\n")
    running = command("restore", copy, server.data)
    assert running.returncode == 2
    assert "is in use by another hornada process" in running.stderr
    server.terminate()
    there = command("restore", copy, server.data)
    assert (there.returncode, "there is a ledger at" in there.stderr) == (2, True)


def test_a_copy_that_lost_bytes_is_not_taken_for_whole(server: Hornada, tmp_path: Path) -> None:
    file = granted(server.client.upload(b"{}\n"), "upload")["id"].removeprefix("file-").removeprefix("file_")
    copy = tmp_path / "copy"
    assert command("backup", copy, server.data).returncode == 0
    blob = next(path for path in (copy / "blobs").rglob("*") if path.name == file)
    blob.write_bytes(b"[]\n")
    done = command("restore", copy, tmp_path / "new")
    assert (done.returncode, "is not what was written" in done.stderr) == (1, True)
    blob.unlink()
    done = command("restore", copy, tmp_path / "other")
    assert (done.returncode, "is missing" in done.stderr) == (1, True)
    assert not (tmp_path / "other" / "ledger.db").exists()


def test_other_shapes_are_refused_by_name(tmp_path: Path) -> None:
    env = {**os.environ, "HORNADA_STORAGE_DATABASE": "postgresql://a@b/c"}
    done = subprocess.run([PROGRAM, "backup", tmp_path / "x"], capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, "use pg_dump" in done.stderr) == (2, True)


def test_nothing_is_removed_while_a_backup_is_made(tmp_path: Path) -> None:
    with removing(None) as may:
        assert may
    with keeping(tmp_path), keeping(tmp_path), removing(tmp_path) as may:
        assert not may
    with removing(tmp_path) as may:
        assert may


def test_uploads_are_refused_and_lines_wait_while_the_disk_is_almost_full(server: Hornada, backend: Client) -> None:
    client, plenty = server.client, server.config.read_text()
    batch = client.submit(lines("low", 0))
    server.config.write_text(plenty.replace("[limits]\n", f"[limits]\nmin_free_bytes = {1 << 50}\n"))
    server.running.send(signal.SIGHUP)
    probe = Client(f"http://127.0.0.1:{server.port}")
    server.running.until(lambda: not answers(probe, "/readyz"), 60)
    backend.call("POST", "/__open", b"low")
    assert b"no line is started: the disk is almost full" in probe.call("GET", "/readyz").body
    refused = client.upload(b"{}\n")
    assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "storage_low", "60")
    assert client.batch(batch)["status"] == "in_progress"
    server.config.write_text(plenty)
    server.running.until(lambda: answers(probe, "/readyz"), 60)
    assert ids(client, batch) == [f"{at:03}" for at in range(LINES)]
    assert client.upload(b"{}\n").ok
