"""Which server of a model takes the next call, and what becomes of one that does not answer."""

import logging

import pytest

from hornada.core.catalog import Model, Server
from hornada.engine.servers import Servers, Way, told
from hornada.engine.station import LONGEST_S, Outcome
from hornada.upstream import connect
from hornada.upstream.protocol import Answer, Failure, Fault, Timeouts
from tests.conftest import Hands

ONE, TWO = Server(url="http://one:1/v1"), Server(url="http://two:2/v1")
BOTH = Model(name="m", servers=(ONE, TWO))
WELL = Answer(200, {}, b"{}")
REFUSED = Failure(Fault.UNREACHABLE, "one:1 cannot be reached: Connection refused.")
BROKEN = Failure(Fault.RESET, "one:1 closed the connection before it answered.")


@pytest.fixture
def servers(clock: Hands) -> Servers:
    return Servers(connect, clock)


def answer(status: int) -> Answer:
    return Answer(status, {}, b"")


def ask(servers: Servers, outcome: Outcome, model: Model = BOTH) -> Server:
    """One call, ended; where it went."""
    way = servers.way(model)
    server = way.go().server
    way.heard(outcome)
    way.leave()
    return server


def ask_one(servers: Servers, *outcomes: Outcome) -> None:
    for outcome in outcomes:
        ask(servers, outcome, Model(name="m", servers=(ONE,)))


def went(servers: Servers, calls: int = 6) -> set[Server]:
    """Where calls go that are answered."""
    return {ask(servers, WELL) for _ in range(calls)}


def started(servers: Servers, model: Model = BOTH) -> tuple[Way, Server]:
    way = servers.way(model)
    return way, way.go().server


# --- shares -----


def test_the_server_with_the_fewest_calls_for_its_weight_is_next(servers: Servers) -> None:
    heavy = Server(url="http://heavy", weight=3)
    model = Model(name="m", servers=(ONE, heavy))
    calls = [started(servers, model) for _ in range(8)]
    assert [server for _, server in calls].count(heavy) == 6
    for way, server in calls:
        if server == ONE:
            way.leave()
    assert started(servers, model)[1] == ONE


def test_servers_that_are_equally_free_take_turns(servers: Servers) -> None:
    assert [ask(servers, WELL) for _ in range(4)] == [ONE, TWO, ONE, TWO]


def test_weights_hold_among_those_in_use(servers: Servers) -> None:
    third = Server(url="http://three:3/v1", weight=3)
    model = Model(name="m", servers=(ONE, TWO, third))
    ask_one(servers, REFUSED)
    calls = [started(servers, model)[1] for _ in range(8)]
    assert (calls.count(ONE), calls.count(TWO), calls.count(third)) == (0, 2, 6)


# --- out of use -----


def test_a_server_that_cannot_be_reached_is_out_at_once(servers: Servers) -> None:
    ask_one(servers, REFUSED)
    assert went(servers) == {TWO}
    assert servers.health(BOTH) == {"one:1": False, "two:2": True}


@pytest.mark.parametrize(
    "outcome",
    [BROKEN, Failure(Fault.TIMEOUT, "late"), Failure(Fault.GARBLED, "?"), answer(502), answer(503), answer(504)],
)
def test_three_failures_in_a_row_put_a_server_out(servers: Servers, outcome: Outcome) -> None:
    ask_one(servers, outcome, outcome)
    assert went(servers) == {ONE, TWO}
    ask_one(servers, outcome, outcome, outcome)
    assert went(servers) == {TWO}


def test_an_answer_between_starts_the_count_anew(servers: Servers) -> None:
    ask_one(servers, BROKEN, BROKEN, WELL, BROKEN, BROKEN)
    assert servers.health(BOTH)["one:1"]
    ask_one(servers, BROKEN)
    assert not servers.health(BOTH)["one:1"]


@pytest.mark.parametrize("outcome", [answer(400), answer(429), answer(500), Failure(Fault.TOO_LARGE, "much")])
def test_what_says_nothing_against_a_server_leaves_it_in_use(servers: Servers, outcome: Outcome) -> None:
    ask_one(servers, *[outcome] * 5)
    assert servers.health(BOTH)["one:1"]


def test_it_is_told_once_with_the_cause_and_once_when_it_is_back(
    servers: Servers, clock: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "hornada"):
        ask_one(servers, REFUSED, REFUSED, REFUSED)
        clock.advance(1)
        ask_one(servers, REFUSED)
        clock.advance(2)
        ask_one(servers, WELL, WELL)
    assert caplog.messages == [f"model server out of use: {REFUSED.message}", "model server one:1 answers again"]


