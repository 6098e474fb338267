"""Checks the files of fresh batches and plans their chunks; retries by itself when storage fails."""

import logging
from collections.abc import Callable, Mapping

from hornada.blobs.protocol import Blobs
from hornada.core.account import Plan
from hornada.core.batch import Batch, Event, Finding, Status, after
from hornada.core.catalog import Catalog
from hornada.core.chunk import ChunkState
from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Broken, Code, HornadaError, Unavailable
from hornada.core.jsonl import Checked, CheckRules
from hornada.core.limits import Limits
from hornada.engine import crashpoint
from hornada.engine.checking import check_file, rules_of
from hornada.engine.examiners import Examiners
from hornada.engine.outbox import Outbox
from hornada.engine.plans import plan_of
from hornada.engine.tally import Tally
from hornada.store import account
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store import file as files
from hornada.store import stage as stages
from hornada.store.database import Database, Tx
from hornada.store.stage import Stage

log = logging.getLogger("hornada")

GIVE_UP_S = 30 * 60
"""For so long a start that keeps failing is tried again (InferNode: about half an hour)."""
_RETRY_CAP_S = 60


class Validator:
    """Finds batches whose file nobody has checked, checks it in one pass, and accepts or rejects the batch.

    ``unversioned``: whether the lines of a dialect, given by name, may leave ``/v1`` out of their url.
    """

    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        clock: Clock,
        *,
        owner: Callable[[], str],
        catalog: Callable[[], Catalog],
        models_known: Callable[[], bool],
        plans: Mapping[str, Plan],
        limits: Limits,
        on_accepted: Callable[[], None],
        outbox: Outbox | None = None,
        tally: Tally | None = None,
        examiners: Examiners | None = None,
        unversioned: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._unversioned = unversioned
        self._examiners = examiners or Examiners()
        self._tally = tally or Tally(clock)
        self._db = db
        self._blobs = blobs
        self._clock = clock
        self._owner = owner
        self._catalog = catalog
        self._models_known = models_known
        self._plans = plans
        self._limits = limits
        self._on_accepted = on_accepted
        self._outbox = outbox

    def adopt(self, limits: Limits) -> None:
        """Takes over changed limits; what has begun keeps those that it began with."""
        self._limits = limits

    async def once(self) -> bool:
        """Checks one batch; False when there is none."""
        async with self._db.write() as tx:
            stage = await stages.take_unchecked(tx, self._owner())
        if stage is None:
            return False
        try:
            await self._check(stage)
        except HornadaError as error:
            log.warning("batch_%s could not be checked: %s", stage.batch.id, error)
            await self._put_off(stage)
        except Exception:
            log.exception("batch_%s could not be checked", stage.batch.id)
            await self._put_off(stage)
        return True

    async def _check(self, stage: Stage) -> None:
        batch = stage.batch
        async with self._db.read() as tx:
            file = await files.get(tx, batch.org, batch.input_file)
            key = await account.by_key(tx, batch.key)
        if file is None:
            await self._reject(stage, (_missing(batch),))
            return
        rules = self._rules(batch, key.models if key else frozenset())
        checked = await check_file(self._examiners, self._blobs, file.object, file.bytes, rules)
        if not self._models_known() and any(finding.code is Code.MODEL_NOT_FOUND for finding in checked.findings):
            raise Unavailable("a model server has not said yet which models it runs")
        if checked.findings or checked.model is None:
            await self._reject(stage, checked.findings)
        else:
            await self._accept(stage, plan_of(key, self._plans), checked, checked.model)

    def _rules(self, batch: Batch, allowed: frozenset[str] | None) -> CheckRules:
        """The rules of a file: what the key may use, under every name it has now."""
        unversioned = self._unversioned(batch.dialect)
        return rules_of(self._catalog(), self._limits, batch.endpoint, allowed, unversioned=unversioned)

    async def _accept(self, stage: Stage, plan: Plan, checked: Checked, model: str) -> None:
        batch = stage.batch
        to = after(batch.status, Event.ACCEPT, batch.stop)
        if to is None:
            raise Broken(f"a batch that is {batch.status} cannot be accepted")
        runs, now = to is Status.IN_PROGRESS, self._clock.now()
        async with self._db.write() as tx:
            over = await _over_queue(tx, batch, checked.total, plan) if runs else None
            accepted = over is None and await stages.accept(
                tx, stage, to, model=model, names=checked.names, total=checked.total, now=now
            )
            if accepted:
                await chunks.plan(tx, batch, model, checked.spans, ChunkState.READY if runs else ChunkState.DONE)
            elif over is None:  # it was cancelled or expired meanwhile: looked at again as what it is now
                await stages.postpone(tx, stage, 0)
        if over is not None:
            await self._reject(stage, (over,))
        if not accepted:
            return
        crashpoint.reach("plan_committed")
        log.info("batch_%s: %d lines accepted", batch.id, checked.total)
        self._on_accepted()

    async def _reject(self, stage: Stage, findings: tuple[Finding, ...]) -> None:
        now = self._clock.now()
        async with self._db.write() as tx:
            rejected = await stages.reject(tx, stage, findings, now)
            if rejected and self._outbox is not None:
                await self._outbox.ended(tx, stage.batch, Status.FAILED, now)
        if rejected:
            if self._outbox is not None:
                self._outbox.ring()
            self._tally.ended[Status.FAILED] += 1
            first, found = next((finding.code for finding in findings), "no model"), len(findings)
            log.info("batch_%s: rejected: %s, %d finding%s in all", stage.batch.id, first, found, "s"[: found != 1])

    async def _put_off(self, stage: Stage) -> None:
        """Tries again later; once it has waited for half an hour in all, the batch fails with ``internal_error``.

        Only tries count: a batch that an outage of Hornada itself made old gets its half hour too.
        """
        if sum(map(_wait_s, range(1, stage.tries))) >= GIVE_UP_S:
            message = "The batch could not be started: its input could not be checked for 30 minutes."
            await self._reject(stage, (Finding(code=Code.INTERNAL_ERROR, message=message),))
            return
        async with self._db.write() as tx:
            await stages.postpone(tx, stage, _wait_s(stage.tries) * SECOND)


def _wait_s(tries: int) -> int:
    """Seconds until a start that failed for the ``tries``-th time is tried again."""
    return min(_RETRY_CAP_S, 1 << min(tries, 10))


def _missing(batch: Batch) -> Finding:
    message = f"Cannot find file {batch.input_file}; it was deleted or has expired."
    return Finding(code=Code.INVALID_REQUEST, message=message, param="input_file_id")


async def _over_queue(tx: Tx, batch: Batch, total: int, plan: Plan) -> Finding | None:
    """The finding when the plan has no room for so many more lines."""
    await account.lock(tx, batch.org)
    return over_queue(await batches.queued_lines(tx, batch.org), total, plan)


def over_queue(queued: int, total: int, plan: Plan) -> Finding | None:
    """The finding when a plan has no room for ``total`` lines beside those that are queued."""
    if queued + total <= plan.queued_lines:
        return None
    message = (
        f"The organization has {queued:,} lines queued and this file has {total:,}; its plan allows "
        f"{plan.queued_lines:,} queued lines. Wait for batches to end, or split the file."
    )
    return Finding(code=Code.ENQUEUED_REQUEST_LIMIT_EXCEEDED, message=message)
