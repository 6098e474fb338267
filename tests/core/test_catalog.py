"""What names stand for, and what is said of those that stand for nothing."""

from hornada.core.catalog import Catalog, Model, Server, no_such_model
from hornada.core.errors import Code
from hornada.core.strict import shown
from tests.core.lines import NAMES, body, check, line

SERVERS = (Server(url="http://h/v1"),)
CATALOG = Catalog(
    models={name: Model(name=name, servers=SERVERS) for name in ("m-a", "m-b")},
    aliases={"Turbo": "m-b", "Broken": "gone"},
)


def test_a_key_without_a_list_may_use_every_name_that_stands_for_something() -> None:
    assert CATALOG.usable(None) == ["m-a", "m-b", "Turbo"]


def test_a_keys_list_bounds_the_names_by_what_they_stand_for() -> None:
    assert CATALOG.usable(frozenset({"Turbo"})) == ["m-b", "Turbo"]
    assert CATALOG.usable(frozenset({"nobody"})) == []


def test_a_name_that_stands_for_nothing_is_told_with_those_that_do() -> None:
    assert no_such_model("x", ["a", "b"]) == (
        "The model 'x' does not exist or you do not have access to it. Models that this key may use: a, b."
    )


def test_a_long_catalog_is_not_listed_whole() -> None:
    told = no_such_model("x", [f"m{n}" for n in range(1512)])
    assert told.endswith("m8, m9 (and 1,502 more).")
    assert len(no_such_model("x" * 9999, ["n" * 9999] * 99)) < 1200
    assert shown("x" * 9999) in no_such_model("x" * 9999, [])


def test_a_key_that_may_use_nothing_is_told_so() -> None:
    assert no_such_model("x", []).endswith("There is no model that this key may use.")


def test_a_line_is_told_the_same_and_only_what_its_key_may_use() -> None:
    (finding,) = check(line("a", body=body(model="m-ghost"))).findings
    assert finding.code is Code.MODEL_NOT_FOUND
    assert finding.message == no_such_model("m-ghost", [n for n, named in NAMES.items() if named.allowed])
    assert "m-secret" not in finding.message