def test_one_call_at_a_time_probes_and_the_others_go_elsewhere(servers: Servers, clock: Hands) -> None:
    ask_one(servers, REFUSED)
    clock.advance(1)
    probe, server = started(servers)
    assert server == ONE
    assert went(servers) == {TWO}
    probe.heard(WELL)
    probe.leave()
    assert went(servers) == {ONE, TWO}


def test_a_probe_that_says_nothing_is_followed_by_another(servers: Servers, clock: Hands) -> None:
    ask_one(servers, REFUSED)
    clock.advance(1)
    probe, _ = started(servers)
    probe.leave()
    assert started(servers)[1] == ONE


def test_each_probe_that_fails_doubles_the_time_up_to_half_a_minute(servers: Servers, clock: Hands) -> None:
    ask_one(servers, REFUSED)
    for seconds in (1, 2, 4, 8, 16, LONGEST_S, LONGEST_S):
        clock.advance(seconds - 0.01)
        assert went(servers) == {TWO}
        clock.advance(0.01)
        assert ask(servers, REFUSED) == ONE
    clock.advance(LONGEST_S)
    assert went(servers) == {ONE, TWO}, "it is back"
    ask_one(servers, REFUSED)
    clock.advance(1)
    assert ask(servers, WELL) == ONE, "and the next time starts from one second"


def test_what_was_sent_before_a_server_was_out_neither_brings_it_back_nor_keeps_it_out(
    servers: Servers, clock: Hands
) -> None:
    alone = Model(name="m", servers=(ONE,))
    early, late = started(servers, alone)[0], started(servers, alone)[0]
    ask_one(servers, REFUSED)
    early.heard(WELL)
    assert not servers.health(BOTH)["one:1"]
    late.heard(BROKEN)
    clock.advance(1)
    assert ask(servers, WELL) == ONE


def test_with_every_server_out_the_one_that_is_out_the_shortest_is_asked(servers: Servers, clock: Hands) -> None:
    ask_one(servers, REFUSED)
    clock.advance(0.5)
    ask(servers, REFUSED)
    assert {ask(servers, REFUSED) for _ in range(4)} == {ONE}


# --- one call -----


def test_a_call_that_was_not_sent_goes_to_each_server_once(servers: Servers) -> None:
    way = servers.way(BOTH)
    first = way.go().server
    assert way.onward(REFUSED, busy=False)
    assert {first, way.go().server} == {ONE, TWO}
    assert not way.onward(REFUSED, busy=False)
    way.leave()


@pytest.mark.parametrize(
    "outcome", [BROKEN, Failure(Fault.TIMEOUT, "late"), answer(500), answer(504), answer(400), WELL]
)
def test_a_call_that_may_have_run_goes_nowhere_else(servers: Servers, outcome: Outcome) -> None:
    way = servers.way(BOTH)
    way.go()
    assert not way.onward(outcome, busy=True)


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_call_that_a_busy_server_does_not_take_goes_to_one_in_use(servers: Servers, status: int) -> None:
    way = servers.way(BOTH)
    way.go()
    assert not way.onward(answer(status), busy=False)
    assert way.onward(answer(status), busy=True)
    ask(servers, REFUSED, Model(name="m", servers=(TWO,)))
    assert not way.onward(answer(status), busy=True), "the other one is out"


def test_only_where_there_is_another_server_is_connecting_cut_short(servers: Servers) -> None:
    patient = Timeouts(connect=10)
    assert servers.way(BOTH).hurried(patient).connect == 2
    assert servers.way(Model(name="m", servers=(ONE,))).hurried(patient) is patient


@pytest.mark.parametrize("fault", list(Fault))
def test_callers_are_not_told_where_a_server_is(fault: Fault) -> None:
    _, message = told(Failure(fault, "10.0.0.7:9100 did something"))
    assert "10.0.0.7" not in message
    assert "9100" not in message


async def test_clients_of_servers_that_nobody_wants_any_more_are_dropped_once_they_are_idle(servers: Servers) -> None:
    first = servers.upstream(ONE)
    way, _ = started(servers, Model(name="m", servers=(TWO,)))
    second = servers.upstream(TWO)
    await servers.retain([])
    assert servers.upstream(ONE) is not first
    assert servers.upstream(TWO) is second
    way.leave()
    await servers.retain([])
    assert servers.upstream(TWO) is not second
