"""Pages of a list under a total order, newest first: behind the (time, id) of the last item seen."""

from hornada.store.database import Value

Place = tuple[int, str]
"""Where an item stands: its time and its id."""


def behind(after: Place | None, column: str = "created_at") -> tuple[str, dict[str, Value]]:
    """`` AND …`` for what comes behind a place, with its parameters; nothing for the first page."""
    if after is None:
        return "", {}
    return f" AND ({column} < :at OR ({column} = :at AND id < :after))", {"at": after[0], "after": after[1]}
