"""What a call costs."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornada.core.batch import Usage
from hornada.core.catalog import Price
from hornada.core.money import amount

tokens = st.integers(0, 10**12)
prices = st.integers(0, 10**9)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(), 0),
        (Usage(1, 0, 0, 0), 1),
        (Usage(1_000_000, 0, 0, 0), 150_000),
        (Usage(1_000_000, 1_000_000, 0, 0), 75_000),
        (Usage(0, 0, 1_000_000, 1_000_000), 600_000),
        (Usage(7, 3, 5, 0), 4),
    ],
)
def test_a_call_costs_its_tokens_rounded_up_to_a_whole_unit(usage: Usage, cost: int) -> None:
    assert amount(Price(input=150_000, cached_input=75_000, output=600_000), usage) == cost


def test_cached_input_costs_what_input_costs_unless_it_has_a_price() -> None:
    assert amount(Price(input=10, output=0), Usage(10**6, 10**6, 0, 0)) == 10
    assert amount(Price(input=10, cached_input=0, output=0), Usage(10**6, 10**6, 0, 0)) == 0


@given(st.tuples(tokens, st.integers(0, 100), tokens), prices, prices, prices)
def test_no_part_of_a_unit_is_ever_lost(
    used: tuple[int, int, int], price_in: int, price_cached: int, price_out: int
) -> None:
    tokens_in, share, tokens_out = used
    cached = tokens_in * share // 100
    exact = Fraction((tokens_in - cached) * price_in + cached * price_cached + tokens_out * price_out, 10**6)
    price = Price(input=price_in, cached_input=price_cached, output=price_out)
    assert amount(price, Usage(tokens_in, cached, tokens_out, 0)) == ceil(exact)
