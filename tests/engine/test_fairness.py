"""Whose line is next, and from which batches chunks are claimed."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornada.core.batch import StopReason
from hornada.core.chunk import Chunk, Span
from hornada.core.line import Request
from hornada.engine.fairness import BATCHES_AT_ONCE, FairQueue, choose
from hornada.engine.held import Backlog, Held
from hornada.service.wiring import spelling
from hornada.store.chunk import Source, Work

LINES = 100
_NUMBERS = count()


def source(batch: str, org: str = "o", *, total: int = LINES, due: int = 10, weight: int = 1) -> Source:
    return Source(
        batch=batch,
        org=org,
        key="k",
        dialect="openai",
        endpoint="/v1/x",
        input_object="input/x",
        expires_at=due,
        total=total,
        weight=weight,
    )


def chunk_of(origin: Source, lines: int = LINES) -> Held:
    chunk = Chunk(
        batch=origin.batch,
        idx=next(_NUMBERS),
        org=origin.org,
        model="m",
        span=Span(0, lines, 0, 0),
        epoch=1,
        done=bytes((lines + 7) // 8),
    )
    requests = [Request(str(at), b"{}") for at in range(lines)]
    return Held(Work(chunk, origin), requests, spelling("openai"), Backlog())


def queue_of(*chunks: Held) -> FairQueue:
    queue = FairQueue(lambda held: held.stop is None)
    for held in chunks:
        queue.add(held)
    return queue


def serve(queue: FairQueue, tokens: dict[str, int]) -> str | None:
    """Sends the next line and has it answered at once with what its organization's lines use."""
    item = queue.next()
    if item is None:
        return None
    org = item[0].work.chunk.org
    queue.ended(item[0], tokens[org])
    return org


def test_lines_of_a_chunk_come_in_order() -> None:
    held = chunk_of(source("b"), 3)
    queue = queue_of(held)
    assert [queue.next() for _ in range(4)] == [(held, 0), (held, 1), (held, 2), None]


def test_two_organizations_get_the_same_tokens_whatever_their_lines_use() -> None:
    queue = queue_of(*(chunk_of(source(org, org)) for org in "ab" for _ in range(20)))
    served = Counter(serve(queue, {"a": 10, "b": 90}) for _ in range(1000))
    assert served["a"] / served["b"] == pytest.approx(9, rel=0.05)


def test_a_plan_of_twice_the_weight_gets_twice_the_tokens() -> None:
    queue = queue_of(*(chunk_of(source(org, org, weight=weight)) for org, weight in (("a", 2), ("b", 1))))
    served = Counter(serve(queue, {"a": 50, "b": 50}) for _ in range(90))
    assert served == {"a": 60, "b": 30}


def test_lines_in_flight_count_before_they_are_answered() -> None:
    queue = queue_of(*(chunk_of(source(org, org)) for org in "ab"))
    in_flight = Counter(item[0].work.chunk.org for _ in range(40) if (item := queue.next()))
    assert in_flight == {"a": 20, "b": 20}


def test_an_idle_organization_banks_no_credit() -> None:
    queue = queue_of(*(chunk_of(source("a", "a")) for _ in range(20)))
    for _ in range(1000):
        serve(queue, {"a": 50})
    queue.add(chunk_of(source("b", "b")))
    served = Counter(serve(queue, {"a": 50, "b": 50}) for _ in range(100))
    assert served["b"] == pytest.approx(50, abs=2)


def test_lines_without_an_answer_are_charged_as_usual_ones() -> None:
    queue = queue_of(*(chunk_of(source(org, org)) for org in "ab"))
    served: Counter[str] = Counter()
    for _ in range(100):
        item = queue.next()
        assert item is not None
        org = item[0].work.chunk.org
        queue.ended(item[0], None if org == "a" else 100)
        served[org] += 1
    assert served["a"] == pytest.approx(50, abs=5)


def test_a_small_batch_ends_beside_a_large_one_of_the_same_organization() -> None:
    large = [chunk_of(source("large", total=50_000, due=1)) for _ in range(5)]
    queue = queue_of(*large, chunk_of(source("small", total=10, due=2), 10))
    first = Counter(item[0].work.chunk.batch for _ in range(20) if (item := queue.next()))
    assert first == {"large": 10, "small": 10}


@pytest.mark.parametrize(("batches", "least"), [(2, 10), (3, 5), (BATCHES_AT_ONCE, 1)])
def test_equal_batches_of_one_organization_advance_side_by_side(batches: int, least: int) -> None:
    queue = queue_of(*(chunk_of(source(f"batch {at}")) for at in range(batches)))
    first = Counter(item[0].work.chunk.batch for _ in range(20) if (item := queue.next()))
    assert len(first) == batches
    assert min(first.values()) >= least


def test_a_stopped_chunk_gives_no_line() -> None:
    held, other = chunk_of(source("b")), chunk_of(source("c"), 1)
    queue = queue_of(held, other)
    held.stop = StopReason.CANCELLED
    assert queue.next() == (other, 0)
    assert queue.next() is None
    assert not queue


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(1, 4), st.integers(1, 200)), min_size=2),
    st.lists(st.integers(0, 7), min_size=200, max_size=400),
)
def test_backlogged_organizations_never_drift_apart_by_a_chunk(
    orgs: dict[str, tuple[int, int]], delays: list[int]
) -> None:
    queue = queue_of(*(chunk_of(source(org, org, weight=w)) for org, (w, _) in orgs.items() for _ in range(10)))
    served = dict.fromkeys(orgs, 0.0)
    open_lines: list[Held] = []
    for delay in delays:
        item = queue.next()
        assert item is not None
        open_lines.append(item[0])
        while len(open_lines) > delay:
            held = open_lines.pop(0)
            org = held.work.chunk.org
            weight, tokens = orgs[org]
            served[org] += tokens / weight
            queue.ended(held, tokens)
    most = max(tokens for _, tokens in orgs.values())
    assert max(served.values()) - min(served.values()) < LINES * most


