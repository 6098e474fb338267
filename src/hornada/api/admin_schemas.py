"""The objects under ``/admin`` as the OpenAPI document describes them."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from hornada.api.schemas import BatchObject, Seconds, Strict
from hornada.core.kinds import MOST

NAME_LENGTH = 200

Name = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH)]
Count = Annotated[int, Meta(ge=0, le=MOST)]
Positive = Annotated[int, Meta(ge=1, le=MOST)]
RoleName = Literal["admin", "member"]


class ListObject(Strict):
    """What every page has."""

    object: Literal["list"]
    first_id: str | None
    last_id: str | None
    has_more: bool


class CreateOrganization(Strict):
    """An organization to create."""

    name: Name
    plan: str = "default"


class ChangeOrganization(Strict):
    """What to change of an organization; what is not given stays."""

    name: Name | None = None
    plan: str | None = None
    suspended: bool | None = None


class OrganizationObject(Strict):
    """An organization. ``erasing`` lasts until nothing of it is left but what ``kept`` names."""

    id: str
    object: Literal["organization"]
    name: str
    plan: str
    status: Literal["active", "suspended", "erasing", "erased"]
    created_at: Seconds
    suspended_at: Seconds | None
    erasing_at: Seconds | None
    erased_at: Seconds | None


class ErasureObject(OrganizationObject):
    """An organization that is being erased, and what stays of it."""

    kept: list[str]


class AddMember(Strict):
    """A member to add."""

    name: Name
    role: RoleName = "member"


class ChangeMember(Strict):
    """A member's new role."""

    role: RoleName


class MemberObject(Strict):
    """A member of an organization."""

    id: str
    object: Literal["member"]
    organization_id: str
    name: str
    role: RoleName
    created_at: Seconds
    removed_at: Seconds | None


class CreateKey(Strict):
    """A key to make. Without ``member_id`` it is the caller's own, or the operator makes it for the only member.

    Without ``models`` it may use every model.
    """

    member_id: str | None = None
    name: Name = "key"
    models: list[str] | None = None
    requests_per_minute: Positive | None = None
    expires_at: Seconds | None = None


class KeyObject(Strict, kw_only=True, omit_defaults=True):
    """A key; its text, ``key``, is there only in the answer that made it."""

    id: str
    object: Literal["api_key"]
    organization_id: str
    member_id: str
    name: str
    models: list[str] | None
    requests_per_minute: int | None
    created_at: Seconds
    expires_at: Seconds | None
    last_used_at: Annotated[int | None, Meta(description="Seconds since 1970, to the minute.")]
    revoked_at: Seconds | None
    key: str = ""


class PutPlan(Strict):
    """A plan, whole: what is not given has its default."""

    requests_per_minute: Positive = 600
    active_batches: Count = 50
    queued_lines: Count = 2_000_000
    storage_bytes: Count = 10 * 1024**3
    weight: Positive = 1


class PlanObject(Strict):
    """What an organization may use. A plan of the configuration can be changed there only."""

    id: str
    object: Literal["plan"]
    source: Literal["configuration", "database"]
    requests_per_minute: int
    active_batches: int
    queued_lines: int
    storage_bytes: int
    weight: int


class AdminBatchObject(BatchObject, kw_only=True):
    """A batch with whose it is."""

    organization_id: str
    member_id: str
    key_id: str


class AuditObject(Strict):
    """Who did what. ``actor``: ``operator``, or a member's id; ``target``: the id, or the plan, it was done to."""

    id: str
    object: Literal["audit_entry"]
    created_at: Seconds
    actor: str
    action: str
    organization_id: str | None
    target: str
    detail: dict[str, Any]


class Deleted(Strict):
    """Something that is gone."""

    id: str
    object: Literal["member", "api_key", "plan"]
    deleted: Literal[True]


class OrganizationList(ListObject):
    """A page of organizations."""

    data: list[OrganizationObject]


class MemberList(ListObject):
    """A page of members."""

    data: list[MemberObject]


class KeyList(ListObject):
    """A page of keys."""

    data: list[KeyObject]


class PlanList(ListObject):
    """A page of plans."""

    data: list[PlanObject]


class AdminBatchList(ListObject):
    """A page of batches of several organizations."""

    data: list[AdminBatchObject]


class AuditList(ListObject):
    """A page of the audit."""

    data: list[AuditObject]
