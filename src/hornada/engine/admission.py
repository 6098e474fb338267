"""Who is calling: from a key's text to a principal, and the first key of a new installation."""

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Mapping

from hornada.core.account import Plan, Principal, Role
from hornada.core.clock import Clock
from hornada.core.errors import Code, Refusal
from hornada.core.ids import new_id, new_secret
from hornada.engine.keyuse import KeyUse
from hornada.engine.plans import DEFAULT_PLAN, plan_of
from hornada.store import account, balance
from hornada.store.account import Credential
from hornada.store.database import Database

_REMEMBERED = 10_000
_FRESH_S = 1.0
OPERATOR = Principal(
    org="",
    member="",
    key="",
    role=Role.OPERATOR,
    plan=Plan(
        name="operator",
        requests_per_minute=1 << 40,
        active_batches=1 << 40,
        queued_lines=1 << 40,
        storage_bytes=1 << 60,
    ),
)
"""Whoever operates the platform: of no organization, without limits."""
_REFUSED = "No valid API key: it is missing, unknown, expired or revoked. Send it as 'Authorization: Bearer sk-...'."


class Admission:
    """Looks keys up by their SHA-256 and remembers good ones for a second, so that a revocation bites within one.

    Keys are 256 random bits and only their hashes are looked up and compared, so the time that takes tells nothing
    about a key. ``plans``: those of the configuration, by name; a plan of the database is read with the key, so that a
    change of it bites as fast. ``operator_key``: the one key that is stored nowhere; None: nobody is the operator.
    """

    def __init__(self, db: Database, clock: Clock, plans: Mapping[str, Plan], operator_key: str | None = None) -> None:
        self._db = db
        self._clock = clock
        self._plans = plans
        self._operator = digest(operator_key) if operator_key else None
        self.uses = KeyUse(db, clock)
        self._seen: OrderedDict[str, tuple[Credential, float]] = OrderedDict()

    async def principal(self, token: str | None) -> Principal:
        """The caller that holds this key.

        Raises Refusal (``invalid_api_key``, the same message whatever is wrong) and Unavailable.
        """
        hashed = digest(token) if token else ""
        if self._operator is not None and hmac.compare_digest(hashed, self._operator):
            return OPERATOR
        found = await self._credential(hashed) if token else None
        if found is None or not found.good(self._clock.now()):
            raise Refusal(Code.INVALID_API_KEY, _REFUSED)
        self.uses.note(found.key)
        return self._principal(found)

    async def holder(self, key: str) -> Principal | None:
        """The holder of the key with this id as things stand now, None once it has lost its rights."""
        async with self._db.read() as tx:
            found = await account.by_key(tx, key)
        return self._principal(found) if found and found.good(self._clock.now()) else None

    async def knows(self, key: str) -> bool:
        """Whether this is the key of somebody who may call now."""
        found = await self._credential(digest(key))
        return found is not None and found.good(self._clock.now())

    def forget(self) -> None:
        """Looks every key up anew from now on."""
        self._seen.clear()

    async def bootstrap(self, organization: str, key: str | None, credit: int | None = None) -> str | None:
        """Makes the first organization, an admin in it and a key: ``key``, or one that is made here and answered.

        ``credit``: what the organization may use, in micro-units; None: as much as it likes.

        None, and nothing done, when there is an organization already; also None when ``key`` was given.
        """
        text, now = key or new_secret(), self._clock.now()
        async with self._db.write() as tx:
            if await account.organizations(tx):
                return None
            org, member = new_id(), new_id()
            if not await account.insert_organization(tx, id=org, name=organization, plan=DEFAULT_PLAN, now=now):
                return None
            if credit is not None:
                await balance.credit(tx, org, credit)
            await account.insert_member(tx, id=member, org=org, name="admin", role=Role.ADMIN, now=now)
            await account.insert_key(
                tx, id=new_id(), org=org, member=member, name="first", digest=digest(text), now=now
            )
        return None if key else text

    async def _credential(self, hashed: str) -> Credential | None:
        seen = self._seen.get(hashed)
        asked = self._clock.monotonic()
        if seen is not None and asked - seen[1] < _FRESH_S:
            self._seen.move_to_end(hashed)
            return seen[0]
        async with self._db.read(single=True) as tx:
            found = await account.by_hash(tx, hashed)
        self._remember(hashed, found, asked)
        return found

    def _remember(self, hashed: str, found: Credential | None, asked: float) -> None:
        """Unknown keys are not remembered: whoever tries them could push the known ones out."""
        if found is None:
            self._seen.pop(hashed, None)
            return
        self._seen[hashed] = (found, asked)
        self._seen.move_to_end(hashed)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def _principal(self, found: Credential) -> Principal:
        return Principal(
            org=found.org,
            member=found.member,
            key=found.key,
            role=found.role,
            plan=plan_of(found, self._plans),
            models=found.models,
            expires_at=found.expires_at,
            requests_per_minute=found.requests_per_minute,
        )


def digest(token: str) -> str:
    """What is stored of a key: its SHA-256, in hexadecimal digits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
