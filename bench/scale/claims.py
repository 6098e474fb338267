"""How long the statements of a claim take, one worker, one after another."""

import time
from collections.abc import Sequence
from statistics import quantiles

from bench.scale.fill import MODEL
from hornada.engine.fairness import BATCHES_AT_ONCE, choose
from hornada.engine.turns import ORGANIZATIONS
from hornada.store import balance, chunk, running
from hornada.store.database import Database

Times = dict[str, list[float]]
LINES = 200
"""What a worker wants: two rounds of a hundred slots."""


async def claims(db: Database, rounds: int) -> Times:
    """Seconds as the dispatcher runs them: ``look`` is models and sources, ``claim`` what one batch's chunks take.

    What is claimed is handed back.
    """
    found: Times = {"models": [], "sources": [], "claim": [], "look": []}
    turn = ""
    for at in range(rounds):
        began = time.perf_counter()
        async with db.read() as tx:
            await chunk.ready_models(tx)
        models = time.perf_counter()
        async with db.read() as tx:
            orgs = await chunk.turns(tx, MODEL, turn, ORGANIZATIONS)
            many = len(orgs) == ORGANIZATIONS
            sources = await chunk.sources(tx, MODEL, orgs, 1 if many else BATCHES_AT_ONCE)
        turn = orgs[-1]
        chosen = choose(sources, {}, LINES, lambda _: 0.0)
        looked = time.perf_counter()
        works = []
        async with db.write() as tx:
            for source, lines in chosen:
                works += await chunk.claim(tx, source, MODEL, f"w{at}", lines)
        ended = time.perf_counter()
        for name, seconds in (
            ("models", models - began),
            ("sources", looked - models),
            ("claim", (ended - looked) / len(chosen)),
            ("look", looked - began),
        ):
            found[name].append(seconds)
        async with db.write() as tx:
            for work in works:
                await chunk.hand_back(tx, work.chunk)
    return found


async def watches(db: Database, rounds: int) -> Times:
    """Seconds of what one worker does for all, twice a second: rights, names and credit of every running batch."""
    found: Times = {"watch": []}
    for _ in range(rounds):
        began = time.perf_counter()
        async with db.read() as tx:
            await running.unauthorized(tx, 1)
            await running.asking(tx)
        async with db.read() as tx:
            await balance.running(tx)
        found["watch"].append(time.perf_counter() - began)
    return found


def p(times: Sequence[float], percent: int) -> float:
    """A percentile, in milliseconds."""
    return quantiles(times, n=100, method="inclusive")[percent - 1] * 1000
