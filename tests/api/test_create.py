"""The body of POST /batches, against OpenAI's codes and words."""

from typing import Any

import pytest

from hornada.api.create import NewBatch, batchable, parse
from hornada.core.catalog import ENDPOINTS, Catalog, Model
from hornada.core.errors import Code, Refusal
from hornada.core.limits import DialectRules

CHAT, EMBED = "/v1/chat/completions", "/v1/embeddings"
GOOD: dict[str, Any] = {"input_file_id": "file-abc", "endpoint": CHAT, "completion_window": "24h"}
ANY = DialectRules(name="infernode", deduplicate=True)
TWO = DialectRules(name="novita", deduplicate=False, endpoints=frozenset({CHAT, "/v1/completions"}))


def refusal(body: dict[str, Any], header: str | None = None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse(body, (CHAT, EMBED), header)
    return caught.value


def test_three_fields_are_enough_and_unknown_ones_are_ignored() -> None:
    assert parse({**GOOD, "name": "x", "output_folder": {"url": "s3://"}}, (CHAT, EMBED), None) == NewBatch(
        input_file="file-abc",
        endpoint=CHAT,
        completion_window="24h",
        metadata=None,
        output_lifetime_s=None,
        idempotency_key=None,
    )


def test_null_is_no_value_where_a_field_is_optional() -> None:
    body = {**GOOD, "metadata": None, "output_expires_after": None, "idempotency_key": None}
    assert parse(body, (CHAT,), None) == parse(GOOD, (CHAT,), None)


@pytest.mark.parametrize("name", GOOD)
def test_a_missing_field_is_named(name: str) -> None:
    error = refusal({key: value for key, value in GOOD.items() if key != name})
    assert (error.code, error.param) == (Code.MISSING_REQUIRED_PARAMETER, name)
    assert error.message == f"Missing required parameter: '{name}'."


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "a boolean"),
        (5, "an integer"),
        (0.5, "a decimal"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_a_field_of_another_type_is_named_with_what_came(name: str, value: object, kind: str) -> None:
    error = refusal({**GOOD, name: value})
    assert (error.code, error.param) == (Code.INVALID_TYPE, name)
    assert error.message == f"Invalid type for '{name}': expected a string, but got {kind} instead."


@pytest.mark.parametrize("window", ["1h", "48h", "", "24H"])
def test_the_window_is_24h(window: str) -> None:
    error = refusal({**GOOD, "completion_window": window})
    assert (error.code, error.param) == (Code.INVALID_VALUE, "completion_window")
    assert error.message == f"Invalid value: '{window}'. Supported values are: '24h'."


@pytest.mark.parametrize("endpoint", ["/v1/images/generations", "", "/v1/chat/completions/", "/chat/completions"])
def test_an_endpoint_that_is_not_offered_is_refused_with_the_list(endpoint: str) -> None:
    error = refusal({**GOOD, "endpoint": endpoint})
    assert (error.code, error.param) == (Code.INVALID_VALUE, "endpoint")
    assert error.message.endswith("Supported values are: '/v1/chat/completions', '/v1/embeddings'.")


def test_sixteen_pairs_with_long_keys_and_values_are_taken() -> None:
    metadata = {f"{number:02}" + "k" * 62: "ñ" * 512 for number in range(16)}
    assert parse({**GOOD, "metadata": metadata}, (CHAT,), None).metadata == metadata


def test_seventeen_pairs_are_too_many() -> None:
    error = refusal({**GOOD, "metadata": {f"k{number}": "v" for number in range(17)}})
    assert (error.code, error.param) == (Code.OBJECT_ABOVE_MAX_PROPERTIES, "metadata")
    assert error.message == (
        "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, "
        "but got an object with 17 properties instead."
    )


def test_a_key_of_65_characters_is_too_long() -> None:
    error = refusal({**GOOD, "metadata": {"k" * 65: "v"}})
    assert (error.code, error.param) == (Code.PROPERTY_NAME_ABOVE_MAX_LENGTH, "metadata")


def test_a_value_of_513_characters_is_too_long() -> None:
    error = refusal({**GOOD, "metadata": {"note": "v" * 513}})
    assert (error.code, error.param) == (Code.STRING_ABOVE_MAX_LENGTH, "metadata.note")
    assert "maximum length 512, but got a string with length 513 instead" in error.message


def test_a_value_that_is_no_string_is_refused_in_openais_words() -> None:
    error = refusal({**GOOD, "metadata": {"tags": ["a"]}})
    assert (error.code, error.param) == (Code.INVALID_TYPE, "metadata.tags")
    assert error.message == "Invalid type for 'metadata.tags': expected a string, but got an array instead."


def test_metadata_must_be_an_object() -> None:
    assert refusal({**GOOD, "metadata": "x"}).message == (
        "Invalid type for 'metadata': expected an object, but got a string instead."
    )


@pytest.mark.parametrize("seconds", [3600, 2_592_000])
def test_results_live_from_an_hour_to_thirty_days(seconds: int) -> None:
    policy = {"anchor": "created_at", "seconds": seconds}
    assert parse({**GOOD, "output_expires_after": policy}, (CHAT,), None).output_lifetime_s == seconds


@pytest.mark.parametrize(
    ("policy", "code", "param"),
    [
        ("1h", Code.INVALID_TYPE, "output_expires_after"),
        ({"seconds": 3600}, Code.MISSING_REQUIRED_PARAMETER, "output_expires_after.anchor"),
        ({"anchor": "created_at"}, Code.MISSING_REQUIRED_PARAMETER, "output_expires_after.seconds"),
        ({"anchor": "now", "seconds": 3600}, Code.INVALID_VALUE, "output_expires_after.anchor"),
        ({"anchor": "created_at", "seconds": "3600"}, Code.INVALID_TYPE, "output_expires_after.seconds"),
        ({"anchor": "created_at", "seconds": True}, Code.INVALID_TYPE, "output_expires_after.seconds"),
        ({"anchor": "created_at", "seconds": 3599}, Code.INTEGER_BELOW_MIN_VALUE, "output_expires_after.seconds"),
        ({"anchor": "created_at", "seconds": 2592001}, Code.INTEGER_ABOVE_MAX_VALUE, "output_expires_after.seconds"),
        ({"anchor": "created_at", "seconds": 10**40}, Code.INTEGER_ABOVE_MAX_VALUE, "output_expires_after.seconds"),
    ],
)
def test_another_policy_for_results_is_refused(policy: object, code: Code, param: str) -> None:
    error = refusal({**GOOD, "output_expires_after": policy})
    assert (error.code, error.param) == (code, param)


def test_the_idempotency_key_comes_in_the_body_or_in_the_header_which_wins() -> None:
    body = {**GOOD, "idempotency_key": "body"}
    assert parse(body, (CHAT,), None).idempotency_key == "body"
    assert parse(body, (CHAT,), "header").idempotency_key == "header"


@pytest.mark.parametrize(
    ("key", "code"),
    [("k" * 256, Code.STRING_ABOVE_MAX_LENGTH), ("a\x00b", Code.INVALID_VALUE), (5, Code.INVALID_TYPE)],
)
def test_a_key_that_cannot_be_kept_is_refused(key: object, code: Code) -> None:
    error = refusal({**GOOD, "idempotency_key": key})
    assert (error.code, error.param) == (code, "idempotency_key")


def test_endpoints_are_those_that_a_model_offers_and_the_dialect_knows() -> None:
    models = {"e": Model(name="e", servers=(), endpoints=frozenset({EMBED, CHAT}))}
    catalog = Catalog(models=models, aliases={})
    assert batchable(catalog, ANY) == (CHAT, EMBED)
    assert batchable(catalog, TWO) == (CHAT,)


def test_while_no_model_is_known_every_endpoint_of_the_dialect_is_taken() -> None:
    empty = Catalog(models={}, aliases={})
    assert batchable(empty, ANY) == ENDPOINTS
    assert batchable(empty, TWO) == (CHAT, "/v1/completions")
