"""Sums of amounts that cannot overflow: both databases refuse a sum of more than 63 bits."""

MOST_ENTRY = 10**18
"""The most that one row holds; what is more is cut."""
MOST_SUM = 8 * 10**18
"""The most that a sum tells; the rest of 63 bits is left for what is added to it."""
_PART = 10**9


def summed(column: str) -> str:
    """SQL for the sum of a column of whole numbers from 0 to MOST_ENTRY: 0 of no rows, at most MOST_SUM.

    The upper and the lower digits are summed apart, for neither of which a billion rows are too many.
    """
    upper = f"coalesce(sum({column} / {_PART}), 0)"
    lower = f"coalesce(sum({column} % {_PART}), 0)"
    whole = f"{upper} * {_PART} + {lower}"
    return f"CAST(CASE WHEN {upper} >= {MOST_SUM // _PART} THEN {MOST_SUM} ELSE {whole} END AS BIGINT)"
