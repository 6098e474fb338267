"""Tokens guessed from text."""

import json

import pytest

from hornada.core.estimate import answer_tokens, prompt_tokens

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}


@pytest.mark.parametrize(
    ("asked", "tokens"),
    [
        ({"prompt": "12345"}, 2),
        ({"prompt": ["1234", "1234"]}, 2),
        ({"prompt": [1, 2, 3]}, 3),
        ({"input": [[1, 2], [3]]}, 3),
        ({"input": "ñññ"}, 2),
        ({"query": "1234", "documents": ["12345678", {"text": "1234"}]}, 4),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "1234"}, PICTURE]}]}, 1),
        ({"messages": [{"role": "system", "content": "data: read this"}]}, 4),
        ({"instructions": "1234", "input": "1234", "temperature": 3, "stop": "12345678"}, 2),
        ({"model": "m"}, 0),
        ([1, 2], 0),
    ],
)
def test_the_text_of_a_prompt_is_counted_and_nothing_else(asked: object, tokens: int) -> None:
    assert prompt_tokens(json.dumps(asked, ensure_ascii=False).encode()) == tokens


@pytest.mark.parametrize(
    ("endpoint", "answer", "tokens"),
    [
        ("/v1/completions", {"id": "cmpl-1", "choices": [{"text": "12345678", "finish_reason": "stop"}]}, 2),
        ("/v1/responses", {"output": [{"type": "message", "content": [{"type": "output_text", "text": "1234"}]}]}, 1),
        ("/v1/embeddings", {"data": [{"embedding": [0.5] * 100}]}, 0),
        ("/v1/rerank", {"results": [{"document": "12345678"}]}, 0),
    ],
)
def test_the_text_of_an_answer_is_counted_where_it_is_text(endpoint: str, answer: object, tokens: int) -> None:
    assert answer_tokens(endpoint, json.dumps(answer).encode()) == tokens


def test_a_body_that_cannot_be_read_counts_by_its_bytes() -> None:
    assert prompt_tokens(b"{2345678") == 2
