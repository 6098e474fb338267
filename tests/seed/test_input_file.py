"""The input file and its rules."""

import re
from typing import Any

import pytest

from tests.seed.guide import ALIAS, BASES, CHAT, EMBED, ONCE, TEXT, Guide, chat, jsonl, mark, vectors

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


@pytest.mark.parametrize("name", ["custom_id", "body"])
def test_in_11_a_line_carries_its_identifier_and_its_body(guide: Guide, name: str) -> None:
    ended = guide.run(jsonl(chat("first", mark()), without(name), changed(chat("b", mark()), **{name: 7})))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("missing_required_parameter", 2), ("invalid_request", 3)]
    for found in ended.batch["errors"]["data"]:
        assert (set(found), found["param"]) == ({"code", "line", "message", "param"}, name)
        assert name in found["message"]


@pytest.mark.parametrize("name", ["method", "url"])
def test_in_11_method_and_path_may_be_left_out(guide: Guide, name: str) -> None:
    assert guide.run(jsonl(without(name))).answered(1)


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
    inputs = ["primer párrafo", mark()]
    batch = guide.start(jsonl(vectors("parrafo-1", inputs)), EMBED)
    assert batch["endpoint"] == "/v1/embeddings"
    ended = guide.end(batch)
    assert ended.answered(1)
    data = ended.output[0]["response"]["body"]["data"]
    called = guide.call("POST", "/embeddings", vectors("x", inputs)["body"]).json["data"]
    assert [(found["index"], found["embedding"]) for found in data] == [
        (index, found["embedding"]) for index, found in enumerate(called)
    ]
    assert data[0]["embedding"] != data[1]["embedding"]


def test_in_15_lines_may_name_the_model_by_its_alias(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark(), model=ALIAS)))
    assert ended.answered(1)
    assert ended.output[0]["response"]["body"]["model"] == "m-chat"


@pytest.mark.parametrize("base", [*BASES, "/openai/v1"])
def test_in_18_the_aliases_are_listed(guide: Guide) -> None:
    answer = guide.call("GET", "/models/aliases")
    row = {"id": ALIAS, "object": "alias", "alias": ALIAS, "name": "m-chat", "model": "m-chat"}
    assert (answer.status, answer.json) == (200, {"object": "list", "data": [row]})


def test_in_19_another_path_fails_the_file_with_url_mismatch(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark()), changed(chat("b", mark()), url=EMBED)))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("url_mismatch", 2)]
    assert ended.batch["errors"]["data"][0]["param"] == "url"
    others = ["/V1/chat/completions", CHAT + "/", "chat/completions", f"http://x{CHAT}", ""]
    ended = guide.run(jsonl(*(changed(chat(f"{n}", mark()), url=url) for n, url in enumerate(others))))
    assert ended.causes == [("url_mismatch", line) for line in range(1, 6)]
    ended = guide.end(guide.start(jsonl(chat("a", mark()), chat("b", mark())), EMBED))
    assert ended.causes[:1] == [("url_mismatch", 1)]
    assert ("url_mismatch", 2) in ended.causes


@pytest.mark.parametrize("name", ["m-other", "gpt-whatever"])
def test_in_20_another_model_fails_the_file_with_model_mismatch(guide: Guide, name: str) -> None:
    ended = guide.run(jsonl(chat("a", mark()), chat("b", mark(), model=name)))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("model_mismatch", 2)]


def test_in_20_a_model_and_its_alias_are_one(guide: Guide) -> None:
    assert guide.run(jsonl(chat("a", mark(), model=ALIAS), chat("b", mark(), model="m-chat"))).answered(2)


def test_in_21_failure_duplicate_custom_id(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark()), chat("b", mark()), chat("a", mark()), chat("a", mark())))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [("duplicate_custom_id", 3), ("duplicate_custom_id", 4)]
    assert "'a'" in ended.batch["errors"]["data"][0]["message"]
    assert guide.run(jsonl(chat("a", mark()), chat("A", mark()), chat("a ", mark()))).answered(3)


def test_in_22_an_identifier_is_not_empty(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark()), chat("", mark())))
    assert (ended.batch["status"], ended.causes) == ("failed", [("invalid_request", 2)])
    assert ended.batch["errors"]["data"][0]["param"] == "custom_id"


@pytest.mark.parametrize("letter", ["x", "ñ", "🎉"])
def test_in_23_an_identifier_has_512_characters_at_most(guide: Guide, letter: str) -> None:
    ended = guide.run(jsonl(chat(letter * 512, mark())))
    assert ended.answered(1)
    assert ended.output[0]["custom_id"] == letter * 512
    ended = guide.run(jsonl(chat(letter * 513, mark())))
    assert (ended.batch["status"], ended.causes) == ("failed", [("invalid_request", 1)])
    (found,) = ended.batch["errors"]["data"]
    assert found["param"] == "custom_id"
    assert {"512", "513"} <= set(re.findall(r"\d+", found["message"]))


def test_in_24_each_result_belongs_to_its_identifier(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(*(chat(f"doc-{n}", f"{text} {n}") for n in range(30))))
    found = {row["custom_id"]: row["response"]["body"]["choices"][0]["message"]["content"] for row in ended.output}
    assert found == {f"doc-{n}": f"ECHO:{text} {n}" for n in range(30)}


def test_in_25_a_stream_fails_the_file_with_stream_not_supported(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark(), stream=False), chat("b", mark(), stream=True)))
    assert (ended.batch["status"], ended.causes) == ("failed", [("stream_not_supported", 2)])
    assert ended.batch["errors"]["data"][0]["param"] == "body.stream"
    assert guide.run(jsonl(chat("a", mark(), stream=False))).answered(1)


@ONCE
def test_in_26_no_result_is_ever_a_stream(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark() + ' @@{"sse": true}')))
    assert (ended.batch["status"], ended.output) == ("completed", [])
    assert ended.error[0]["response"]["status_code"] == 502
    assert ended.error[0]["response"]["body"]["error"]["code"] == "upstream_error"


@pytest.mark.parametrize("value", [None, "hi", []], ids=["absent", "a string", "an empty list"])
@pytest.mark.parametrize(
    ("endpoint", "model", "field"),
    [(CHAT, "m-chat", "messages"), (TEXT, "m-text", "prompt"), (EMBED, "m-embed", "input")],
    ids=["chat", "text", "vectors"],
)
def test_in_27_a_body_is_validated_as_the_regular_call_is(
    guide: Guide, endpoint: str, model: str, field: str, value: object
) -> None:
    body = {"model": model, "user": mark(), **({} if value is None else {field: value})}
    ended = guide.run(jsonl({"custom_id": "a", "method": "POST", "url": endpoint, "body": body}), endpoint)
    called = guide.call("POST", endpoint.removeprefix("/v1"), body)
    assert ended.batch["status"] == "completed"
    (row,) = [*ended.output, *ended.error]
    assert (row["response"]["status_code"], row["error"]) == (called.status, None)
    if value is None:
        assert called.status == 400
        assert called.json["error"]["param"] == field
    if called.status != 200:
        told, seen = row["response"]["body"]["error"], called.json["error"]
        for name in ("message", "type", "param", "code"):
            assert told[name] == seen[name]
