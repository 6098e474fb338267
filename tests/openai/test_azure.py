"""R25: Azure's spelling, with the client that its users have."""

from collections.abc import Iterator

import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada, table
from tests.openai.conftest import opened
from tests.seed.guide import CHAT, Json, chat, configuration, jsonl, mark, several


@pytest.fixture(scope="module")
def azure(backend: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """A server with Azure's paths beside Novita's."""
    mounted = table("[server.dialects]", {'"/openai"': "azure", '"/openai/v1"': "novita"})
    with Hornada(tmp_path_factory.mktemp("azure"), configuration(backend, more=mounted)) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture
def azure_sdk(azure: Hornada) -> Iterator[openai.AzureOpenAI]:
    with openai.AzureOpenAI(
        azure_endpoint=f"http://127.0.0.1:{azure.port}",
        api_key=KEY,
        api_version="2025-03-01-preview",
        max_retries=0,
        _strict_response_validation=True,
    ) as sdk:
        yield sdk


@pytest.mark.parametrize("endpoint", ["/chat/completions", CHAT])
@pytest.mark.parametrize("url", ["/chat/completions", CHAT])
def test_r25_azures_client_goes_all_the_way(
    azure: Hornada, azure_sdk: openai.AzureOpenAI, backend: Client, endpoint: str, url: str
) -> None:
    lines: list[Json] = [{**chat(f"a-{n}", mark()), "url": url} for n in range(3)]
    file = azure_sdk.files.create(file=("in.jsonl", jsonl(*lines)), purpose="batch")
    batch = azure_sdk.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")  # type: ignore[arg-type]
    ended = opened(azure, "/openai", backend).end({"id": batch.id})
    assert azure_sdk.batches.retrieve(batch.id).status == "completed"
    assert [row["response"]["status_code"] for row in ended.output] == [200] * 3
    assert batch.id in [each.id for each in azure_sdk.batches.list(limit=100)]
    with pytest.raises(openai.ConflictError):
        azure_sdk.batches.cancel(batch.id)


def test_r25_regular_calls_name_the_model_in_the_path(azure_sdk: openai.AzureOpenAI, azure: Hornada) -> None:
    answer = azure_sdk.chat.completions.create(model="m-chat", messages=[{"role": "user", "content": "hi"}])
    assert answer.choices[0].message.content == "ECHO:hi"
    plain = Client(f"http://127.0.0.1:{azure.port}/openai").call(
        "POST", "/chat/completions?api-version=1", chat("a", "ho")["body"], {"api-key": KEY}
    )
    assert plain.json["choices"][0]["message"]["content"] == "ECHO:ho"
    assert [model.id for model in azure_sdk.models.list()]


def test_r25_novitas_path_below_stays_novitas(azure: Hornada, backend: Client) -> None:
    file = opened(azure, "/openai/v1", backend).upload(jsonl(*several(1)))
    assert file["id"].startswith("file_")
    other = opened(azure, "/openai", backend).run(jsonl({**chat("a", mark()), "url": "/v1/completions"})).batch
    assert [entry["code"] for entry in other["errors"]["data"]] == ["invalid_url"]
