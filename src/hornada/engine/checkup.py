"""The whole check of a file without running it: what is wrong with it, and what it would use and cost."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from weakref import WeakValueDictionary

from msgspec import Struct

from hornada.blobs.protocol import Blobs
from hornada.core.account import Principal
from hornada.core.batch import Finding, Usage
from hornada.core.catalog import Catalog, Price
from hornada.core.errors import Code, Refusal, Unavailable
from hornada.core.estimate import Estimate
from hornada.core.jsonl import MAX_FINDINGS, Checked
from hornada.core.limits import DialectRules, Limits
from hornada.core.money import amount
from hornada.engine.checking import check_file, rules_of
from hornada.engine.drafts import Draft
from hornada.engine.examiners import Examiners
from hornada.engine.files import Files
from hornada.engine.places import Places
from hornada.engine.validator import over_queue
from hornada.store import batch as batches
from hornada.store.database import Database

AT_ONCE = 2
"""Files that are checked so at a time, one of each organization; more of them wait."""
MOST = 8
"""Of an organization at once, those that wait and those on their way in included."""
_COME_BACK_S = 5
_NOTHING = Estimate(input=0, output=0, unlimited=0)


class Checkup(Struct, frozen=True, kw_only=True):
    """What is known of a file of so many ``bytes``. ``found``: findings in all, of which the first 100 are there.

    ``cost`` of the input and ``cost_limit`` of all that lines allow, in micro-units; None where not known.
    """

    bytes: int
    model: str | None
    total: int
    inputs: int
    findings: tuple[Finding, ...]
    found: int
    estimate: Estimate
    cost: int | None
    cost_limit: int | None


class Checkups:
    """Reads only, but for bytes on their way in, of which nothing stays."""

    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        files: Files,
        limits: Limits,
        *,
        catalog: Callable[[], Catalog],
        models_known: Callable[[], bool],
        examiners: Examiners | None = None,
        at_once: int = AT_ONCE,
        most: int = MOST,
    ) -> None:
        self._db = db
        self._blobs = blobs
        self._files = files
        self._limits = limits
        self._catalog = catalog
        self._models_known = models_known
        self._examiners = examiners or Examiners()
        self._turn = asyncio.Semaphore(at_once)
        self._own = WeakValueDictionary[str, asyncio.Semaphore]()
        words = "files being checked, which is the limit; wait for one."
        self._places = Places(most, words, come_back_s=_COME_BACK_S)

    def adopt(self, limits: Limits) -> None:
        """Takes over changed limits."""
        self._limits = limits

    @property
    def max_bytes(self) -> int:
        """The most bytes that a file may have."""
        return self._limits.file_bytes

    def place(self, principal: Principal) -> AbstractContextManager[None]:
        """A place for one checkup; raises Refusal RATE_LIMIT_EXCEEDED when the organization has too many under way."""
        return self._places.one(principal.org)

    async def file(self, principal: Principal, rules: DialectRules, file_id: str, endpoint: str) -> Checkup:
        """Checks an uploaded file; raises Refusal FILE_NOT_FOUND, and Unavailable or Broken."""
        try:
            file = await self._files.get(principal, file_id)
        except Refusal as refusal:
            raise Refusal(refusal.code, refusal.message, "input_file_id") from None
        return await self._check(principal, rules, file.object, file.bytes, endpoint)

    async def begin(self) -> Draft:
        """Where the bytes go of a file that is to be checked and not kept; raises Refusal STORAGE_LOW, Unavailable."""
        return await self._files.begin()

    async def draft(self, principal: Principal, rules: DialectRules, draft: Draft, endpoint: str) -> Checkup:
        """Checks what was sent, and forgets it. Raises Refusal EMPTY_FILE, and Unavailable or Broken."""
        try:
            if not draft.size:
                raise Refusal(Code.EMPTY_FILE, "The file is empty: 0 bytes were sent.", "file")
            await draft.commit()
            return await self._check(principal, rules, draft.object, draft.size, endpoint)
        finally:
            await draft.abort()
            await self._blobs.delete(draft.object)

    async def _check(self, principal: Principal, rules: DialectRules, key: str, size: int, endpoint: str) -> Checkup:
        catalog = self._catalog()
        check = rules_of(
            catalog, self._limits, endpoint, principal.models, unversioned=rules.unversioned, thorough=True
        )
        own = self._own.setdefault(principal.org, asyncio.Semaphore(1))
        async with own, self._turn:
            checked = await check_file(self._examiners, self._blobs, key, size, check)
        if not self._models_known() and any(each.code is Code.MODEL_NOT_FOUND for each in checked.findings):
            raise Unavailable("a model server has not said yet which models it runs")
        over = await self._over_queue(principal, checked)
        model = catalog.resolve(checked.model) if checked.model is not None else None
        estimate = checked.estimate or _NOTHING
        return Checkup(
            bytes=size,
            model=checked.model,
            total=checked.total,
            inputs=checked.inputs,
            findings=(*over, *checked.findings)[:MAX_FINDINGS],
            found=len(over) + checked.found,
            estimate=estimate,
            cost=_cost(model.price, estimate.input, 0) if model else None,
            cost_limit=_cost(model.price, estimate.input, estimate.output)
            if model and not estimate.unlimited
            else None,
        )

    async def _over_queue(self, principal: Principal, checked: Checked) -> tuple[Finding, ...]:
        """The finding that the plan has no room for so many more lines, if it has none."""
        async with self._db.read() as tx:
            queued = await batches.queued_lines(tx, principal.org)
        found = over_queue(queued, checked.total, principal.plan)
        return (found,) if found else ()


def _cost(price: Price, asked: int, answered: int) -> int:
    return amount(price, Usage(input=asked, output=answered))
