"""Lists that come in pages."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from hornada.client.batch import Batch
from hornada.client.file import File
from hornada.client.wire import Wire

T = TypeVar("T", Batch, File)
_PAGE = 100


def listed(
    wire: Wire, noun: str, read: Callable[[Mapping[str, Any]], T], *, limit: int | None, **query: str | None
) -> Iterator[T]:
    """The objects of ``GET /noun``, each once, as the server orders them; ``limit`` None: all."""
    given, after, seen = 0, None, set[str]()
    while limit is None or given < limit:
        asked = _PAGE if limit is None else min(_PAGE, limit - given)
        page = wire.get(noun, limit=asked, after=after, **query)
        data = page.get("data")
        found = [read(each) for each in data if isinstance(each, dict)] if isinstance(data, list) else []
        fresh = [each for each in found if each.id not in seen]
        for each in fresh:
            if given == limit:
                return
            given += 1
            seen.add(each.id)
            yield each
        if not fresh or not page.get("has_more"):
            return
        after = found[-1].id
