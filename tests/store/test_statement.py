"""One text, two databases."""

import pytest

from hornada.store.statement import for_postgres, for_sqlite


def test_postgres_numbers_parameters_by_their_first_appearance() -> None:
    statement = for_postgres("SELECT :b, :a, :b")
    assert statement.text == "SELECT $1, $2, $1"
    assert statement.names == ("b", "a")


def test_a_colon_in_a_text_a_name_or_a_comment_is_no_parameter() -> None:
    sql = """SELECT 'it''s :a', "odd:b" -- :c {now}\n, x::bigint"""
    assert for_postgres(sql) == (sql, ())


def test_postgres_tells_the_time_itself() -> None:
    statement = for_postgres("SELECT {now} + :ttl")
    assert "clock_timestamp()" in statement.text
    assert statement.names == ("ttl",)
    assert not statement.asks_time


def test_a_clock_of_ones_own_is_bound() -> None:
    assert for_postgres("SELECT {now}", bound_time=True).asks_time
    assert for_sqlite("SELECT {now}").asks_time
    assert not for_sqlite("SELECT '{now}'").asks_time


def test_locks_are_words_that_sqlite_does_not_need() -> None:
    assert for_postgres("SELECT 1 {skip_locked}").text == "SELECT 1 FOR UPDATE SKIP LOCKED"
    assert for_postgres("SELECT 1 {for_update}").text == "SELECT 1 FOR UPDATE"
    assert for_sqlite("SELECT 1 {skip_locked}{for_update}").text == "SELECT 1 "


def test_an_unknown_word_is_a_mistake() -> None:
    with pytest.raises(KeyError, match="nwo"):
        for_sqlite("SELECT {nwo}")
