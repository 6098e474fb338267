"""Checks an input file without holding up the event loop: small ones at once, others in a process of their own."""

import asyncio
import contextlib
import os

import msgspec

from hornada.blobs.protocol import Blobs
from hornada.core.catalog import Catalog
from hornada.core.check_main import Question
from hornada.core.checkup import checker as checker_of
from hornada.core.jsonl import Checked, Checker, CheckRules, Doubtful, Named
from hornada.core.limits import Limits
from hornada.engine.examiners import Examiners

INLINE_BYTES = 64 * 1024
"""Files up to this size are checked on the event loop: at most about a millisecond, unless a line is hostile."""
GLANCED_BYTES = 1024 * 1024
"""So are files up to this size, piece by piece, as long as their lines are clean at a glance."""


def rules_of(
    catalog: Catalog,
    limits: Limits,
    endpoint: str,
    allowed: frozenset[str] | None,
    *,
    unversioned: bool,
    thorough: bool = False,
) -> CheckRules:
    """The rules of a file: what the key may use (``allowed``, None: all), under every name it has now."""
    names: dict[str, Named] = {}
    for name in (*catalog.models, *catalog.aliases):
        model = catalog.resolve(name)
        if model is not None:
            names[name] = Named(
                resolved=model.name,
                allowed=catalog.allows(allowed, model.name),
                offers=model.offers(endpoint),
                batchable=model.batch_slots > 0,
            )
    return CheckRules(endpoint=endpoint, limits=limits, names=names, unversioned=unversioned, thorough=thorough)


async def check_file(examiners: Examiners, blobs: Blobs, key: str, size: int, rules: CheckRules) -> Checked:
    """Checks the ``size`` bytes of the blob ``key``.

    Raises Unavailable when the blob cannot be read or the checking process died, Broken when the blob is missing or
    short.
    """
    if size <= INLINE_BYTES:
        checker = checker_of(rules)
        checker.feed(await blobs.read(key, 0, size))
        return checker.finish()
    if size <= GLANCED_BYTES and not rules.thorough:
        with contextlib.suppress(Doubtful):
            return await _glance(await blobs.read(key, 0, size), rules)
    return await _check_apart(examiners, blobs, key, size, rules)


async def _glance(data: bytes, rules: CheckRules) -> Checked:
    """Checks a file in many short turns; raises Doubtful when that would take long."""
    checker = Checker(rules, most_doubtful=INLINE_BYTES)
    for at in range(0, len(data), INLINE_BYTES):
        checker.feed(data[at : at + INLINE_BYTES])
        await asyncio.sleep(0)
    return checker.finish()


async def _check_apart(examiners: Examiners, blobs: Blobs, key: str, size: int, rules: CheckRules) -> Checked:
    path = blobs.path(key)
    await blobs.read(key, size - 1, 1)  # so that a missing or short blob is told by the store and not by the process
    question = msgspec.json.encode(Question(rules=rules, path=None if path is None else os.fsencode(path)))
    answer = await examiners.ask(question, blobs.stream(key, 0, size) if path is None else None)
    return msgspec.json.decode(answer, type=Checked)
