"""The application as a whole: who gets in, what every answer carries, how things go wrong."""

import asyncio
import logging
from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from hornada.core.errors import Unavailable
from tests.api.site import DIALECTS, KEY, Site, open_site

ENVELOPE = {"message", "type", "param", "code", "request_id"}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": ""},
        {"authorization": "Bearer sk-wrong"},
        {"authorization": "Bearer "},
        {"authorization": "Basic " + KEY},
        {"authorization": KEY},
        {"authorization": "", "api-key": "sk-wrong"},
    ],
)
@pytest.mark.parametrize("base", DIALECTS)
async def test_a_call_without_a_good_key_is_401(site: Site, base: str, headers: dict[str, str]) -> None:
    answer = await site.client.get(f"{base}/batches", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "headers", [{"authorization": "bearer  " + KEY}, {"authorization": "", "api-key": KEY}, {"api-key": "sk-wrong"}]
)
async def test_a_key_may_come_in_either_header(site: Site, headers: dict[str, str]) -> None:
    assert (await site.client.get("/v1/models", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/", 405, "method_not_allowed"),
        ("GET", "/v1/nothing", 404, "not_found"),
        ("GET", "/openai/v1/files/x/y", 404, "not_found"),
        ("PUT", "/v1/files", 405, "method_not_allowed"),
        ("OPTIONS", "/v1/batches", 405, "method_not_allowed"),
        ("GET", "/v1/files/file-none", 404, "file_not_found"),
        ("GET", "/v1/files/..%2F..%2Fetc%2Fpasswd/content", 404, "file_not_found"),
        ("DELETE", "/v1/files/%00", 404, "file_not_found"),
        ("GET", "/v1/batches/batch_none", 404, "batch_not_found"),
        ("POST", "/v1/batches/batch_none/cancel", 404, "batch_not_found"),
        ("GET", "/v1/models/none", 404, "model_not_found"),
        ("GET", "/v1/files?after=file-none", 404, "file_not_found"),
        ("GET", "/v1/files?limit=x", 400, "invalid_type"),
        ("POST", "/v1/batches", 400, "invalid_json"),
    ],
)
async def test_every_error_is_an_envelope_with_the_requests_id(
    site: Site, method: str, path: str, status: int, code: str
) -> None:
    answer = await site.client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == ENVELOPE
    assert error["code"] == code
    assert error["request_id"] == answer.headers["x-request-id"]
    assert error["request_id"].startswith("req_")


async def test_a_wrong_method_says_which_are_right(site: Site) -> None:
    answer = await site.client.put("/v1/batches")
    assert answer.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("path", ["/healthz", "/v1/models", "/v1/batches", "/openai/v1/files", "/openapi.json"])
async def test_every_success_has_an_id_of_its_own(site: Site, path: str) -> None:
    ids = {(await site.client.get(path)).headers["x-request-id"] for _ in range(2)}
    assert len(ids) == 2
    assert all(name.startswith("req_") for name in ids)


@pytest.mark.parametrize("path", ["/v1/batches/", "/v1/files/", "/v1/models/", "/healthz/"])
async def test_a_final_slash_is_no_redirect(site: Site, path: str) -> None:
    assert (await site.client.get(path)).status_code == 200


async def test_a_get_may_carry_a_content_type(site: Site) -> None:
    answer = await site.client.get("/v1/batches", headers={"content-type": "application/json"})
    assert answer.status_code == 200


async def test_a_failure_is_a_500_that_tells_only_where_to_look(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> bytes:
        raise RuntimeError("the secret of the house")

    async with open_site(tmp_path, metrics=broken) as site:
        with caplog.at_level(logging.ERROR):
            answer = await site.client.get("/metrics")
    assert answer.status_code == 500
    error = answer.json()["error"]
    assert (error["code"], error["type"]) == ("internal_error", "server_error")
    assert "secret" not in answer.text
    assert error["request_id"] == answer.headers["x-request-id"]
    [record] = [record for record in caplog.records if record.name == "hornada.api.app"]
    assert error["request_id"] in record.getMessage()
    assert record.exc_info is not None


async def test_what_does_not_answer_for_now_is_a_503_to_try_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> bytes:
        raise Unavailable("ledger.internal:5432 refused the connection")

    async with open_site(tmp_path, metrics=away) as site:
        answer = await site.client.get("/metrics")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "service_unavailable"
    assert answer.headers["retry-after"] == "1"
    assert "ledger.internal" not in answer.text
    assert "ledger.internal" in caplog.text


@pytest.mark.parametrize("base", DIALECTS)
@pytest.mark.parametrize("rest", ["/batches", "/batches/", "/batches/x", "/batches/x/cancel", "/batches/x/y/z"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_with_batches_off_their_paths_do_not_exist(tmp_path: Path, base: str, rest: str, method: str) -> None:
    async with open_site(tmp_path, batches_enabled=False) as site:
        answer = await site.client.request(method, base + rest, headers={"authorization": ""})
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"
        assert (await site.client.get(f"{base}/files")).status_code == 200


@pytest.mark.parametrize("rest", ["", "/x", "/x/cancel"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_with_batches_on_a_probe_without_a_key_is_never_404(site: Site, rest: str, method: str) -> None:
    answer = await site.client.request(method, "/v1/batches" + rest, headers={"authorization": ""})
    assert answer.status_code in {401, 405}


async def test_health_needs_no_key(site: Site) -> None:
    answer = await site.client.get("/healthz", headers={"authorization": ""})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_readiness_says_why_not(tmp_path: Path) -> None:
    async with open_site(tmp_path, ready=["the disk is full"]) as site:
        answer = await site.client.get("/readyz")
    told = {"status": "unready", "reasons": ["the disk is full"], "notes": []}
    assert (answer.status_code, answer.json()) == (503, told)


async def test_what_is_amiss_elsewhere_is_noted_and_still_ready(tmp_path: Path) -> None:
    async with open_site(tmp_path, notes=["model m is away"]) as site:
        answer = await site.client.get("/readyz")
    assert (answer.status_code, answer.json()["notes"]) == (200, ["model m is away"])


async def test_readiness_is_200_when_there_is_nothing_to_say(site: Site) -> None:
    answer = await site.client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "reasons": [], "notes": []})


async def test_metrics_are_prometheus_text(site: Site) -> None:
    answer = await site.client.get("/metrics")
    assert answer.text == "hornada_up 1\n"
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


async def test_a_head_is_answered_like_a_get(site: Site) -> None:
    answer = await site.client.head("/v1/models")
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) > 2


async def test_a_caller_who_hangs_up_gets_no_answer_and_leaves_no_trace(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def gone() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [(b"authorization", b"Bearer " + KEY.encode())]
    scope = {"type": "http", "method": "POST", "path": "/v1/batches", "query_string": b"", "headers": headers}
    await site.app(scope, gone, send)
    assert sent == []
    assert caplog.records == []


async def test_an_answer_that_breaks_off_is_told_to_the_log_alone(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    file = (await site.upload()).json()["id"]
    sent: list[str] = []

    async def receive() -> MutableMapping[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            raise RuntimeError("the cable was cut")

    path = f"/v1/files/{file}/content"
    headers = [(b"authorization", b"Bearer " + KEY.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
    await site.app(scope, receive, send)
    assert sent == ["http.response.start", "http.response.body"]
    [record] = caplog.records
    assert "broke off" in record.getMessage()


async def test_the_server_may_start_and_stop_it(site: Site) -> None:
    phases = iter(["lifespan.startup", "lifespan.shutdown"])
    sent: list[str] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": next(phases)}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message["type"])

    await site.app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
