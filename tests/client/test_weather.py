"""What networks and servers do to a client: busy, away, cut off, killed."""

import itertools
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from bench.hornada import KEY, Hornada, model, settings
from hornada.client import BadInput, Client, Garbled, Refused, Unreached
from tests.cli.model_server import MODEL, ModelServer
from tests.client.conftest import write
from tests.client.proxy import Meddle, Proxy

NUMBERS = itertools.count()


@contextmanager
def through(server: Hornada, meddle: Meddle) -> Iterator[tuple[Client, Proxy]]:
    with Proxy(f"http://127.0.0.1:{server.port}/strict/v1", meddle, plain=True) as proxy:
        yield Client(proxy.base, KEY, patience_s=60), proxy


def fresh(folder: Path, *more: str) -> Path:
    return write(folder / "in.jsonl", f"weather{next(NUMBERS)}", *more)


def test_a_server_that_is_busy_is_asked_again_when_it_says(server: Hornada) -> None:
    def busy(method: str, path: str, before: int) -> tuple[int, dict[str, str]] | None:
        return [(429, {"retry-after": "1"}), (503, {"retry-after-ms": "10"}), None][min(before, 2)]

    waits: list[tuple[str, float]] = []
    with Proxy(server.base, busy) as proxy:
        client = Client(proxy.base, KEY, on_wait=lambda why, wait: waits.append((why, wait)))
        assert len(list(client.list(limit=1))) <= 1
    assert [method for method, _ in proxy.asked] == ["GET"] * 3
    assert 1 <= waits[0][1] < 1.2
    assert waits[1][1] < 0.2
    assert "429" in waits[0][0]


def test_what_should_not_be_asked_again_is_not(server: Hornada) -> None:
    with through(server, lambda *_: (429, {"x-should-retry": "false"})) as (client, proxy):
        with pytest.raises(Refused) as caught:
            list(client.list())
        assert caught.value.status == 429
        assert len(proxy.asked) == 1


def test_a_wrong_address_is_told_soon() -> None:
    began = time.monotonic()
    with pytest.raises(Unreached, match=r"http://127.0.0.1:9/v1 does not answer: connection refused"):
        list(Client("http://127.0.0.1:9/v1", patience_s=600).list())
    assert time.monotonic() - began < 60


def test_an_address_without_its_scheme_is_told() -> None:
    with pytest.raises(BadInput, match=r"127.0.0.1:8080"):
        Client("127.0.0.1:8080/v1")


def test_no_redirect_takes_the_key_elsewhere(server: Hornada) -> None:
    with through(server, lambda *_: (302, {"location": "http://127.0.0.1:9/"})) as (client, proxy):
        with pytest.raises(Garbled, match=r"http://127.0.0.1:9/"):
            list(client.list())
        assert len(proxy.asked) == 1


def test_a_page_that_is_no_batch_server_is_told() -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as page:
        threading.Thread(target=page.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.raises(Garbled, match="is no batch server"):
            list(Client(f"http://127.0.0.1:{page.server_port}/v1").list())
        page.shutdown()


def test_a_certificate_is_held_against_the_authorities_that_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class List(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"object": "list", "data": [], "has_more": false}')

        def log_message(self, *_: object) -> None:
            pass

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with ThreadingHTTPServer(("127.0.0.1", 0), List) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        base = f"https://localhost:{server.server_port}/v1"
        with pytest.raises(Unreached, match=r"its certificate is not believed \(.*\); SSL_CERT_FILE"):
            list(Client(base).list())
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert list(Client(base).list()) == []
        server.shutdown()


def test_a_download_that_is_cut_off_goes_on_where_it_was(server: Hornada, tmp_path: Path) -> None:
    def cut(method: str, path: str, before: int) -> str | None:
        return "cut" if path.endswith("/content") and before < 2 else None

    with through(server, cut) as (client, proxy):
        batch = client.wait(client.submit(fresh(tmp_path, *"abcdefgh")).id, interval_s=0.05)
        assert len(list(client.results(batch.id))) == 9
        asked = [path for _, path in proxy.asked if path.endswith("/content")]
        assert max(asked.count(path) for path in asked) == 3


def test_bytes_that_are_not_those_that_were_promised_are_refused(server: Hornada, tmp_path: Path) -> None:
    batch_client = Client(server.base, KEY)
    batch = batch_client.wait(batch_client.submit(fresh(tmp_path)).id, interval_s=0.05)

    def spoil(method: str, path: str, before: int) -> str | None:
        return "spoil" if path.endswith("/content") else None

    with Proxy(server.base, spoil) as proxy, pytest.raises(Garbled, match="SHA-256"):
        list(Client(proxy.base, KEY).results(batch.id))


def test_a_batch_whose_answer_was_lost_is_not_made_twice(server: Hornada, tmp_path: Path) -> None:
    def lose(method: str, path: str, before: int) -> str | None:
        return "lose" if (method, path, before) == ("POST", "/batches", 0) else None

    with through(server, lose) as (client, proxy):
        batch = client.submit(fresh(tmp_path))
        assert proxy.asked.count(("POST", "/batches")) == 1
        same = [each.id for each in client.list() if each.input_file_id == batch.input_file_id]
        assert same == [batch.id]


def test_an_upload_that_the_server_breaks_off_is_answered_with_its_reason(models: ModelServer, tmp_path: Path) -> None:
    config = settings([model(MODEL, models.base)], limits={"file_bytes": 2_000_000})
    with Hornada(tmp_path / "server", config) as hornada:
        hornada.start()
        big = tmp_path / "big.jsonl"
        big.write_bytes(b" " * 200_000_000)
        with pytest.raises(Refused) as caught:
            Client(hornada.base, KEY).submit(big, endpoint="/v1/chat/completions")
        assert (caught.value.status, caught.value.code) == (413, "file_too_large")


def test_a_server_that_is_killed_while_it_is_watched_is_found_again(tmp_path: Path) -> None:
    with ModelServer(free=1) as models, Hornada(tmp_path / "server", settings([model(MODEL, models.base)])) as hornada:
        models.gate.clear()
        hornada.start()
        waits: list[str] = []
        client = Client(hornada.base, KEY, patience_s=60, on_wait=lambda why, _: waits.append(why))
        batch = client.submit(write(tmp_path / "in.jsonl", *"abcd"))
        watch = client.watch(batch.id, interval_s=0.05)
        while next(watch).status != "in_progress":
            pass
        hornada.kill()
        again = threading.Timer(0.5, lambda: (models.gate.set(), hornada.start()))
        again.start()
        *_, last = watch
        again.join()
        assert (last.status, last.completed) == ("completed", 4)
        assert waits
        assert [each.text for each in client.results(batch.id)] == list("ABCD")
