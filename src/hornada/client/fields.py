"""Fields of objects that servers spell in their own ways: a value of another kind, or a blank, is none."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def mapping(value: Any) -> Mapping[str, Any]:
    """An object; an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def whole(value: Any) -> int | None:
    """A whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Any) -> float | None:
    """A number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def moment(value: Any) -> float | None:
    """A time in seconds since 1970, from such a number or RFC 3339."""
    if isinstance(value, str) and value:
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and value else None
