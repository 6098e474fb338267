"""Every call of OpenAI's SDK in its strict mode, which refuses an answer whose types are not exactly OpenAI's."""

import openai
import pytest

from bench.hornada import KEY, Hornada
from tests.openai.conftest import MOUNTED, SLASHED
from tests.seed.guide import Guide, chat, jsonl, mark, refused, several

pytestmark = pytest.mark.parametrize("base", [path for path, name in MOUNTED.items() if name != "novita"])


def test_files(sdk: openai.OpenAI) -> None:
    data = jsonl(*several(2))
    file = sdk.files.create(
        file=("in.jsonl", data), purpose="batch", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert sdk.files.retrieve(file.id) == file
    assert file in list(sdk.files.list(limit=1000))
    assert sdk.files.content(file.id).read() == data
    with sdk.files.with_streaming_response.content(file.id) as streamed:
        assert b"".join(streamed.iter_bytes()) == data
    assert sdk.files.delete(file.id).deleted


def test_batches_at_every_stage(sdk: openai.OpenAI, guide: Guide) -> None:
    file = sdk.files.create(file=("in.jsonl", jsonl(chat("a", mark()), refused("b", mark()))), purpose="batch")
    batch = sdk.batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"suite": "strict"},
        output_expires_after={"anchor": "created_at", "seconds": 3600},
    )
    assert (batch.status, batch.metadata, batch.errors) == ("validating", {"suite": "strict"}, None)
    guide.client.finish(batch.id, 60, 0.05)
    ended = sdk.batches.retrieve(batch.id)
    assert (ended.status, ended.model, ended.usage is None) == ("completed", "m-chat", False)
    assert ended in list(sdk.batches.list(limit=100))
    for name in (ended.output_file_id, ended.error_file_id):
        found = sdk.files.retrieve(str(name))
        assert (found.purpose, found.expires_at) == ("batch_output", found.created_at + 3600)
        assert len(sdk.files.content(found.id).read().splitlines()) == 1


def test_a_failed_and_a_cancelled_batch(sdk: openai.OpenAI, guide: Guide) -> None:
    failed = sdk.batches.retrieve(guide.run(jsonl("{")).batch["id"])
    assert failed.errors is not None
    assert [(found.code, found.line) for found in failed.errors.data or []] == [("invalid_json_line", 1)]
    with guide.held() as batch:
        stopped = sdk.batches.cancel(batch["id"])
        assert stopped.status == "cancelling"
    guide.client.finish(stopped.id, 60)
    assert sdk.batches.retrieve(stopped.id).status == "cancelled"


def test_uploads(sdk: openai.OpenAI) -> None:
    data = jsonl(*several(1))
    upload = sdk.uploads.create(bytes=len(data), filename="in.jsonl", mime_type="application/jsonl", purpose="batch")
    part = sdk.uploads.parts.create(upload.id, data=data)
    assert sdk.uploads.complete(upload.id, part_ids=[part.id]).file is not None
    other = sdk.uploads.create(bytes=1, filename="in.jsonl", mime_type="application/jsonl", purpose="batch")
    assert sdk.uploads.cancel(other.id).status == "cancelled"


def test_models(sdk: openai.OpenAI) -> None:
    assert {"m-chat", SLASHED} <= {model.id for model in sdk.models.list()}
    assert [sdk.models.retrieve(name).id for name in ("m-chat", SLASHED)] == ["m-chat", SLASHED]


def test_regular_calls(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(model="m-chat", messages=[{"role": "user", "content": "hi"}])
    assert answer.choices[0].message.content == "ECHO:hi"
    assert sdk.completions.create(model="m-text", prompt="hi").choices[0].text == "ECHO:hi"
    assert sdk.embeddings.create(model="m-embed", input=["a", "b"], encoding_format="float").data[1].index == 1


async def test_the_asynchronous_client(server: Hornada, base: str) -> None:
    url = f"http://127.0.0.1:{server.port}{base}"
    async with openai.AsyncOpenAI(base_url=url, api_key=KEY, _strict_response_validation=True) as sdk:
        file = await sdk.files.create(file=("in.jsonl", jsonl(*several(1))), purpose="batch")
        batch = await sdk.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        assert batch.id in [each.id async for each in sdk.batches.list(limit=100)]
        assert (await sdk.batches.with_raw_response.retrieve(batch.id)).headers["x-request-id"]


@pytest.mark.parametrize(
    ("kind", "code"), [(openai.NotFoundError, "batch_not_found"), (openai.AuthenticationError, "invalid_api_key")]
)
def test_errors_have_their_class_code_and_request_id(
    sdk: openai.OpenAI, kind: type[openai.APIStatusError], code: str
) -> None:
    stranger = sdk.with_options(api_key="sk-wrong") if kind is openai.AuthenticationError else sdk
    with pytest.raises(kind) as caught:
        stranger.batches.retrieve("batch_none")
    assert (caught.value.code, bool(caught.value.request_id)) == (code, True)
