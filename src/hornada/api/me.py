"""``GET /me``: whose key it is, what it may do, and how much of its plan is used."""

from typing import Annotated, Literal

from msgspec import Meta, structs

from hornada import __version__
from hornada.api.call import Call, Response, json_response
from hornada.api.schemas import Seconds, Strict
from hornada.api.services import Services
from hornada.core.account import Role
from hornada.dialects.spelling import seconds

_PLAN = ("requests_per_minute", "active_batches", "queued_lines", "storage_bytes", "weight")


class Named(Strict):
    """Something of the caller's."""

    id: str
    name: str


class OwnKey(Named):
    """The key of the call. ``models`` null: every model."""

    models: list[str] | None
    requests_per_minute: int | None
    expires_at: Seconds | None


class OwnPlan(Strict):
    """What the organization may use."""

    name: str
    requests_per_minute: int
    active_batches: int
    queued_lines: int
    storage_bytes: int
    weight: int


class OwnUse(Strict):
    """What the organization takes up at this moment of what its plan limits."""

    storage_bytes: Annotated[int, Meta(description="Of all files, results too, and of parts of uploads under way.")]
    active_batches: int
    queued_lines: Annotated[int, Meta(description="All lines of the batches that have not ended.")]


class MeObject(Strict):
    """Who calls. Organization, member, key, plan and used are null for the operator, who is of no organization."""

    object: Literal["me"]
    role: Literal["admin", "member", "operator"]
    organization: Named | None
    member: Named | None
    key: OwnKey | None
    plan: OwnPlan | None
    used: OwnUse | None
    currency: Annotated[str, Meta(description="Of every price and amount.")]
    batches: Annotated[bool, Meta(description="Whether there are batches in this installation.")]
    webhooks: Annotated[bool, Meta(description="Whether there are webhooks.")]
    version: str


class MeCalls:
    """Tells a caller who it is."""

    def __init__(self, services: Services) -> None:
        self._survey = services.survey
        self._currency = services.currency
        self._batches = services.batches_enabled
        self._webhooks = services.webhooks_enabled

    async def me(self, call: Call) -> Response:
        """``GET /me``."""
        by = call.principal
        found = await self._survey.me(by)
        plan = None if by.role is Role.OPERATOR else {"name": by.plan.name} | {n: getattr(by.plan, n) for n in _PLAN}
        key = found.key and {
            "id": found.key.id,
            "name": found.key.name,
            "models": None if found.key.models is None else sorted(found.key.models),
            "requests_per_minute": found.key.requests_per_minute,
            "expires_at": seconds(found.key.expires_at),
        }
        return json_response(
            {
                "object": "me",
                "role": by.role.value,
                "organization": found.organization and {"id": found.organization.id, "name": found.organization.name},
                "member": found.member and {"id": found.member.id, "name": found.member.name},
                "key": key,
                "plan": plan,
                "used": found.used and structs.asdict(found.used),
                "currency": self._currency,
                "batches": self._batches,
                "webhooks": self._webhooks,
                "version": __version__,
            }
        )
