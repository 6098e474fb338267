"""One page of a list under a total order, newest first unless said otherwise, and what narrows a list."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """``items`` in order; ``more`` when the list goes on behind the last."""

    items: tuple[T, ...]
    more: bool


class Period(Struct, frozen=True, kw_only=True):
    """A span of time in microseconds since 1970: from ``since`` on, before ``until``; None: without that end."""

    since: int | None = None
    until: int | None = None
