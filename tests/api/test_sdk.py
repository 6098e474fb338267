"""The official SDK in its strict mode, which refuses every answer that is not exactly OpenAI's."""

from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest

from tests.api.site import CHAT, KEY, LINE, Site, open_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture(params=["/v1", "/infernode/v1", "/strict/v1"])
def sdk(request: pytest.FixtureRequest, site: Site) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=KEY,
        base_url="http://hornada" + request.param,
        http_client=site.client,
        max_retries=0,
        _strict_response_validation=True,
    )


async def test_files_and_batches_pass_validation(sdk: openai.AsyncOpenAI) -> None:
    file = await sdk.files.create(file=("in.jsonl", LINE), purpose="batch")
    assert (await sdk.files.wait_for_processing(file.id)).status == "processed"
    batch = await sdk.batches.create(
        input_file_id=file.id, endpoint=CHAT, completion_window="24h", metadata={"suite": "strict"}
    )
    assert (await sdk.batches.retrieve(batch.id)).status == "validating"
    assert (await sdk.batches.cancel(batch.id)).status == "cancelling"
    assert (await sdk.files.content(file.id)).content == LINE


async def test_lists_are_walked_to_their_end(sdk: openai.AsyncOpenAI) -> None:
    files = [await sdk.files.create(file=("in.jsonl", LINE * number), purpose="batch") for number in (1, 2, 3)]
    batches = [
        await sdk.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h") for file in files
    ]
    assert {batch.id async for batch in sdk.batches.list(limit=1)} == {batch.id for batch in batches}
    assert {file.id async for file in sdk.files.list(limit=2)} == {file.id for file in files}
    assert [model.id async for model in sdk.models.list()] == ["m-chat", "org/m embed:v1"]
    assert (await sdk.models.retrieve("org/m embed:v1")).id == "org/m embed:v1"


async def test_errors_raise_the_class_of_their_status_with_code_and_param(sdk: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        await sdk.batches.retrieve("batch_none")
    assert missing.value.code == "batch_not_found"
    assert missing.value.request_id
    with pytest.raises(openai.BadRequestError) as wrong:
        await sdk.batches.create(input_file_id="file-x", endpoint=CHAT, completion_window="1h")  # type: ignore[arg-type]
    assert (wrong.value.code, wrong.value.param) == ("invalid_value", "completion_window")
    with pytest.raises(openai.AuthenticationError):
        await sdk.with_options(api_key="sk-wrong").models.list()
