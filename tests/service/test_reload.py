"""The configuration is read again while the server runs."""

import json
import logging
import os
import signal
import time
from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada, model, settings
from bench.process import free_port
from hornada.config import Config, Origin
from hornada.service.reload import Reloader, changed

BEFORE = '[[models]]\nname = "a"\nupstream = "http://127.0.0.1:1/v1"\n'
LINES, FREE = 200, 8
AFTER = BEFORE + '[[models]]\nname = "b"\nupstream = "http://127.0.0.1:1/v1"\n'


class Followed:
    """A file, and what was taken over from it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.taken: list[Config] = []
        origin = Origin(file, {}, {})
        self.reloader = Reloader(origin.load(), origin, self.take)

    async def take(self, config: Config) -> None:
        self.taken.append(config)

    async def write(self, text: str) -> None:
        """Another file in its place, as editors do it; the next look sees it."""
        other = self.file.with_suffix(".new")
        other.write_text(text)
        other.replace(self.file)
        await self.reloader.once()

    @property
    def names(self) -> list[str]:
        """The models of what was taken over last."""
        return [each.name for each in self.taken[-1].models]


@pytest.fixture
def followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Followed:
    caplog.set_level(logging.INFO, "hornada")
    file = tmp_path / "hornada.toml"
    file.write_text(BEFORE)
    return Followed(file)


async def test_a_file_that_has_not_changed_is_not_read(followed: Followed) -> None:
    await followed.reloader.once()
    assert followed.taken == []


async def test_a_change_is_taken_over_and_told_by_its_keys(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    await followed.write(AFTER + "[limits]\nlines = 7\n")
    assert followed.names == ["a", "b"]
    assert followed.taken[-1].limits.lines == 7
    assert caplog.messages == ["the configuration was read again; in force now: limits.lines, models"]


async def test_a_configuration_with_faults_changes_nothing_and_every_fault_is_told_once(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    await followed.write(AFTER + "[limits]\nlines = 0\nlinse = 7\n")
    await followed.reloader.once()
    assert followed.taken == []
    (message,) = caplog.messages
    assert "limits.lines: must be a whole number" in message
    assert 'limits.linse: unknown setting; did you mean "lines"?' in message
    await followed.write(AFTER)
    assert followed.names == ["a", "b"]


async def test_what_needs_a_restart_is_told_and_stays(followed: Followed, caplog: pytest.LogCaptureFixture) -> None:
    await followed.write(AFTER + "[server]\nport = 9\nlog_level = 'error'\n[storage]\nblobs = 'file:///x'\n")
    (taken,) = followed.taken
    assert (taken.server.port, taken.server.log_level) == (8080, "error")
    assert "a restart is needed for the change of server.port, storage.blobs" in caplog.messages


async def test_what_only_an_empty_ledger_heeds_is_not_told(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    await followed.write(BEFORE + "[bootstrap]\ncredit = 5\n")
    assert (followed.taken, caplog.messages) == ([], [])


async def test_asked_it_reads_what_looks_the_same(followed: Followed, caplog: pytest.LogCaptureFixture) -> None:
    followed.reloader.ask()
    await followed.reloader.once()
    await followed.reloader.once()
    assert caplog.messages == ["the configuration was read again; nothing has changed"]


async def test_a_file_that_is_gone_for_a_moment_is_no_fault(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    followed.file.unlink()
    await followed.reloader.once()
    assert caplog.messages == []
    await followed.write(AFTER)
    assert followed.names == ["a", "b"]


def test_secrets_are_never_told(tmp_path: Path) -> None:
    one = Origin(None, {"HORNADA_UPSTREAM_API_KEY": "sk-1"}, {"data": str(tmp_path)}).load()
    two = Origin(None, {"HORNADA_UPSTREAM_API_KEY": "sk-2"}, {"data": str(tmp_path)}).load()
    assert list(changed(one, two)) == ["upstream_api_key"]


# ---------------------------------------------------------------- a real process


@pytest.fixture
def upstream(backend: Client) -> str:
    """The address of a mock model server."""
    return f"http://127.0.0.1:{backend.port}/v1"


def named(server: Hornada) -> set[str]:
    return {each["id"] for each in server.client.call("GET", "/models").json["data"]}


def until(true: object, seconds: float = 60) -> None:
    """Waits for something to become true."""
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.05)


def ask(server: Hornada, name: str) -> tuple[int, str | None]:
    body = {"model": name, "messages": [{"role": "user", "content": "hi"}]}
    answer = server.client.call("POST", "/chat/completions", body)
    return answer.status, answer.code


def test_a_running_server_follows_its_file_and_a_signal(tmp_path: Path, upstream: str) -> None:
    first = settings([model("one", upstream)], aliases={"Name": "one"})
    second = settings([model("two", upstream)], aliases={"Name": "two"}, plan={"requests_per_minute": 77})
    with Hornada(tmp_path, first) as server:
        server.start()
        assert ask(server, "one")[0] == 200
        server.config.write_text(second)
        until(lambda: named(server) == {"two"})
        assert ask(server, "one") == (404, "model_not_found")
        assert ask(server, "Name")[0] == 200
        assert server.client.call("GET", "/models").headers["x-ratelimit-limit-requests"] == "77"

        server.config.write_text(second.replace("[limits]", "[limits]\nlinse = 1"))
        until(lambda: "limits.linse: unknown setting" in server.log())
        assert named(server) == {"two"}

        stat = server.config.stat()
        server.config.write_text(first)
        os.utime(server.config, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        server.running.send(signal.SIGHUP)
        until(lambda: named(server) == {"one"})
        assert server.terminate() == 0


def test_a_running_batch_follows_its_alias_and_ends_with_its_model(
    tmp_path: Path, upstream: str, backend: Client
) -> None:
    def lines(name: str, free: int) -> bytes:
        texts = [f"{name} {at}" + (' @@{"hold": "followed"}' if at >= free else "") for at in range(LINES)]
        bodies = [{"model": name, "messages": [{"role": "user", "content": text}]} for text in texts]
        return b"".join(
            json.dumps({"custom_id": str(at), "body": body}).encode() + b"\n" for at, body in enumerate(bodies)
        )

    both = [model("one", upstream, capacity=4), model("two", upstream, capacity=4)]
    with Hornada(tmp_path, settings(both, aliases={"Name": "one"})) as server:
        server.start()
        client = Client(server.base, KEY)
        moved, retired = client.submit(lines("Name", FREE)), client.submit(lines("one", LINES // 2))
        until(lambda: client.batch(moved)["request_counts"]["completed"] == FREE)
        server.config.write_text(settings(both[1:], aliases={"Name": "two"}))
        until(lambda: named(server) == {"two"})
        backend.call("POST", "/__open", b"followed")
        followed, ended = client.finish(moved, 60), client.finish(retired, 60)
    assert (followed["status"], followed["request_counts"]["completed"], followed["model"]) == (
        "completed",
        LINES,
        "two",
    )
    assert (ended["status"], ended["request_counts"]["total"]) == ("completed", LINES)
    assert ended["request_counts"]["failed"] > 0


def test_what_is_left_out_or_paused_is_in_the_metrics(tmp_path: Path) -> None:
    port = free_port()
    with Hornada(tmp_path, settings([model("one", f"http://127.0.0.1:{port}/v1")])) as server:
        server.start()
        root = Client(f"http://127.0.0.1:{server.port}")
        healthy = f'hornada_server_healthy{{model="one",server="127.0.0.1:{port}"}}'
        assert f"{healthy} 1.0" in root.call("GET", "/metrics").body.decode()
        assert ask(server, "one") == (502, "upstream_error")
        found = root.call("GET", "/metrics").body.decode()
        assert f"{healthy} 0.0" in found
        assert 'hornada_model_paused{model="one"} 0.0' in found
