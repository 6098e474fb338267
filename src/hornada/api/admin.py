"""Calls under ``/admin``: organizations, members, keys, plans, every organization's batches, and the audit.

They have no dialect; their errors and their batches are spelled as InferNode's. What a caller may do is the engine's
to say: the operator everything, an organization's admin its members and keys.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import UNSET

from hornada.api.admin_fields import Fields, expiry, model_names, name_of, page_of, role_of, suspended_of
from hornada.api.call import Call, Response, json_response
from hornada.api.fields import text, whole, within
from hornada.api.paging import batch_page
from hornada.api.services import Services
from hornada.core.account import ApiKey, AuditEntry, Member, Organization, Plan, Role
from hornada.core.batch import Batch
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.core.kinds import MOST
from hornada.core.page import Page
from hornada.dialects import DIALECTS
from hornada.dialects.spelling import listing, seconds
from hornada.engine.plans import DEFAULT_PLAN

T = TypeVar("T")
Json = dict[str, Any]

KEPT = (
    "the balance and the ledger: what was used and what it cost, by model and time, because accounts must add up",
    "ids, dates and counts of batches, members and keys, to which those entries refer",
    "the audit, which holds ids and no names",
)
"""What stays of an erased organization."""
_INFERNODE = DIALECTS["infernode"]
_NUMBERS = {"requests_per_minute": 1, "active_batches": 0, "queued_lines": 0, "storage_bytes": 0, "weight": 1}
"""The fields of a plan, with the least that each may be."""


class OrganizationCalls:
    """Create, list, show, change and erase."""

    def __init__(self, services: Services) -> None:
        self._administration = services.administration
        self._survey = services.survey

    async def create(self, call: Call) -> Response:
        """``POST /admin/organizations``."""
        fields = Fields(await call.json(), "name", "plan")
        name, plan = name_of(fields.needed("name")), text(fields.get("plan", DEFAULT_PLAN), "plan")
        return json_response(organization(await self._administration.create_organization(call.principal, name, plan)))

    async def page(self, call: Call) -> Response:
        """``GET /admin/organizations``; ``name``: only the one that is called so."""
        after, limit = page_of(call.query())
        name = call.query().get("name")
        name = None if name is None else name_of(name)
        found = await self._survey.organizations(call.principal, after=after, limit=limit, name=name)
        return _listed(found, organization)

    async def get(self, call: Call) -> Response:
        """``GET /admin/organizations/{id}``."""
        return json_response(organization(await self._survey.organization(call.principal, call.params["id"])))

    async def change(self, call: Call) -> Response:
        """``PATCH /admin/organizations/{id}``."""
        fields = Fields(await call.json(), "name", "plan", "suspended")
        fields.some()
        changed = await self._administration.change_organization(
            call.principal,
            call.params["id"],
            name=name_of(fields["name"]) if "name" in fields else UNSET,
            plan=text(fields["plan"], "plan") if "plan" in fields else UNSET,
            suspended=suspended_of(fields["suspended"]) if "suspended" in fields else UNSET,
        )
        return json_response(organization(changed))

    async def erase(self, call: Call) -> Response:
        """``DELETE /admin/organizations/{id}``: begins the erasure, or tells how far it is."""
        found = await self._administration.erase_organization(call.principal, call.params["id"])
        return json_response({**organization(found), "kept": list(KEPT)})


class MemberCalls:
    """Add, list, change and remove members."""

    def __init__(self, services: Services) -> None:
        self._administration = services.administration
        self._survey = services.survey

    async def add(self, call: Call) -> Response:
        """``POST /admin/organizations/{id}/members``."""
        fields = Fields(await call.json(), "name", "role")
        name, role = name_of(fields.needed("name")), role_of(fields.get("role", Role.MEMBER.value))
        return json_response(
            member(await self._administration.add_member(call.principal, call.params["id"], name, role))
        )

    async def page(self, call: Call) -> Response:
        """``GET /admin/organizations/{id}/members``."""
        after, limit = page_of(call.query())
        return _listed(await self._survey.members(call.principal, call.params["id"], after=after, limit=limit), member)

    async def change(self, call: Call) -> Response:
        """``PATCH /admin/members/{id}``."""
        role = role_of(Fields(await call.json(), "role").needed("role"))
        return json_response(member(await self._administration.set_role(call.principal, call.params["id"], role)))

    async def remove(self, call: Call) -> Response:
        """``DELETE /admin/members/{id}``."""
        removed = await self._administration.remove_member(call.principal, call.params["id"])
        return _deleted(removed.id, "member")


class KeyCalls:
    """Create, list and revoke keys."""

    def __init__(self, services: Services) -> None:
        self._administration = services.administration
        self._survey = services.survey

    async def create(self, call: Call) -> Response:
        """``POST /admin/organizations/{id}/keys``; the only answer that holds the key."""
        fields = Fields(await call.json(), "member_id", "name", "models", "requests_per_minute", "expires_at")
        requests, models, member_id = fields.get("requests_per_minute"), fields.get("models"), fields.get("member_id")
        made, secret = await self._administration.create_key(
            call.principal,
            call.params["id"],
            member=None if member_id is None else text(member_id, "member_id"),
            name=name_of(fields.get("name", "key")),
            models=None if models is None else model_names(models),
            expires_at=expiry(fields.get("expires_at")),
            requests_per_minute=None if requests is None else _count(requests, "requests_per_minute", 1),
        )
        return json_response({**key(made), "key": secret})

    async def page(self, call: Call) -> Response:
        """``GET /admin/organizations/{id}/keys``."""
        after, limit = page_of(call.query())
        return _listed(await self._survey.keys(call.principal, call.params["id"], after=after, limit=limit), key)

    async def revoke(self, call: Call) -> Response:
        """``DELETE /admin/keys/{id}``."""
        return _deleted((await self._administration.revoke_key(call.principal, call.params["id"])).id, "api_key")


class PlanCalls:
    """Set, list, show and remove plans."""

    def __init__(self, services: Services) -> None:
        self._administration = services.administration

    async def put(self, call: Call) -> Response:
        """``PUT /admin/plans/{name}``."""
        fields = Fields(await call.json(), *_NUMBERS)
        numbers = {name: _count(fields[name], name, least) for name, least in _NUMBERS.items() if name in fields}
        plan = Plan(name=name_of(call.params["name"]), **numbers)
        return json_response(self._plan(await self._administration.put_plan(call.principal, plan)))

    async def list(self, call: Call) -> Response:
        """``GET /admin/plans``: all of them."""
        plans = await self._administration.all_plans(call.principal)
        return _listed(Page(tuple(plans), more=False), self._plan)

    async def get(self, call: Call) -> Response:
        """``GET /admin/plans/{name}``."""
        return json_response(self._plan(await self._administration.plan(call.principal, name_of(call.params["name"]))))

    async def remove(self, call: Call) -> Response:
        """``DELETE /admin/plans/{name}``."""
        return _deleted(
            (await self._administration.remove_plan(call.principal, name_of(call.params["name"]))).name, "plan"
        )

    def _plan(self, plan: Plan) -> Json:
        source = "configuration" if self._administration.configured(plan.name) else "database"
        return {"id": plan.name, "object": "plan", "source": source} | {name: getattr(plan, name) for name in _NUMBERS}


class OversightCalls:
    """Every organization's batches, and who did what."""

    def __init__(self, services: Services) -> None:
        self._batches = services.batches
        self._survey = services.survey

    async def batches(self, call: Call) -> Response:
        """``GET /admin/batches``: filtered as ``GET /batches`` is, and by ``organization``."""
        query = call.query()
        wanted = batch_page(query, _INFERNODE.word)
        found = await self._survey.batches(
            call.principal,
            organization=query.get("organization"),
            only=wanted.only,
            after=wanted.after,
            limit=wanted.limit,
        )
        return _listed(found, batch)

    async def cancel(self, call: Call) -> Response:
        """``POST /admin/batches/{id}/cancel``: the ordinary cancel, for the operator."""
        if call.principal.role is not Role.OPERATOR:
            raise Refusal(Code.PERMISSION_DENIED, "Only the operator of the platform may do this.")
        return json_response(batch(await self._batches.cancel(call.principal, call.params["id"])))

    async def audit(self, call: Call) -> Response:
        """``GET /admin/audit``, newest first."""
        after, limit = page_of(call.query())
        organization_id = call.query().get("organization")
        found = await self._survey.audit(call.principal, organization=organization_id, after=after, limit=limit)
        return _listed(found, entry)


