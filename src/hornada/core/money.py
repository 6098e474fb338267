"""What a call costs, in integer micro-units (contract 8)."""

from hornada.core.batch import Usage
from hornada.core.catalog import Price

_MILLION = 1_000_000


def amount(price: Price, usage: Usage) -> int:
    """ceil(sum of tokens x price / 10^6) for one call; cached input has its own price where one is set."""
    cached_price = price.input if price.cached_input is None else price.cached_input
    total = (usage.input - usage.cached) * price.input + usage.cached * cached_price + usage.output * price.output
    return -(-total // _MILLION)
