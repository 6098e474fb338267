"""What operators, and admins within their organization, do to organizations, members, keys and plans.

Every change writes a row of ``audit`` in its transaction, and is known to this process when it returns.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hornada.core.account import ApiKey, Member, Organization, Plan, Principal, Role
from hornada.core.clock import Clock
from hornada.core.errors import Code, Refusal
from hornada.core.ids import new_id, new_secret, plain
from hornada.engine.admission import digest
from hornada.engine.audit import note
from hornada.engine.plans import DEFAULT_PLAN
from hornada.engine.rights import check_admin, check_operator
from hornada.store import account
from hornada.store import key as keys
from hornada.store import member as members
from hornada.store import organization as organizations
from hornada.store import plan as plans
from hornada.store.database import Database, Tx


class Administration:
    """One verb a function; each raises Refusal PERMISSION_DENIED to whoever may not.

    What is of another organization is as unknown to an admin as what does not exist. ``configured``: the plans of the
    configuration. ``on_changed``: rights are to be looked at anew; ``on_erasing``: there is something to erase.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        configured: Mapping[str, Plan],
        *,
        on_changed: Callable[[], None],
        on_erasing: Callable[[], None],
    ) -> None:
        self._db = db
        self._clock = clock
        self._configured = configured
        self._on_changed = on_changed
        self._on_erasing = on_erasing

    async def create_organization(self, by: Principal, name: str, plan: str = DEFAULT_PLAN) -> Organization:
        """Adds an organization without members; raises Refusal NAME_TAKEN or PLAN_NOT_FOUND."""
        check_operator(by)
        made = Organization(id=new_id(), name=name, plan=plan, created_at=self._clock.now())
        async with self._db.write() as tx:
            await self._check_plan(tx, plan)
            if not await account.insert_organization(tx, id=made.id, name=name, plan=plan, now=made.created_at):
                raise _taken(name)
            await self._note(tx, by, "organization.create", made.id, made.id, plan=plan)
        return made

    async def change_organization(
        self,
        by: Principal,
        organization: str,
        *,
        name: str | UnsetType = UNSET,
        plan: str | UnsetType = UNSET,
        suspended: bool | UnsetType = UNSET,
    ) -> Organization:
        """Renames, puts on a plan, suspends or resumes: what is given, at once or not at all.

        Raises Refusal ORGANIZATION_NOT_FOUND, ORGANIZATION_ERASED, NAME_TAKEN or PLAN_NOT_FOUND.
        """
        check_operator(by)
        async with self._db.write() as tx:
            before = await self._open(tx, by, organization)
            after = before
            if name is not UNSET and name != before.name:
                if await organizations.named(tx, name):
                    raise _taken(name)
                after = replace(after, name=name)
                await self._note(tx, by, "organization.rename", before.id, before.id)
            if plan is not UNSET and plan != before.plan:
                await self._check_plan(tx, plan)
                after = replace(after, plan=plan)
                await self._note(tx, by, "organization.plan", before.id, before.id, plan=plan)
            if suspended is not UNSET and suspended is (before.suspended_at is None):
                after = replace(after, suspended_at=self._clock.now() if suspended else None)
                action = "organization.suspend" if suspended else "organization.resume"
                await self._note(tx, by, action, before.id, before.id)
            await organizations.update(tx, after)
        self._on_changed()
        return after

    async def erase_organization(self, by: Principal, organization: str) -> Organization:
        """Suspends an organization for good and has all that it stored erased, piece by piece (see ``Eraser``).

        Asked again, it answers how far that is. Raises Refusal ORGANIZATION_NOT_FOUND.
        """
        check_operator(by)
        async with self._db.write() as tx:
            found = await self._organization(tx, by, organization, lock=True)
            if found.erasing_at is None:
                await organizations.condemn(tx, found.id, self._clock.now())
                await self._note(tx, by, "organization.erase", found.id, found.id)
                found = await self._organization(tx, by, organization)
        self._on_changed()
        self._on_erasing()
        return found

    async def add_member(self, by: Principal, organization: str, name: str, role: Role) -> Member:
        """Adds a member; raises Refusal ORGANIZATION_NOT_FOUND or ORGANIZATION_ERASED."""
        check_admin(by)
        async with self._db.write() as tx:
            org = (await self._open(tx, by, organization)).id
            made = Member(id=new_id(), org=org, name=name, role=role, created_at=self._clock.now())
            await account.insert_member(tx, id=made.id, org=org, name=name, role=role, now=made.created_at)
            await self._note(tx, by, "member.add", org, made.id, role=role.value)
        return made

    async def set_role(self, by: Principal, member: str, role: Role) -> Member:
        """Makes a member an admin, or none any more; raises Refusal MEMBER_NOT_FOUND."""
        check_admin(by)
        async with self._db.write() as tx:
            found = await self._member(tx, by.reach, member)
            if found.role is not role:
                await members.set_role(tx, found.id, role)
                await self._note(tx, by, "member.role", found.org, found.id, role=role.value)
        self._on_changed()
        return replace(found, role=role)

    async def remove_member(self, by: Principal, member: str) -> Member:
        """Ends a member and all its keys; raises Refusal MEMBER_NOT_FOUND. What it made stays its organization's."""
        check_admin(by)
        now = self._clock.now()
        async with self._db.write() as tx:
            found = await self._member(tx, by.reach, member)
            await members.remove(tx, found.id, now)
            await self._note(tx, by, "member.remove", found.org, found.id)
        self._on_changed()
        return replace(found, removed_at=now)

    async def create_key(
        self,
        by: Principal,
        organization: str,
        *,
        member: str | None,
        name: str,
        models: frozenset[str] | None = None,
        expires_at: int | None = None,
        requests_per_minute: int | None = None,
    ) -> tuple[ApiKey, str]:
        """Makes a key for a member and answers its text, which is never seen again.

        ``member`` None: for the caller; where that is the operator, for the only member there is.

        ``expires_at`` in microseconds since 1970. A key that is limited to some models makes only such keys. Raises
        Refusal ORGANIZATION_NOT_FOUND, ORGANIZATION_ERASED, MEMBER_NOT_FOUND or MISSING_REQUIRED_PARAMETER.
        """
        check_admin(by)
        _check_models(by, models)
        text = new_secret()
        async with self._db.write() as tx:
            org = (await self._open(tx, by, organization)).id
            holder = await self._member(tx, org, member or by.member or await _only_member(tx, org), "member_id")
            made = ApiKey(
                id=new_id(),
                org=org,
                member=holder.id,
                name=name,
                models=by.models if models is None else models,
                requests_per_minute=requests_per_minute,
                expires_at=expires_at,
                created_at=self._clock.now(),
            )
            await account.insert_key(
                tx,
                id=made.id,
                org=org,
                member=made.member,
                name=name,
                digest=digest(text),
                now=made.created_at,
                models=made.models,
                expires_at=expires_at,
                requests_per_minute=requests_per_minute,
            )
            await self._note(tx, by, "key.create", org, made.id, member=made.member)
        return made, text

    async def revoke_key(self, by: Principal, key: str) -> ApiKey:
        """Ends a key for good; raises Refusal KEY_NOT_FOUND. Revoking it again changes nothing."""
        check_admin(by)
        now = self._clock.now()
        async with self._db.write() as tx:
            known = plain(key)
            found = await keys.get(tx, by.reach, known) if known else None
            if found is None:
                raise Refusal(Code.KEY_NOT_FOUND, f"No key found with id '{key[:100]}'.", "id")
            if found.revoked_at is None:
                await keys.revoke(tx, found.id, now)
                await self._note(tx, by, "key.revoke", found.org, found.id)
                found = replace(found, revoked_at=now)
        self._on_changed()
        return found

    async def put_plan(self, by: Principal, plan: Plan) -> Plan:
        """Adds a plan or changes one; raises Refusal PLAN_IN_USE when the configuration has one of this name."""
        check_operator(by)
        self._check_not_configured(plan.name)
        async with self._db.write() as tx:
            await plans.put(tx, plan, self._clock.now())
            await self._note(tx, by, "plan.set", None, plan.name, **msgspec.to_builtins(plan))
        self._on_changed()
        return plan

    async def remove_plan(self, by: Principal, name: str) -> Plan:
        """Removes a plan; raises Refusal PLAN_NOT_FOUND, or PLAN_IN_USE while an organization is on it."""
        check_operator(by)
        self._check_not_configured(name)
        async with self._db.write() as tx:
            found = await plans.get(tx, name)
            if found is None:
                raise _no_plan(name)
            users = await organizations.on_plan(tx, name)
            if users:
                message = f"{users} organization(s) are on the plan '{name}'; put them on another one first."
                raise Refusal(Code.PLAN_IN_USE, message, "name")
            await plans.remove(tx, name)
            await self._note(tx, by, "plan.remove", None, name)
        return found

    async def plan(self, by: Principal, name: str) -> Plan:
        """The plan of this name; raises Refusal PLAN_NOT_FOUND."""
        check_operator(by)
        async with self._db.read() as tx:
            found = self._configured.get(name) or await plans.get(tx, name)
        if found is None:
            raise _no_plan(name)
        return found

    async def all_plans(self, by: Principal) -> list[Plan]:
        """Every plan, by name; those of the configuration stand before those of the database."""
        check_operator(by)
        async with self._db.read() as tx:
            found = {plan.name: plan for plan in await plans.all_of(tx)}
        return [plan for _, plan in sorted({**found, **self._configured}.items())]

    def configured(self, name: str) -> bool:
        """Whether a plan is the configuration's."""
        return name in self._configured

    async def _check_plan(self, tx: Tx, name: str) -> None:
        if name not in self._configured and await plans.get(tx, name) is None:
            raise _no_plan(name, "plan")

    def _check_not_configured(self, name: str) -> None:
        if name in self._configured:
            message = f"The plan '{name}' stands in the configuration; change it there, or choose another name."
            raise Refusal(Code.PLAN_IN_USE, message, "name")

    async def _open(self, tx: Tx, by: Principal, organization: str) -> Organization:
        """An organization that can still be changed, locked."""
        found = await self._organization(tx, by, organization, lock=True)
        if found.erasing_at is not None:
            raise Refusal(Code.ORGANIZATION_ERASED, "The organization is erased or being erased.", "id")
        return found

    @staticmethod
    async def _organization(tx: Tx, by: Principal, organization: str, *, lock: bool = False) -> Organization:
        return await reached_organization(tx, by, organization, lock=lock)

    @staticmethod
    async def _member(tx: Tx, org: str | None, member: str, param: str = "id") -> Member:
        known = plain(member)
        found = await members.get(tx, org, known, lock=True) if known else None
        if found is None or found.removed_at is not None:
            raise Refusal(Code.MEMBER_NOT_FOUND, f"No member found with id '{member[:100]}'.", param)
        return found

    async def _note(self, tx: Tx, by: Principal, action: str, org: str | None, target: str, **detail: Any) -> None:
        await note(tx, by, action, now=self._clock.now(), org=org, target=target, **detail)


