"""What operators, and admins of their organization, may look at: pages of everything, newest first."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from hornada.core.account import ApiKey, AuditEntry, Member, Organization, Principal, Role
from hornada.core.batch import Batch, BatchFilter
from hornada.core.errors import Code, Refusal
from hornada.core.ids import bare, plain
from hornada.core.page import Page
from hornada.engine.administration import reached_organization
from hornada.engine.rights import check_admin, check_operator
from hornada.store import audit
from hornada.store import batch as batches
from hornada.store import key as keys
from hornada.store import member as members
from hornada.store import organization as organizations
from hornada.store import upload as uploads
from hornada.store.database import Database, Tx
from hornada.store.keyset import Place

T = TypeVar("T")


class Used(Struct, frozen=True, kw_only=True):
    """What an organization takes up of what its plan limits. ``storage_bytes``: also of uploads under way."""

    storage_bytes: int
    active_batches: int
    queued_lines: int


class Self(Struct, frozen=True):
    """Whose key it is; all None for the operator, who belongs to no organization."""

    organization: Organization | None = None
    member: Member | None = None
    key: ApiKey | None = None
    used: Used | None = None


class Survey:
    """Reads only. ``after`` is the id of the last item of the page before; one that is none of the list is refused."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def me(self, by: Principal) -> Self:
        """The caller's own rows."""
        if by.role is Role.OPERATOR:
            return Self()
        async with self._db.read() as tx:
            return Self(
                await organizations.get(tx, by.org),
                await members.get(tx, by.org, by.member),
                await keys.get(tx, by.org, by.key),
                Used(
                    storage_bytes=await uploads.taken_up(tx, by.org),
                    active_batches=await batches.active(tx, by.org),
                    queued_lines=await batches.queued_lines(tx, by.org),
                ),
            )

    async def organization(self, by: Principal, organization: str) -> Organization:
        """One organization; raises Refusal PERMISSION_DENIED or ORGANIZATION_NOT_FOUND."""
        check_admin(by)
        async with self._db.read() as tx:
            return await reached_organization(tx, by, organization)

    async def organizations(
        self, by: Principal, *, after: str | None, limit: int, name: str | None = None
    ) -> Page[Organization]:
        """Organizations that are not erased; an admin sees its own."""
        check_admin(by)
        async with self._db.read() as tx:
            place = None
            if after is not None:
                last = await reached_organization(tx, by, after, param="after")
                place = (last.created_at, last.id)
            return _page(await organizations.page(tx, place, limit + 1, org=by.reach, name=name), limit)

    async def members(self, by: Principal, organization: str, *, after: str | None, limit: int) -> Page[Member]:
        """Members who have not been removed; raises Refusal ORGANIZATION_NOT_FOUND or MEMBER_NOT_FOUND."""
        check_admin(by)
        async with self._db.read() as tx:
            org = (await reached_organization(tx, by, organization)).id
            place = await _place(
                after, lambda known: members.get(tx, org, known), lambda last: last.created_at, Code.MEMBER_NOT_FOUND
            )
            return _page(await members.page(tx, org, place, limit + 1), limit)

    async def keys(self, by: Principal, organization: str, *, after: str | None, limit: int) -> Page[ApiKey]:
        """Keys, revoked ones too; raises Refusal ORGANIZATION_NOT_FOUND or KEY_NOT_FOUND."""
        check_admin(by)
        async with self._db.read() as tx:
            org = (await reached_organization(tx, by, organization)).id
            place = await _place(
                after, lambda known: keys.get(tx, org, known), lambda last: last.created_at, Code.KEY_NOT_FOUND
            )
            return _page(await keys.page(tx, org, place, limit + 1), limit)

    async def batches(
        self, by: Principal, *, organization: str | None, only: BatchFilter, after: str | None, limit: int
    ) -> Page[Batch]:
        """Batches of one organization or of all; raises Refusal ORGANIZATION_NOT_FOUND or BATCH_NOT_FOUND."""
        check_operator(by)
        async with self._db.read() as tx:
            org = await _one(tx, by, organization)
            place = await _place(
                after, lambda known: batches.get(tx, None, known), lambda last: last.created_at, Code.BATCH_NOT_FOUND
            )
            return _page(await batches.page(tx, org, place, limit + 1, only), limit)

    async def audit(
        self, by: Principal, *, organization: str | None, after: str | None, limit: int
    ) -> Page[AuditEntry]:
        """Who did what; raises Refusal ORGANIZATION_NOT_FOUND, or INVALID_VALUE when ``after`` is no entry."""
        check_operator(by)
        async with self._db.read() as tx:
            org = await _one(tx, by, organization)
            place = await _place(after, lambda known: audit.get(tx, known), lambda last: last.at, Code.INVALID_VALUE)
            return _page(await audit.page(tx, place, limit + 1, org=org), limit)


async def _one(tx: Tx, by: Principal, organization: str | None) -> str | None:
    if organization is None:
        return None
    return (await reached_organization(tx, by, organization, param="organization")).id


async def _place(
    after: str | None, find: Callable[[str], Awaitable[T | None]], moment: Callable[[T], int], code: Code
) -> Place | None:
    """Where a cursor stands in its list."""
    if after is None:
        return None
    known = bare(after) if code is Code.BATCH_NOT_FOUND else plain(after)
    found = await find(known) if known else None
    if found is None or known is None:
        raise Refusal(code, f"Nothing in this list has the id '{after[:100]}'.", "after")
    return moment(found), known


def _page(found: tuple[T, ...], limit: int) -> Page[T]:
    return Page(found[:limit], more=len(found) > limit)
