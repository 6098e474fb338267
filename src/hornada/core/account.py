"""Who calls, and what they may."""

from enum import StrEnum
from typing import Any

from msgspec import Struct


class Role(StrEnum):
    """What a caller is: a member's role in its organization, or whoever operates the platform."""

    ADMIN = "admin"
    MEMBER = "member"
    OPERATOR = "operator"


class Plan(Struct, frozen=True, kw_only=True):
    """What an organization may use (``[plans.*]``)."""

    name: str = "default"
    requests_per_minute: int = 600
    active_batches: int = 50
    queued_lines: int = 2_000_000
    storage_bytes: int = 10 * 1024**3
    weight: int = 1


class Principal(Struct, frozen=True, kw_only=True):
    """The caller of one request: a key of a member of an organization. ``models`` None: every model.

    The operator belongs to no organization (``org``, ``member`` and ``key`` are empty) and reaches every one's batches
    and files. ``requests_per_minute``: a limit of the key's own, below its plan's.
    """

    org: str
    member: str
    key: str
    role: Role
    plan: Plan
    models: frozenset[str] | None = None
    expires_at: int | None = None
    requests_per_minute: int | None = None

    @property
    def reach(self) -> str | None:
        """The organization whose batches and files the caller may name; None for the operator: every one's."""
        return None if self.role is Role.OPERATOR else self.org


class Organization(Struct, frozen=True, kw_only=True):
    """One row of ``organization``. Times in microseconds since 1970; ``erasing_at``: since then it is being erased."""

    id: str
    name: str
    plan: str
    created_at: int
    suspended_at: int | None = None
    erasing_at: int | None = None
    erased_at: int | None = None


class Member(Struct, frozen=True, kw_only=True):
    """One row of ``member``: somebody, or some program, of an organization."""

    id: str
    org: str
    name: str
    role: Role
    created_at: int
    removed_at: int | None = None


class ApiKey(Struct, frozen=True, kw_only=True):
    """One row of ``api_key``, of whose text only a hash is known. ``models`` None: every model."""

    id: str
    org: str
    member: str
    name: str
    created_at: int
    models: frozenset[str] | None = None
    requests_per_minute: int | None = None
    expires_at: int | None = None
    last_used_at: int | None = None
    revoked_at: int | None = None


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One row of ``audit``: who did what to what.

    ``actor``: ``operator``, or the id of a member. ``detail`` holds what was set, never a name of an organization,
    a member or a key: the audit outlives their erasure.
    """

    id: str
    at: int
    actor: str
    action: str
    org: str | None
    target: str
    detail: dict[str, Any]
