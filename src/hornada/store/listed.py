"""Lists of values in a statement: as many named parameters as there are values."""

from collections.abc import Collection

from hornada.store.database import Value

NOT_ENDED = "status IN ('validating', 'in_progress', 'finalizing', 'cancelling')"
"""``core.batch.LIVE`` as the predicates of indexes spell it, so that the planner knows them by it."""


def listed(prefix: str, values: Collection[str]) -> tuple[str, dict[str, Value]]:
    """``:p0, :p1`` to be pasted into ``IN (…)``, with the parameters of these names; ``values`` must not be empty."""
    params: dict[str, Value] = {f"{prefix}{i}": value for i, value in enumerate(values)}
    return ", ".join(f":{name}" for name in params), params