def test_every_organization_gets_its_part_of_what_is_wanted() -> None:
    chosen = choose([source("a", "a"), source("b", "b")], {}, 200, lambda _: 0.0)
    assert [(each.batch, lines) for each, lines in chosen] == [("a", 100), ("b", 100)]


def test_the_organization_that_has_had_least_is_claimed_for_first() -> None:
    chosen = choose([source("a", "a"), source("b", "b")], {}, 200, {"a": 5.0, "b": 1.0}.__getitem__)
    assert [each.batch for each, _ in chosen] == ["b", "a"]


def test_a_new_batch_is_taken_in_hand_though_lines_enough_are_there() -> None:
    sources = [source("large", total=50_000, due=1), source("small", total=10, due=2)]
    chosen = choose(sources, {"o": {"large": 500}}, 200, lambda _: 0.0)
    assert [(each.batch, lines) for each, lines in chosen] == [("small", 1)]


def test_so_many_batches_of_one_organization_are_in_hand_and_no_more() -> None:
    sources = [source(f"b{at}", due=at, total=100 - at) for at in range(20)]
    chosen = choose(sources, {}, 1, lambda _: 0.0)
    batches = {each.batch for each, _ in chosen}
    assert len(batches) == BATCHES_AT_ONCE
    assert {"b0", "b19"} <= batches


def test_batches_in_hand_count_though_the_ledger_has_no_more_of_their_chunks() -> None:
    hand = {"o": {f"held{at}": 1 for at in range(BATCHES_AT_ONCE)}}
    assert choose([source("b")], hand, 1, lambda _: 0.0) == []


def test_many_tiny_batches_fill_what_one_cannot() -> None:
    chosen = choose([source(f"b{at}", due=at, total=1) for at in range(30)], {}, 20, lambda _: 0.0)
    assert [each.batch for each, _ in chosen] == [f"b{at}" for at in range(20)]


def test_an_organization_that_has_no_line_here_for_a_moment_still_gets_what_it_missed() -> None:
    few, many = source("f", "few"), source("m", "many")
    queue = queue_of()
    queue.meet([few, many])
    queue.add(chunk_of(few, 10))
    queue.add(chunk_of(many, 90))
    served = [serve(queue, {"few": 1, "many": 1}) for _ in range(20)]
    assert (served.count("few"), queue.dry) == (10, False)
    assert {serve(queue, {"many": 1}) for _ in range(40)} == {"many"}
    assert queue.dry
    queue.meet([few, many])
    queue.add(chunk_of(few))
    assert {serve(queue, {"few": 1, "many": 1}) for _ in range(40)} == {"few"}


def test_an_organization_that_has_no_line_anywhere_banks_no_credit() -> None:
    few, many = source("f", "few"), source("m", "many")
    queue = queue_of()
    queue.meet([few, many])
    queue.add(chunk_of(few, 10))
    queue.add(chunk_of(many, 90))
    for _ in range(60):
        serve(queue, {"few": 1, "many": 1})
    queue.meet([many])
    queue.add(chunk_of(few))
    served = [serve(queue, {"few": 1, "many": 1}) for _ in range(20)]
    assert 9 <= served.count("few") <= 11


def test_lines_are_claimed_by_weight() -> None:
    chosen = choose(
        [source("a", "light", total=1_000), source("b", "heavy", total=1_000, weight=3)], {}, 800, lambda _: 0
    )
    assert {each.org: lines for each, lines in chosen} == {"light": 200, "heavy": 600}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("aaanee"), st.integers(0, 7), st.integers(0, 3000)), max_size=300))
def test_whoever_has_had_least_is_next_whatever_came_before(steps: list[tuple[str, int, int]]) -> None:
    queue = queue_of()
    left, flying = Counter[str](), list[Held]()
    for step, org, tokens in steps:
        if step == "a":
            name = f"o{org}"
            queue.add(chunk_of(source(f"b{org}-{tokens % 3}", name, weight=1 + org % 3), 1 + tokens % 5))
            left[name] += 1 + tokens % 5
        elif step == "n":
            for _ in range(1 + org):
                least = min((queue.time(name) for name in +left), default=None)
                before = {name: queue.time(name) for name in +left}
                item = queue.next()
                assert (item is None) == (least is None)
                if item is not None:
                    assert before[item[0].work.chunk.org] == least
                    left[item[0].work.chunk.org] -= 1
                    flying.append(item[0])
        elif flying:
            queue.ended(flying.pop(tokens % len(flying)), tokens or None)


@pytest.mark.parametrize("waiting", [1, 2, 5])
def test_batches_of_one_line_that_come_without_end_leave_every_other_its_turns(waiting: int) -> None:
    """There are always so many of them."""
    queue = queue_of(chunk_of(source("due", due=1)), chunk_of(source("large", total=10_000)))
    served, small = Counter[str](), 0
    for _ in range(100):
        while small < waiting + served["small"]:
            small += 1
            queue.add(chunk_of(source(f"small {small}", total=1), 1))
        item = queue.next()
        assert item is not None
        served[item[0].work.chunk.batch.partition(" ")[0]] += 1
    assert min(served["due"], served["small"]) >= 20
    assert served["large"] >= 5
