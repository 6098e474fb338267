"""Responses, reranking and moderations: as regular calls, streamed, and in batches, with what they use."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada, model, settings
from tests.acceptance.conftest import MODEL

RESPONSES, RERANK, MODERATIONS = "/v1/responses", "/v1/rerank", "/v1/moderations"
ASK = {"model": MODEL, "input": "Say a colour.", "max_output_tokens": 8}
RANK = {
    "model": "m-rank",
    "query": "red",
    "documents": ["blue", "red", "reddish"],
    "top_n": 2,
    "return_documents": True,
}


class Small(BaseHTTPRequestHandler):
    """Ranks documents by whether they are the query, and flags what says "bad"."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = json.dumps({"/v1/rerank": rank, "/v1/moderations": moderate}[self.path](asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def rank(asked: dict[str, Any]) -> dict[str, Any]:
    scores = [float(text == asked["query"]) for text in asked["documents"]]
    best = sorted(range(len(scores)), key=lambda at: -scores[at])[: asked["top_n"]]
    results = [{"index": at, "relevance_score": scores[at]} for at in best]
    return {"id": "rank-1", "model": asked["model"], "results": results, "usage": {"total_tokens": 7}}


def moderate(asked: dict[str, Any]) -> dict[str, Any]:
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    results = [{"flagged": "bad" in text, "categories": {}, "category_scores": {}} for text in texts]
    return {"id": "modr-1", "model": asked["model"], "results": results}


@pytest.fixture(scope="module")
def small() -> Iterator[str]:
    """The small server's base address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Small)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def hornada(llama: str, small: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """One model for each endpoint."""
    models = [
        model(MODEL, llama, endpoints=[RESPONSES]),
        model("m-rank", small, endpoints=[RERANK]),
        model("m-safe", small, endpoints=[MODERATIONS]),
    ]
    priced = settings(models).replace('name = "', 'price = { input = 1000000, output = 2000000 }\nname = "')
    with Hornada(tmp_path_factory.mktemp("endpoints"), priced) as server:
        server.start()
        yield server


@pytest.fixture
def client(hornada: Hornada) -> Client:
    return hornada.client


@pytest.fixture
def sdk(hornada: Hornada) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=hornada.base, api_key=KEY, max_retries=0, timeout=60) as found:
        yield found


def ran(client: Client, endpoint: str, *bodies: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """A batch of these bodies that has ended, and the bodies of its answers."""
    lines = [{"custom_id": f"{at}", "method": "POST", "url": endpoint, "body": body} for at, body in enumerate(bodies)]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    batch = client.finish(client.submit(data, endpoint), 60)
    assert (batch["status"], batch["request_counts"]["completed"]) == ("completed", len(bodies)), batch
    rows = [json.loads(row) for row in client.content(batch["output_file_id"]).splitlines()]
    return batch, [row["response"]["body"] for row in rows]


# --- responses -----


def test_a_response_tells_what_it_used(sdk: openai.OpenAI) -> None:
    answer = sdk.responses.create(**ASK)
    assert answer.object == "response"
    assert answer.usage is not None
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0


def test_a_streamed_response_ends_with_its_usage(sdk: openai.OpenAI) -> None:
    events = list(sdk.responses.create(**ASK, stream=True))
    kinds = [event.type for event in events]
    assert kinds[0] == "response.created"
    assert "response.output_text.delta" in kinds
    (completed,) = (event for event in events if event.type == "response.completed")
    assert completed.response.usage is not None
    assert completed.response.usage.output_tokens > 0


def test_a_batch_of_responses_sums_their_usage(client: Client) -> None:
    batch, answers = ran(client, RESPONSES, ASK, ASK | {"input": [{"role": "user", "content": "Say a shape."}]})
    assert [answer["object"] for answer in answers] == ["response", "response"]
    usage = batch["usage"]
    assert usage["input_tokens"] == sum(answer["usage"]["input_tokens"] for answer in answers)
    assert usage["output_tokens"] == sum(answer["usage"]["output_tokens"] for answer in answers)
    assert batch["cost"] == usage["input_tokens"] + 2 * usage["output_tokens"]


# --- reranking -----


def test_documents_are_ranked(client: Client) -> None:
    answer = client.call("POST", "/rerank", RANK)
    assert answer.status == 200
    assert [each["index"] for each in answer.json["results"]] == [1, 0]


def test_a_batch_of_rankings_counts_its_total_as_input(client: Client) -> None:
    batch, answers = ran(client, RERANK, RANK, RANK | {"query": "blue"})
    assert [answer["results"][0]["index"] for answer in answers] == [1, 0]
    assert (batch["usage"]["input_tokens"], batch["usage"]["output_tokens"], batch["cost"]) == (14, 0, 14)


# --- moderations -----


def test_a_text_is_moderated(sdk: openai.OpenAI) -> None:
    answer = sdk.moderations.create(model="m-safe", input=["good", "bad"])
    assert [result.flagged for result in answer.results] == [False, True]


def test_a_batch_of_moderations_is_charged_by_an_estimate_of_what_was_read(client: Client) -> None:
    batch, answers = ran(
        client, MODERATIONS, {"model": "m-safe", "input": "a bad text"}, {"model": "m-safe", "input": "x"}
    )
    assert [answer["results"][0]["flagged"] for answer in answers] == [True, False]
    assert (batch["usage"]["input_tokens"], batch["usage"]["output_tokens"]) == (4, 0)


# --- what is not offered -----


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rerank", RANK | {"model": MODEL}),
        ("/moderations", {"model": "m-rank", "input": "x"}),
        ("/responses", ASK | {"model": "m-safe"}),
        ("/chat/completions", {"model": "m-rank", "messages": [{"role": "user", "content": "x"}]}),
    ],
)
def test_a_model_that_does_not_offer_an_endpoint_is_not_found_there(client: Client, path: str, body: Any) -> None:
    answer = client.call("POST", path, body)
    assert (answer.status, answer.code) == (404, "model_not_found")


def test_a_batch_for_an_endpoint_that_its_model_does_not_offer_fails(client: Client) -> None:
    line = {"custom_id": "0", "method": "POST", "url": RERANK, "body": RANK | {"model": "m-safe"}}
    batch = client.finish(client.submit(json.dumps(line).encode() + b"\n", RERANK), 60)
    assert batch["status"] == "failed"
    assert [cause["code"] for cause in batch["errors"]["data"]] == ["model_not_batchable"]


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/rerank", {"model": "m-rank", "query": "q"}, "documents"),
        ("/rerank", {"model": "m-rank", "documents": ["d"]}, "query"),
        ("/moderations", {"model": "m-safe"}, "input"),
        ("/responses", {"model": MODEL}, "input"),
    ],
)
def test_what_an_endpoint_cannot_do_without_is_asked_for(client: Client, path: str, body: Any, param: str) -> None:
    answer = client.call("POST", path, body)
    assert (answer.status, answer.json["error"]["param"]) == (400, param)
