"""Who is calling: from a key's text to a principal, and the first key of a new installation."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping

from hornada.core.account import Plan, Principal, Role
from hornada.core.clock import Clock
from hornada.core.errors import Code, Refusal
from hornada.core.ids import new_id, new_secret
from hornada.store import account
from hornada.store.account import Credential
from hornada.store.database import Database

DEFAULT_PLAN = "default"
_REMEMBERED = 10_000
_FRESH_S = 1.0
_REFUSED = "No valid API key: it is missing, unknown, expired or revoked. Send it as 'Authorization: Bearer sk-...'."


class Admission:
    """Looks keys up by their SHA-256 and remembers good ones for a second, so that a revocation bites within one.

    Keys are 256 random bits and only their hashes are looked up and compared, so the time that takes tells nothing
    about a key. ``plans``: by name; an organization whose plan is not among them has the default one.
    """

    def __init__(self, db: Database, clock: Clock, plans: Mapping[str, Plan]) -> None:
        self._db = db
        self._clock = clock
        self._plans = plans
        self._seen: OrderedDict[str, tuple[Credential, float]] = OrderedDict()

    async def principal(self, token: str | None) -> Principal:
        """The caller that holds this key.

        Raises Refusal (``invalid_api_key``, the same message whatever is wrong; contract 4) and Unavailable.
        """
        found = await self._credential(_digest(token)) if token else None
        if found is None or not found.good(self._clock.now()):
            raise Refusal(Code.INVALID_API_KEY, _REFUSED)
        return self._principal(found)

    async def holder(self, key: str) -> Principal | None:
        """The holder of the key with this id as things stand now, None once it has lost its rights."""
        async with self._db.read() as tx:
            found = await account.by_key(tx, key)
        return self._principal(found) if found and found.good(self._clock.now()) else None

    def forget(self) -> None:
        """Looks every key up anew from now on."""
        self._seen.clear()

    async def bootstrap(self, organization: str, key: str | None) -> str | None:
        """Makes the first organization, an admin in it and a key: ``key``, or one that is made here and answered.

        None, and nothing done, when there is an organization already; also None when ``key`` was given.
        """
        text, now = key or new_secret(), self._clock.now()
        async with self._db.write() as tx:
            if await account.organizations(tx):
                return None
            org, member = new_id(), new_id()
            if not await account.insert_organization(tx, id=org, name=organization, plan=DEFAULT_PLAN, now=now):
                return None
            await account.insert_member(tx, id=member, org=org, name="admin", role=Role.ADMIN, now=now)
            await account.insert_key(
                tx, id=new_id(), org=org, member=member, name="first", digest=_digest(text), now=now
            )
        return None if key else text

    async def _credential(self, digest: str) -> Credential | None:
        seen = self._seen.get(digest)
        asked = self._clock.monotonic()
        if seen is not None and asked - seen[1] < _FRESH_S:
            self._seen.move_to_end(digest)
            return seen[0]
        async with self._db.read() as tx:
            found = await account.by_hash(tx, digest)
        self._remember(digest, found, asked)
        return found

    def _remember(self, digest: str, found: Credential | None, asked: float) -> None:
        """Unknown keys are not remembered: whoever tries them could push the known ones out."""
        if found is None:
            self._seen.pop(digest, None)
            return
        self._seen[digest] = (found, asked)
        self._seen.move_to_end(digest)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def _principal(self, found: Credential) -> Principal:
        return Principal(
            org=found.org,
            member=found.member,
            key=found.key,
            role=found.role,
            plan=self._plans.get(found.plan) or self._plans.get(DEFAULT_PLAN) or Plan(),
            models=found.models,
            expires_at=found.expires_at,
        )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
