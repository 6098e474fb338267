"""What a call costs."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornada.core.answer import MAX_TOKENS
from hornada.core.batch import Usage
from hornada.core.catalog import MOST_PRICE, Price
from hornada.core.money import MOST_AMOUNT, Charge, amount, charge, charge_stream

CHAT, EMBED = "/v1/chat/completions", "/v1/embeddings"
ASKED = b'{"model":"m","messages":[{"role":"user","content":"12345678"}]}'
ANSWER = b'{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"abcde"}}]}'
PRICE = Price(input=1_000_000, output=10_000_000)

prices = st.integers(0, 10**9)
tokens = st.integers(0, 10**8)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    input_, output = draw(tokens), draw(tokens)
    return Usage(input_, draw(st.integers(0, input_)), output, draw(st.integers(0, output)))


@given(prices, st.none() | prices, prices, usages())
def test_a_call_costs_its_tokens_at_their_prices_rounded_up(
    in_: int, cached: int | None, out: int, used: Usage
) -> None:
    each_cached = in_ if cached is None else cached
    exact = Fraction((used.input - used.cached) * in_ + used.cached * each_cached + used.output * out, 10**6)
    found = amount(Price(input=in_, cached_input=cached, output=out), used)
    assert (type(found), found) == (int, ceil(exact))


@given(prices, prices, st.lists(usages(), max_size=20))
def test_calls_are_rounded_one_by_one_and_only_then_summed(in_: int, out: int, used: list[Usage]) -> None:
    price = Price(input=in_, output=out)
    whole = sum(used, Usage())
    summed = sum(amount(price, each) for each in used)
    assert amount(price, whole) <= summed <= amount(price, whole) + len(used)


@pytest.mark.parametrize(
    ("used", "cost"),
    [(Usage(), 0), (Usage(1), 1), (Usage(10, 10), 1), (Usage(10, 5), 1), (Usage(10, 5, 1), 2), (Usage(0, 0, 0, 0), 0)],
)
def test_cached_input_has_its_own_price(used: Usage, cost: int) -> None:
    assert amount(Price(input=100_000, cached_input=10_000, output=1_000_000), used) == cost


def test_no_call_costs_more_than_a_database_can_hold() -> None:
    assert amount(Price(input=10**24), Usage(1)) == MOST_AMOUNT == 10**15
    assert amount(Price(input=MOST_PRICE, output=MOST_PRICE), Usage(MAX_TOKENS, 0, MAX_TOKENS)) < MOST_AMOUNT


def charged(usage: Usage | None, *, odd: bool = False, missing: str = "estimate", endpoint: str = CHAT) -> Charge:
    return charge(PRICE, usage, odd=odd, missing=missing, endpoint=endpoint, asked=ASKED, answer=ANSWER)


def test_what_the_server_reports_is_charged_as_it_is() -> None:
    assert charged(Usage(3, 0, 2)) == Charge(Usage(3, 0, 2), 23, estimated=False)


def test_a_clamped_report_is_charged_and_marked() -> None:
    assert charged(Usage(3, 0, 2), odd=True) == Charge(Usage(3, 0, 2), 23, estimated=True)


def test_without_a_report_four_bytes_of_text_are_a_token_and_the_charge_is_marked() -> None:
    assert charged(None) == Charge(Usage(2, 0, 2), 22, estimated=True)


def test_without_a_report_only_the_input_of_embeddings_is_charged() -> None:
    assert charged(None, endpoint=EMBED) == Charge(Usage(2), 2, estimated=True)


def test_without_a_report_nothing_is_charged_where_the_setting_says_so() -> None:
    assert charged(None, missing="zero") == Charge(Usage(), 0, estimated=True)


def test_a_stream_without_a_report_is_charged_for_what_was_written() -> None:
    assert charge_stream(PRICE, None, odd=False, missing="estimate", asked=ASKED, written=9) == Charge(
        Usage(2, 0, 3), 32, estimated=True
    )
