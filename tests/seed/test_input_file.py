"""The input file and its rules."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.seed.guide import ALIAS, CHAT, EMBED, ONCE, Guide, chat, jsonl, mark, vectors

Json = dict[str, Any]


def without(name: str) -> Json:
    line = chat("a", mark())
    del line[name]
    return line


def changed(line: Json, **more: Any) -> Json:
    return {**line, **more}


def test_in_10_a_malformed_line_fails_the_file(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark()), "{broken", chat("c", mark())))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("invalid_json_line", 2)]


@pytest.mark.parametrize(("name", "param"), [("custom_id", "custom_id"), ("body", "body")])
def test_in_11_a_line_carries_its_identifier_and_its_body(guide: Guide, name: str, param: str) -> None:
    ended = guide.run(jsonl(chat("first", mark()), without(name)))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("missing_required_parameter", 2)]
    assert ended.batch["errors"]["data"][0]["param"] == param


@pytest.mark.parametrize("name", ["method", "url"])
def test_in_11_method_and_path_may_be_left_out(guide: Guide, name: str) -> None:
    assert guide.run(jsonl(without(name))).batch["status"] == "completed"


def test_in_12_a_body_reaches_the_model_as_it_was_written(guide: Guide) -> None:
    text = mark() + " ¿Qué área firma este documento? 🎉"
    guide.backend.call("POST", "/__reset", b"")
    ended = guide.run(jsonl(chat("doc-2", text, max_tokens=64)))
    answer = ended.output[0]["response"]["body"]
    assert answer["choices"][0]["message"]["content"] == "ECHO:" + text
    raw = [seen["raw"] for seen in guide.backend.call("GET", "/__stats").json["log"] if seen["text"] == text]
    assert raw == [jsonl(chat("doc-2", text, max_tokens=64)["body"]).decode().strip()]


def test_in_13_chat_lines_name_chat_completions(guide: Guide) -> None:
    batch = guide.start(jsonl(chat("a", mark())), CHAT)
    assert batch["endpoint"] == "/v1/chat/completions"
    assert len(guide.end(batch).output) == 1


def test_in_14_vector_lines_take_a_list_of_strings(guide: Guide) -> None:
    ended = guide.run(jsonl(vectors("parrafo-1", ["primer párrafo", mark()])), EMBED)
    data = ended.output[0]["response"]["body"]["data"]
    assert [found["index"] for found in data] == [0, 1]


def test_in_15_lines_may_name_the_model_by_its_alias(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark(), model=ALIAS)))
    assert ended.batch["status"] == "completed"
    assert ended.output[0]["response"]["body"]["model"] == "m-chat"


def test_in_18_the_aliases_are_listed(guide: Guide) -> None:
    answer = guide.call("GET", "/models/aliases")
    assert answer.status == 200
    assert [(found["id"], found["alias"], found["model"]) for found in answer.json["data"]] == [
        (ALIAS, ALIAS, "m-chat")
    ]


def test_in_19_another_path_fails_the_file_with_url_mismatch(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark()), changed(chat("b", mark()), url=EMBED)))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("url_mismatch", 2)]


@pytest.mark.parametrize("name", ["m-other", "gpt-whatever"])
def test_in_20_another_model_fails_the_file_with_model_mismatch(guide: Guide, name: str) -> None:
    ended = guide.run(jsonl(chat("a", mark()), chat("b", mark(), model=name)))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("model_mismatch", 2)]


def test_in_20_a_model_and_its_alias_are_one(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark(), model=ALIAS), chat("b", mark(), model="m-chat")))
    assert ended.batch["status"] == "completed"


def test_in_21_failure_duplicate_custom_id(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark()), chat("b", mark()), chat("a", mark())))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("duplicate_custom_id", 3)]


def test_in_22_an_identifier_is_not_empty(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark()), chat("", mark())))
    assert ended.causes == [("invalid_request", 2)]
    assert ended.batch["errors"]["data"][0]["param"] == "custom_id"


def test_in_23_an_identifier_has_512_characters_at_most(guide: Guide) -> None:
    assert guide.run(jsonl(chat("ñ" * 512, mark()))).batch["status"] == "completed"
    ended = guide.run(jsonl(chat("ñ" * 513, mark())))
    assert (ended.batch["status"], ended.causes) == ("failed", [("invalid_request", 1)])


def test_in_24_each_result_belongs_to_its_identifier(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(*(chat(f"doc-{n}", f"{text} {n}") for n in range(30))))
    found = {row["custom_id"]: row["response"]["body"]["choices"][0]["message"]["content"] for row in ended.output}
    assert found == {f"doc-{n}": f"ECHO:{text} {n}" for n in range(30)}


def test_in_25_a_stream_fails_the_file_with_stream_not_supported(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark(), stream=False), chat("b", mark(), stream=True)))
    assert (ended.batch["status"], ended.causes) == ("failed", [("stream_not_supported", 2)])


@ONCE
def test_in_26_no_result_is_ever_a_stream(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark() + ' @@{"sse": true}')))
    assert (ended.batch["status"], ended.output) == ("completed", [])
    assert ended.error[0]["response"]["status_code"] == 502


@pytest.mark.parametrize(
    "spoil", [lambda body: body.pop("messages"), lambda body: body.update(messages="hi")], ids=["absent", "a string"]
)
def test_in_27_a_body_is_validated_as_the_regular_call_is(guide: Guide, spoil: Callable[[Json], object]) -> None:
    line = chat("a", mark())
    spoil(line["body"])
    ended = guide.run(jsonl(line, chat("b", mark())))
    called = guide.call("POST", "/chat/completions", line["body"])
    response = ended.error[0]["response"]
    assert (response["status_code"], ended.error[0]["error"]) == (called.status, None) == (400, None)
    told, seen = response["body"]["error"], called.json["error"]
    assert [told[name] for name in ("message", "type", "param", "code")] == [
        seen[name] for name in ("message", "type", "param", "code")
    ]
