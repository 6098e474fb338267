"""What an S3-compatible store says when it fails, as our errors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError

from hornada.core.errors import Broken, Unavailable

_CODE = re.compile(r"<Code>(\w+)</Code>")
_NOT_FOUND = {"NoSuchKey", None}
_LONGEST = 200


@contextmanager
def storing(key: str) -> Iterator[None]:
    """Turns what the store says while ``key`` is written or removed into Unavailable."""
    try:
        yield
    except (BaseError, OSError) as error:
        raise Unavailable(f"cannot store {key}: {reason(error)}") from error


@contextmanager
def reading(key: str) -> Iterator[None]:
    """The same while ``key`` is read; a missing one is Broken."""
    try:
        yield
    except FileNotFoundError as error:
        if code(error) not in _NOT_FOUND:  # the bucket is missing
            raise Unavailable(f"cannot read {key}: {reason(error)}") from error
        raise Broken(f"{key} is missing") from error
    except (BaseError, OSError) as error:
        raise Unavailable(f"cannot read {key}: {reason(error)}") from error


def code(error: Exception) -> str | None:
    """The S3 error code in an answer, such as ``SlowDown``; None when there was no answer or it has none."""
    found = _CODE.search(str(error))
    return found[1] if found else None


def reason(error: Exception) -> str:
    """Why, in a word that an operator can act on: the S3 code, or what went wrong on the way to the store."""
    text = str(error).partition("\n")[0]
    said = text.rpartition(" - ")[2]
    return f"the object store answered {code(error)}" if code(error) else f"the object store: {said[:_LONGEST]}"
