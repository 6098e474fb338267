"""How the value of one setting is read: each kind says in words what it takes."""

import json
import re
from collections.abc import Callable, Iterable
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

MOST = 1 << 53
"""The largest whole number that a setting may have: every JSON reader holds it exactly, and every database."""

MOST_SECONDS = 10**9
"""The longest time that a setting may have, 31 years: a moment so far away can still be written down."""

NAME_LENGTH = 256
"""Characters of the longest name of a model or an alias."""

TAKEN = frozenset({"aliases", "capacity", ".", ".."})
"""What no model and no alias may be called: ``GET /models/{id}`` could not reach it, for there these are paths."""


class Kind(Struct, frozen=True):
    """``words`` complete "must be ..."; ``read`` raises ValueError on any other value.

    ``parse`` turns the text of an environment variable into what a file would hold; it raises ValueError too.
    """

    words: str
    read: Callable[[Any], Any]
    parse: Callable[[str], Any] = str

    def allows(self, value: object) -> bool:
        """Whether a value is of this kind."""
        try:
            self.read(value)
        except ValueError:
            return False
        return True


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _name(value: object) -> str:
    text = _text(value)
    if len(text) > NAME_LENGTH or not text.isprintable():
        raise ValueError
    return text


def _model_name(value: object) -> str:
    text = _name(value)
    if text in TAKEN:
        raise ValueError
    return text


def _secret(value: object) -> str:
    if not isinstance(value, str) or not _VISIBLE.match(value):
        raise ValueError
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError  # noqa: TRY004 - one kind of failure for every wrong value
    return value


def _parse_flag(text: str) -> bool:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.strip().lower()]


def _parse_number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def whole(least: int, most: int = MOST) -> Kind:
    """A whole number in a range, both ends included."""

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError  # noqa: TRY004 - one kind of failure for every wrong value
        if not least <= value <= most:
            raise ValueError
        return value

    return Kind(f"a whole number from {least} to {most}", read, _parse_number)


def seconds(least: float) -> Kind:
    """A number of seconds, fractions allowed."""

    def read(value: object) -> int | float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= MOST_SECONDS:
            raise ValueError
        return value

    return Kind(f"a number of seconds from {least:g} to {MOST_SECONDS}", read, _parse_number)


def share(most: float) -> Kind:
    """A part of something, 0.05 for 5 %."""

    def read(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
            raise ValueError
        return float(value)

    return Kind(f"a number from 0 to {most:g}", read, _parse_number)


def one_of(names: Iterable[str]) -> Kind:
    """One of a few words."""
    known = tuple(names)

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError
        return value

    return Kind("one of " + ", ".join(f'"{name}"' for name in known), read)


def list_of(kind: Kind, what: str) -> Kind:
    """A list without repetition; in the environment separated by commas or spaces."""

    def read(value: object) -> tuple[Any, ...]:
        entries = [value] if isinstance(value, str) else value
        if not isinstance(entries, list) or not entries:
            raise ValueError
        return tuple(dict.fromkeys(kind.read(entry) for entry in entries))

    return Kind(f"a list of {what}, each {kind.words}", read, lambda text: text.replace(",", " ").split())


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _url(value: object) -> str:
    text = _text(value).strip()
    if urlsplit(text).scheme not in {"http", "https"} or not _has_host(text):
        raise ValueError
    return text.rstrip("/")


def _origin(value: object) -> str:
    text = _text(value).strip()
    parts = urlsplit(text)
    if text != "*" and not (_has_host(text) and text.lower() == f"{parts.scheme}://{parts.netloc}".lower()):
        raise ValueError
    return text.lower()


def _network(value: object) -> str:
    return str(ip_network(_text(value).strip()))


def _database(value: object) -> str:
    text = _text(value)
    if text.startswith("sqlite:///") and text != "sqlite:///":
        return text
    if urlsplit(text).scheme in {"postgresql", "postgres"} and len(urlsplit(text).path) > 1:
        return text
    raise ValueError


def _blobs(value: object) -> str:
    text = _text(value)
    if text.startswith(("file://", "s3://")) and not text.endswith("://"):
        return text
    raise ValueError


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError  # noqa: TRY004 - one kind of failure for every wrong value
    return value


def _tables(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError  # noqa: TRY004 - one kind of failure for every wrong value
    return value


_VISIBLE = re.compile(r"[!-~]+\Z")
TEXT = Kind("a text that is not empty", _text)
NAME = Kind(f"a name of 1 to {NAME_LENGTH} printable characters", _name)
MODEL_NAME = Kind(f"{NAME.words} other than {', '.join(sorted(TAKEN))}", _model_name)
SECRET = Kind("a text of visible ASCII characters without spaces", _secret)
FLAG = Kind("true or false", _flag, _parse_flag)
URL = Kind('a URL with its scheme, such as "http://127.0.0.1:11434/v1"', _url)
URLS = list_of(URL, "URLs")
ORIGIN = Kind('an origin such as "https://app.example.com", or "*"', _origin)
ORIGINS = list_of(ORIGIN, "origins")
NETWORKS = list_of(Kind('a network such as "10.0.0.0/8"', _network), "networks")
DATABASE = Kind('"sqlite:///PATH" or "postgresql://USER@HOST/NAME"', _database)
BLOBS = Kind('"file://FOLDER" or "s3://BUCKET/PREFIX"', _blobs)
TABLE = Kind("a table", _table, json.loads)
TABLES = Kind("a list of tables", _tables, json.loads)