async def reached_organization(
    tx: Tx, by: Principal, organization: str, *, lock: bool = False, param: str = "id"
) -> Organization:
    """The organization of this id, if the caller reaches it; raises Refusal ORGANIZATION_NOT_FOUND."""
    known = plain(organization)
    reached = known is not None and by.reach in {None, known}
    found = await organizations.get(tx, known, lock=lock) if reached and known else None
    if found is None:
        raise Refusal(Code.ORGANIZATION_NOT_FOUND, f"No organization found with id '{organization[:100]}'.", param)
    return found


def _check_models(by: Principal, models: frozenset[str] | None) -> None:
    if by.models is not None and models is not None and not models <= by.models:
        message = f"This key may use {', '.join(sorted(by.models))} only, and so may the keys that it makes."
        raise Refusal(Code.PERMISSION_DENIED, message, "models")


def _taken(name: str) -> Refusal:
    return Refusal(Code.NAME_TAKEN, f"Another organization is called '{name}'.", "name")


def _no_plan(name: str, param: str = "name") -> Refusal:
    return Refusal(Code.PLAN_NOT_FOUND, f"There is no plan '{name[:100]}'.", param)


async def _only_member(tx: Tx, org: str) -> str:
    found = await members.page(tx, org, None, 2)
    if len(found) == 1:
        return found[0].id
    how_many = "more than one member" if found else "no member"
    message = f"Missing required parameter: 'member_id'. The organization has {how_many}."
    raise Refusal(Code.MISSING_REQUIRED_PARAMETER, message, "member_id")