def organization(found: Organization) -> Json:
    """An organization object."""
    status = "suspended" if found.suspended_at is not None else "active"
    if found.erasing_at is not None:
        status = "erasing" if found.erased_at is None else "erased"
    return {
        "id": found.id,
        "object": "organization",
        "name": found.name,
        "plan": found.plan,
        "status": status,
        "created_at": found.created_at // SECOND,
        "suspended_at": seconds(found.suspended_at),
        "erasing_at": seconds(found.erasing_at),
        "erased_at": seconds(found.erased_at),
    }


def member(found: Member) -> Json:
    """A member object."""
    return {
        "id": found.id,
        "object": "member",
        "organization_id": found.org,
        "name": found.name,
        "role": found.role.value,
        "created_at": found.created_at // SECOND,
        "removed_at": seconds(found.removed_at),
    }


def key(found: ApiKey) -> Json:
    """A key object, without the key."""
    return {
        "id": found.id,
        "object": "api_key",
        "organization_id": found.org,
        "member_id": found.member,
        "name": found.name,
        "models": None if found.models is None else sorted(found.models),
        "requests_per_minute": found.requests_per_minute,
        "created_at": found.created_at // SECOND,
        "expires_at": seconds(found.expires_at),
        "last_used_at": seconds(found.last_used_at),
        "revoked_at": seconds(found.revoked_at),
    }


def batch(found: Batch) -> Json:
    """InferNode's batch object, with whose it is."""
    return {
        **_INFERNODE.batch(found),
        "organization_id": found.org,
        "member_id": found.member,
        "key_id": found.key,
    }


def entry(found: AuditEntry) -> Json:
    """An entry of the audit."""
    return {
        "id": found.id,
        "object": "audit_entry",
        "created_at": found.at // SECOND,
        "actor": found.actor,
        "action": found.action,
        "organization_id": found.org,
        "target": found.target,
        "detail": found.detail,
    }


def _listed(page: Page[T], spell: Callable[[T], Json]) -> Response:
    return json_response(listing([spell(item) for item in page.items], more=page.more))


def _deleted(of: str, kind: str) -> Response:
    return json_response({"id": of, "object": kind, "deleted": True})


def _count(value: object, name: str, least: int) -> int:
    return within(whole(value, name), name, least, MOST)
