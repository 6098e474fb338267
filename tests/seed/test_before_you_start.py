"""What a batch is, and what one needs before the start."""

import time

import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada
from tests.seed.conftest import At, Serve
from tests.seed.guide import BASES, ONCE, PATIENCE_S, SHARE, Guide, chat, jsonl, mark, refused, several, slow

PROBES = [
    (method, path)
    for path in ("/batches", "/batches/x", "/batches/x/cancel", "/batches/")
    for method in ("GET", "POST", "PUT", "DELETE")
]
KEYED = [
    *(("POST", "/files"), ("GET", "/files"), ("GET", "/files/file-x"), ("GET", "/files/file-x/content")),
    *(("DELETE", "/files/file-x"), ("POST", "/batches"), ("GET", "/batches"), ("GET", "/batches/batch_x")),
    *(("POST", "/batches/batch_x/cancel"), ("GET", "/models"), ("GET", "/models/aliases")),
    *(("GET", "/billing/balance"), ("POST", "/chat/completions"), ("POST", "/embeddings")),
]


def test_in_1_a_file_of_whole_requests_is_run_unattended(guide: Guide) -> None:
    ended = guide.run(jsonl(*several(3)))
    assert ended.answered(3)
    assert [row["custom_id"] for row in ended.output] == ["doc-0", "doc-1", "doc-2"]


def test_in_2_failed_lines_come_back_in_a_file_of_their_own(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(chat("a", text), refused("b", text), chat("c", text), refused("d", text)))
    assert [row["custom_id"] for row in ended.output] == ["a", "c"]
    assert [row["custom_id"] for row in ended.error] == ["b", "d"]


@ONCE
def test_in_3_lines_do_not_draw_on_requests_a_minute(serve: Serve, at: At) -> None:
    guide, text = at(serve(plan={"requests_per_minute": 20})), mark()
    batch = guide.start(jsonl(*several(200, text)))
    assert guide.ask("is there room?").headers["x-ratelimit-remaining-requests"] == "17"
    end = time.monotonic() + PATIENCE_S
    while guide.calls(text) < 200:  # polling the batch would use up requests
        assert time.monotonic() < end
    assert guide.ask("and now?").status == 200
    assert guide.client.finish(batch["id"], PATIENCE_S, poll=4)["request_counts"]["completed"] == 200


def test_in_4_a_heavy_batch_leaves_interactive_work_served(guide: Guide) -> None:
    with guide.held(40, free=4) as batch:
        assert [guide.ask(mark()).status for _ in range(3)] == [200] * 3
        assert guide.check(batch)["status"] == "in_progress"
        guide.cancel(batch)
    guide.end(batch)


@pytest.mark.parametrize("key", [None, "sk-wrong"])
def test_in_5_a_key_is_needed(server: Hornada, base: str, key: str | None) -> None:
    client = Client(f"http://127.0.0.1:{server.port}{base}", key)
    for method, path in KEYED:
        answer = client.call(method, path)
        assert (path, answer.status, answer.code) == (path, 401, "invalid_api_key")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_in_6_failure_model_not_batchable(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(chat("a", text, model="m-nobatch")))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("model_not_batchable", 1)]
    assert (ended.batch["output_file_id"], ended.batch["error_file_id"]) == (None, None)
    assert guide.calls(text) == 0
    assert guide.ask(text, model="m-nobatch").status == 200
    (found,) = ended.batch["errors"]["data"]
    assert (found["param"], "m-nobatch" in found["message"]) == ("body.model", True)
    elsewhere = guide.run(jsonl(chat("a", text, model="m-embed")))
    assert (elsewhere.batch["status"], elsewhere.causes) == ("failed", [("model_not_batchable", 1)])


@ONCE
def test_in_7_the_administrator_decides_with_how_much_capacity(guide: Guide) -> None:
    guide.backend.call("POST", "/__reset", b"")
    text = mark()
    ended = guide.run(jsonl(*(slow(f"doc-{n}", text, 0.05, model="m-share") for n in range(20))))
    assert len(ended.output) == 20
    assert guide.backend.call("GET", "/__stats").json["peak"] == SHARE


def test_in_8_and_9_batches_that_are_off_are_404_for_any_request(serve: Serve) -> None:
    server = serve(more="[server]\nbatches = false\n")
    for base in (*BASES, "/openai/v1"):
        for key in (None, "sk-wrong", KEY):
            client = Client(f"http://127.0.0.1:{server.port}{base}", key)
            for method, path in (*PROBES, ("POST", "/batches/validate"), ("GET", "/batches/x/results")):
                answer = client.call(method, path)
                assert (method, path, answer.status, answer.code) == (method, path, 404, "not_found")
            assert client.call("GET", "/files").status == (200 if key == KEY else 401)


def test_in_9_batches_that_are_on_are_never_404_to_the_probe(server: Hornada) -> None:
    taken = {"/batches": ("GET", "POST"), "/batches/": ("GET", "POST"), "/batches/x": ("GET",)}
    for base in (*BASES, "/openai/v1"):
        client = Client(f"http://127.0.0.1:{server.port}{base}")
        for method, path in PROBES:
            expected = 401 if method in taken.get(path, ("POST",)) else 405
            assert (method, path, client.call(method, path).status) == (method, path, expected)
