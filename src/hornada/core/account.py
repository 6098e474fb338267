"""Who calls, and what they may."""

from enum import StrEnum

from msgspec import Struct


class Role(StrEnum):
    """What a caller is: a member's role in its organization, or whoever operates the platform."""

    ADMIN = "admin"
    MEMBER = "member"
    OPERATOR = "operator"


class Plan(Struct, frozen=True, kw_only=True):
    """What an organization may use (contract 10, ``[plans.*]``)."""

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
