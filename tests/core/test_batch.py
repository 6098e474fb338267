"""Which status follows which: every pair, the impossible ones included."""

import itertools

import pytest

from hornada.core.batch import LIVE, STAMPS, STOP_MESSAGES, TERMINAL, Event, Status, StopReason, Usage, after

S, E = Status, Event
PAIRS = list(itertools.product(Status, Event))

FOLLOWS = {
    (S.VALIDATING, E.ACCEPT): S.IN_PROGRESS,
    (S.VALIDATING, E.REJECT): S.FAILED,
    (S.VALIDATING, E.CANCEL): S.CANCELLING,
    (S.VALIDATING, E.EXPIRE): S.FINALIZING,
    (S.IN_PROGRESS, E.CANCEL): S.CANCELLING,
    (S.IN_PROGRESS, E.DRAIN): S.FINALIZING,
    (S.IN_PROGRESS, E.EXPIRE): S.FINALIZING,
    (S.CANCELLING, E.ACCEPT): S.CANCELLING,
    (S.CANCELLING, E.REJECT): S.FAILED,
    (S.CANCELLING, E.CANCEL): S.CANCELLING,
    (S.CANCELLING, E.ASSEMBLE): S.CANCELLED,
    (S.FINALIZING, E.ACCEPT): S.FINALIZING,
    (S.FINALIZING, E.REJECT): S.FAILED,
    (S.FINALIZING, E.ASSEMBLE): S.COMPLETED,
}


@pytest.mark.parametrize(("status", "event"), PAIRS)
def test_a_status_is_followed_by_what_the_table_says_or_by_nothing(status: Status, event: Event) -> None:
    assert after(status, event) is FOLLOWS.get((status, event))


@pytest.mark.parametrize(("status", "event"), PAIRS)
def test_that_a_batch_expired_changes_only_how_it_ends(status: Status, event: Event) -> None:
    expected = FOLLOWS.get((status, event))
    assert after(status, event, StopReason.EXPIRED) is (S.EXPIRED if expected is S.COMPLETED else expected)


@pytest.mark.parametrize("stop", [reason for reason in StopReason if reason is not StopReason.EXPIRED])
def test_a_batch_stopped_for_another_reason_is_completed_all_the_same(stop: StopReason) -> None:
    assert after(S.FINALIZING, E.ASSEMBLE, stop) is S.COMPLETED


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_nothing_happens_to_a_batch_that_has_ended(status: Status) -> None:
    assert [event for event in Event if after(status, event)] == []


@pytest.mark.parametrize("status", sorted(LIVE))
def test_every_live_batch_can_still_end(status: Status) -> None:
    reached, open_ = set[Status](), [status]
    while open_:
        at = open_.pop()
        reached.add(at)
        open_ += [to for event in Event if (to := after(at, event)) and to not in reached]
    assert reached & TERMINAL


def test_every_arrival_has_a_stamp_of_its_own() -> None:
    assert set(STAMPS) == set(Status) - {S.VALIDATING}
    assert len(set(STAMPS.values())) == len(STAMPS)


def test_every_reason_to_stop_has_words() -> None:
    assert set(STOP_MESSAGES) == set(StopReason)


def test_usage_adds_up_field_by_field() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
