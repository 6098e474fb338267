"""How rows become requests."""

import json
from datetime import date
from typing import Any

import pytest

from hornada.core.recipe import BadRecipe, Recipe, column_prompt, fill, parameter


def made(recipe: Recipe, *rows: dict[str, Any], model: str | None = None) -> list[dict[str, Any]]:
    recipe.check(rows[0])
    return [json.loads(line) for line in recipe.requests(rows, model)]


def test_a_row_becomes_a_chat_with_its_values_in_the_prompt() -> None:
    recipe = Recipe(
        prompt="Translate {text} to {to}", system="Be {mood}.", model="m", params={"temperature": 0, "max_tokens": 9}
    )
    assert made(recipe, {"text": "Hola {to}", "to": "English", "mood": "brief"}) == [
        {
            "custom_id": "row-1",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {
                "model": "m",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "Translate Hola {to} to English"},
                ],
                "temperature": 0,
                "max_tokens": 9,
            },
        }
    ]


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        ("/v1/completions", {"prompt": "s\n\nhi"}),
        ("/v1/responses", {"input": "hi", "instructions": "s"}),
        ("/v1/embeddings", {"input": "s\n\nhi"}),
        ("/v1/moderations", {"input": "s\n\nhi"}),
    ],
)
def test_every_endpoint_has_its_own_body(endpoint: str, body: dict[str, str]) -> None:
    (line,) = made(Recipe(prompt="{t}", system="s", endpoint=endpoint), {"t": "hi"}, model="served")
    assert line["body"] == {"model": "served", **body}
    assert line["url"] == endpoint


def test_an_endpoint_that_takes_no_prompt_is_refused() -> None:
    with pytest.raises(BadRecipe, match="A prompt cannot be sent to /v1/rerank, only to /v1/chat/completions"):
        Recipe(prompt="{t}", endpoint="/v1/rerank").check(["t"])


def test_an_unknown_column_is_named_with_those_that_there_are_and_the_nearest() -> None:
    with pytest.raises(BadRecipe) as caught:
        Recipe(prompt="Say {txet}").check(["text", "lang"])
    assert str(caught.value) == (
        "The prompt asks for {txet}, but there is no column 'txet'. The columns are: text, lang. Did you mean 'text'?"
    )


def test_braces_that_are_text_are_doubled_and_the_message_says_so() -> None:
    with pytest.raises(BadRecipe, match=r"For braces that are text write \{\{ and \}\}."):
        Recipe(prompt='Answer as {"a": 1}').check(["text"])
    assert fill('Answer {{"a": 1}} for {text}', {"text": "x"}) == 'Answer {"a": 1} for x'


def test_a_column_may_have_any_name() -> None:
    recipe = Recipe(prompt=column_prompt("first name.x"), model="m")
    assert made(recipe, {"first name.x": "Ana"})[0]["body"]["messages"][0]["content"] == "Ana"


def test_values_are_said_as_people_write_them() -> None:
    row = {"n": 3, "f": 0.5, "none": None, "list": ["a", 1], "day": date(2026, 1, 2), "yes": True}
    assert fill("{n} {f} {none}| {list} {day} {yes}", row) == '3 0.5 | ["a",1] 2026-01-02 true'


def test_ids_come_from_a_column_and_none_may_be_empty() -> None:
    recipe = Recipe(prompt="{t}", model="m", id_column="id")
    assert [line["custom_id"] for line in made(recipe, {"t": "", "id": 7}, {"t": "", "id": "b"})] == ["7", "b"]
    with pytest.raises(BadRecipe, match=r"Row 2 has no id: its column 'id' is empty"):
        made(recipe, {"t": "", "id": 7}, {"t": "", "id": None})
    with pytest.raises(BadRecipe, match=r"no column 'id'. The columns are: t"):
        made(recipe, {"t": ""})


def test_recipes_are_told_apart_by_what_they_ask() -> None:
    one = Recipe(prompt="{t}", params={"a": 1, "b": 2})
    assert one.digest == Recipe(prompt="{t}", params={"b": 2, "a": 1}, model="other").digest
    others = [
        Recipe(prompt="{u}"),
        Recipe(prompt="{t}", system="s"),
        Recipe(prompt="{t}", params={"a": 1}),
        Recipe(prompt="{t}", id_column="t"),
    ]
    assert len({each.digest for each in [one, *others]}) == 5


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("temperature=0", ("temperature", 0)),
        ("stop=\\n", ("stop", "\\n")),
        ("user=a=b", ("user", "a=b")),
        ('response_format={"type": "json_object"}', ("response_format", {"type": "json_object"})),
        ("logprobs=true", ("logprobs", True)),
    ],
)
def test_a_parameter_is_json_or_text(text: str, read: tuple[str, Any]) -> None:
    assert parameter(text) == read


@pytest.mark.parametrize("text", ["temperature", "=1"])
def test_a_parameter_without_a_name_or_a_value_is_none(text: str) -> None:
    with pytest.raises(ValueError):
        parameter(text)
