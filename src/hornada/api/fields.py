"""Checks of single values with OpenAI's codes and words (openai-python and users match on both)."""

import re
from collections.abc import Sequence
from typing import Any

from hornada.core.errors import Code, Refusal

PAIRS = 16
KEY_LENGTH = 64
VALUE_LENGTH = 512

_WHOLE = re.compile(r"-?[0-9]+\Z", re.ASCII)


def required(body: dict[str, Any], name: str) -> Any:
    """The value of a field that must be there."""
    if name not in body:
        raise missing(name)
    return body[name]


def missing(name: str) -> Refusal:
    """A field that is not there."""
    return Refusal(Code.MISSING_REQUIRED_PARAMETER, f"Missing required parameter: '{name}'.", name)


def text(value: object, name: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise wrong_type(name, "a string", value)
    return value


def whole(value: object, name: str) -> int:
    """An integer; neither a boolean nor 1.0."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(name, "an integer", value)
    return value


def mapping(value: object, name: str) -> dict[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise wrong_type(name, "an object", value)
    return value


def choice(value: str, name: str, allowed: Sequence[str]) -> str:
    """One of the words that are allowed."""
    if value not in allowed:
        listed = ", ".join(f"'{word}'" for word in allowed)
        shown = value if len(value) <= 100 else value[:100] + "…"
        raise Refusal(Code.INVALID_VALUE, f"Invalid value: '{shown}'. Supported values are: {listed}.", name)
    return value


def within(value: int, name: str, least: int, most: int) -> int:
    """An integer between two bounds, both included."""
    if value > most:
        bound = f"integer above maximum value. Expected a value <= {most}, but got {_shown(value)} instead."
        raise Refusal(Code.INTEGER_ABOVE_MAX_VALUE, f"Invalid '{name}': {bound}", name)
    if value < least:
        bound = f"integer below minimum value. Expected a value >= {least}, but got {_shown(value)} instead."
        raise Refusal(Code.INTEGER_BELOW_MIN_VALUE, f"Invalid '{name}': {bound}", name)
    return value


def number(value: str, name: str) -> int:
    """A whole number spelled in a query."""
    if not _WHOLE.match(value):
        raise wrong_type(name, "an integer", value)
    sign, digits = ("-", value[1:]) if value.startswith("-") else ("", value)
    return int(sign + (digits.lstrip("0")[:19] or "0"))


def at_most(value: str, name: str, most: int) -> str:
    """A string of at most so many code points."""
    if len(value) > most:
        bound = f"Expected a string with maximum length {most}, but got a string with length {len(value)} instead."
        raise Refusal(Code.STRING_ABOVE_MAX_LENGTH, f"Invalid '{name}': string too long. {bound}", name)
    return value


def pairs(value: dict[str, Any], name: str) -> dict[str, str]:
    """Metadata: at most 16 pairs of strings, keys of at most 64 code points, values of at most 512."""
    if len(value) > PAIRS:
        bound = f"Expected an object with at most {PAIRS} properties, but got an object with {len(value)} properties"
        message = f"Invalid '{name}': too many properties. {bound} instead."
        raise Refusal(Code.OBJECT_ABOVE_MAX_PROPERTIES, message, name)
    for key in value:
        if len(key) > KEY_LENGTH:
            bound = f"Expected a string with maximum length {KEY_LENGTH}, but got a string with length {len(key)}"
            message = f"Invalid property name in '{name}': '{key[:KEY_LENGTH]}…' is too long. {bound} instead."
            raise Refusal(Code.PROPERTY_NAME_ABOVE_MAX_LENGTH, message, name)
    names = {key: f"{name}.{key}" for key in value}
    return {key: at_most(text(pair, names[key]), names[key], VALUE_LENGTH) for key, pair in value.items()}


def wrong_type(name: str, expected: str, value: object) -> Refusal:
    """A value of another type than the field's."""
    message = f"Invalid type for '{name}': expected {expected}, but got {_kind(value)} instead."
    return Refusal(Code.INVALID_TYPE, message, name)


def _kind(value: object) -> str:
    kinds = {bool: "a boolean", int: "an integer", float: "a decimal", str: "a string", list: "an array"}
    return "null" if value is None else kinds.get(type(value), "an object")


def _shown(value: int) -> str:
    return str(value) if -(10**18) < value < 10**18 else f"{'-' if value < 0 else ''}a number of over 18 digits"
