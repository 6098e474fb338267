"""The query of a list: ``limit``, ``after``, ``order``, ``purpose`` (openai-contract 1.4)."""

from collections.abc import Mapping

from msgspec import Struct

from hornada.api.fields import choice, number, within

BATCH_LIMIT, BATCH_DEFAULT = 100, 20
FILE_LIMIT = FILE_DEFAULT = 10_000


class Wanted(Struct, frozen=True, kw_only=True):
    """Which page: ``after`` is the spelled id of the last item of the page before, as received."""

    limit: int
    after: str | None
    newest_first: bool = True
    purpose: str | None = None


def batch_page(query: Mapping[str, str]) -> Wanted:
    """A page of batches, newest first always; raises Refusal."""
    return Wanted(limit=_limit(query, BATCH_LIMIT, BATCH_DEFAULT), after=query.get("after") or None)


def file_page(query: Mapping[str, str]) -> Wanted:
    """A page of files; raises Refusal."""
    return Wanted(
        limit=_limit(query, FILE_LIMIT, FILE_DEFAULT),
        after=query.get("after") or None,
        newest_first=choice(query.get("order") or "desc", "order", ("asc", "desc")) == "desc",
        purpose=query.get("purpose") or None,
    )


def _limit(query: Mapping[str, str], most: int, default: int) -> int:
    given = query.get("limit")
    return within(number(given, "limit"), "limit", 1, most) if given else default
