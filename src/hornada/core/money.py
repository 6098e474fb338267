"""What a call costs, in integer micro-units, and what is charged where a server does not say."""

from typing import Literal

from msgspec import Struct

from hornada.core.batch import Usage
from hornada.core.catalog import Price
from hornada.core.estimate import answer_tokens, prompt_tokens, tokens

_MILLION = 1_000_000

MOST_AMOUNT = 10**15
"""The most that one call may cost, or one credit may give, in micro-units."""
MOST_CREDITED = 10**18
"""The most that all credits of an organization may give together."""

MissingUsage = Literal["estimate", "zero"]


class BillingRules(Struct, frozen=True, kw_only=True):
    """How an installation charges (``[billing]``).

    ``currency``: the name of a million micro-units. ``missing_usage``: what a call whose server reports no usage is
    charged for. ``ask_stream_usage``: ask the server to report usage at the end of a stream, though the client did not.
    ``entry_days``: for so many days each entry of the ledger is kept, 0 for ever; older ones are summed up by day.
    """

    currency: str = "USD"
    missing_usage: MissingUsage = "estimate"
    ask_stream_usage: bool = True
    entry_days: int = 35


def amount(price: Price, usage: Usage) -> int:
    """ceil(sum of tokens x price / 10^6) for one call; cached input has its own price where one is set.

    Never more than MOST_AMOUNT, whatever a server reports: amounts must fit the 63 bits of a database, sums too.
    """
    cached_price = price.input if price.cached_input is None else price.cached_input
    total = (usage.input - usage.cached) * price.input + usage.cached * cached_price + usage.output * price.output
    return min(-(-total // _MILLION), MOST_AMOUNT)


class Charge(Struct, frozen=True):
    """What one answered call used and costs. ``estimated``: the server's count was missing or clamped."""

    usage: Usage
    amount: int
    estimated: bool


def charge(
    price: Price, usage: Usage | None, *, odd: bool, missing: MissingUsage, endpoint: str, asked: bytes, answer: bytes
) -> Charge:
    """The charge of a whole answer, the same for a line and for a regular call.

    ``usage`` and ``odd`` are as ``core.answer.read_answer`` found them; ``asked`` and ``answer`` are both bodies.
    """
    if usage is None:
        odd, usage = True, Usage()
        if missing == "estimate":
            usage = Usage(input=prompt_tokens(asked), output=answer_tokens(endpoint, answer))
    return Charge(usage, amount(price, usage), odd)


def charge_stream(
    price: Price, usage: Usage | None, *, odd: bool, missing: MissingUsage, asked: bytes, written: int
) -> Charge:
    """The charge of a stream of which the client got ``written`` bytes of text, be it whole or given up."""
    if usage is None:
        odd, usage = True, Usage()
        if missing == "estimate":
            usage = Usage(input=prompt_tokens(asked), output=tokens(written))
    return Charge(usage, amount(price, usage), odd)
