"""The query of a list: which page (OpenAI's), and what narrows the list (ours)."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from hornada.api.fields import choice, number, pairs, within
from hornada.core.batch import BatchFilter, Status
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.core.page import Period

BATCH_LIMIT, BATCH_DEFAULT = 100, 20
FILE_LIMIT = FILE_DEFAULT = 10_000

_LAST_SECOND = 253_402_300_799
"""The end of the year 9999."""


class BatchPage(Struct, frozen=True, kw_only=True):
    """Batches, newest first always; ``after`` is the spelled id of the last item of the page before, as received."""

    limit: int
    after: str | None
    only: BatchFilter


class FilePage(Struct, frozen=True, kw_only=True):
    """Files; ``purpose`` as received."""

    limit: int
    after: str | None
    newest_first: bool
    purpose: str | None
    created: Period


def batch_page(query: Mapping[str, str], word: Callable[[Status], str]) -> BatchPage:
    """A page of batches; ``word`` spells a status. Raises Refusal."""
    return BatchPage(
        limit=_limit(query, BATCH_LIMIT, BATCH_DEFAULT),
        after=query.get("after") or None,
        only=BatchFilter(statuses=_statuses(query, word), metadata=_metadata(query), created=_created(query)),
    )


def file_page(query: Mapping[str, str]) -> FilePage:
    """A page of files; raises Refusal."""
    return FilePage(
        limit=_limit(query, FILE_LIMIT, FILE_DEFAULT),
        after=query.get("after") or None,
        newest_first=choice(query.get("order") or "desc", "order", ("asc", "desc")) == "desc",
        purpose=query.get("purpose") or None,
        created=_created(query),
    )


def _limit(query: Mapping[str, str], most: int, default: int) -> int:
    given = query.get("limit")
    return within(number(given, "limit"), "limit", 1, most) if given else default


def _statuses(query: Mapping[str, str], word: Callable[[Status], str]) -> frozenset[Status] | None:
    """``status=failed,expired``: every status that shows as one of the words."""
    if "status" not in query:
        return None
    known = tuple(dict.fromkeys(word(status) for status in Status))
    wanted = {choice(given.strip(), "status", known) for given in query["status"].split(",")}
    return frozenset(status for status in Status if word(status) in wanted)


def _metadata(query: Mapping[str, str]) -> dict[str, str]:
    """``metadata[key]=value``, as often as there are pairs to match."""
    found = {}
    for name, value in query.items():
        if name.startswith("metadata"):
            if not (name.startswith("metadata[") and name.endswith("]")):
                message = f"Unknown query parameter '{name[:100]}'. Metadata is asked for as metadata[key]=value."
                raise Refusal(Code.INVALID_VALUE, message, "metadata")
            found[name[len("metadata[") : -1]] = value
    return pairs(found, "metadata")


def _created(query: Mapping[str, str]) -> Period:
    """``created_after`` and ``created_before`` in whole seconds, as objects show them, neither of them included."""
    after, before = (_second(query, name) for name in ("created_after", "created_before"))
    since = None if after is None else (after + 1) * SECOND
    return Period(since=since, until=None if before is None else before * SECOND)


def _second(query: Mapping[str, str], name: str) -> int | None:
    given = query.get(name)
    return None if given is None else within(number(given, name), name, 0, _LAST_SECOND)
