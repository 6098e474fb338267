"""Conditions on the time at which a row was made."""

from hornada.core.page import Period
from hornada.store.database import Value


def within(period: Period) -> tuple[list[str], dict[str, Value]]:
    """Conditions on ``created_at``, with their parameters; none where the period has no end."""
    where, params = [], dict[str, Value]()
    if period.since is not None:
        where.append("created_at >= :since")
        params["since"] = period.since
    if period.until is not None:
        where.append("created_at < :until")
        params["until"] = period.until
    return where, params
