"""``GET /batches/{id}/results``: a batch's results in input order, joined with what was asked."""

from collections.abc import Mapping

from hornada.api.call import Call
from hornada.api.fields import at_most, choice, number, within
from hornada.api.router import Parameter
from hornada.api.services import Services
from hornada.api.streaming import stream
from hornada.core.glance import CUSTOM_ID_LENGTH
from hornada.core.written import prefix_of
from hornada.engine.joining import Wanted

MOST_LINES = 1_000_000_000
_OK = {"all": None, "succeeded": True, "failed": False}
_MEDIA = b"application/jsonl; charset=utf-8"

QUERY = (
    Parameter(
        name="status",
        schema={"enum": [*_OK], "default": "all"},
        about="Only lines that were answered, or only those that were not.",
    ),
    Parameter(
        name="after",
        schema={"type": "integer", "minimum": 0, "maximum": MOST_LINES, "default": 0},
        about="Only lines behind this one: the `line` of the last one seen.",
    ),
    Parameter(
        name="limit",
        schema={"type": "integer", "minimum": 1, "maximum": MOST_LINES},
        about="The most lines; without it, all that there are.",
    ),
    Parameter(
        name="custom_id",
        schema={"type": "string", "maxLength": CUSTOM_ID_LENGTH},
        about="Only lines whose `custom_id` begins so.",
    ),
    Parameter(
        name="input",
        schema={"type": "boolean", "default": True},
        about="Whether each line has the body of its request as `input`; null once the input file is gone.",
    ),
    Parameter(
        name="format",
        schema={"enum": ["joined", "file"], "default": "joined"},
        about="`file`: the four keys of the result files and none of our own.",
    ),
)


class ResultCalls:
    """The results of a batch, of one that still runs those that there are by now."""

    def __init__(self, services: Services) -> None:
        self._joining = services.joining

    async def results(self, call: Call) -> None:
        """``GET /batches/{id}/results``."""
        asked = wanted(call.query())
        async with self._joining.open(call.principal, call.params["id"], asked) as pieces:
            await stream(call, _MEDIA, pieces)


def wanted(query: Mapping[str, str]) -> Wanted:
    """What is asked for; raises Refusal."""
    limit = query.get("limit")
    own = choice(query.get("format") or "joined", "format", ("joined", "file")) == "joined"
    prefix = at_most(query.get("custom_id", ""), "custom_id", CUSTOM_ID_LENGTH)
    asked = choice(query.get("input") or "true", "input", ("true", "false")) == "true"
    return Wanted(
        after=within(number(query.get("after") or "0", "after"), "after", 0, MOST_LINES),
        limit=within(number(limit, "limit"), "limit", 1, MOST_LINES) if limit else None,
        ok=_OK[choice(query.get("status") or "all", "status", tuple(_OK))],
        prefix=prefix_of(prefix) if prefix else b"",
        own=own,
        input=own and asked,
    )
