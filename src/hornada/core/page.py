"""One page of a list under a total order, newest first unless said otherwise."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """``items`` in order; ``more`` when the list goes on behind the last."""

    items: tuple[T, ...]
    more: bool
