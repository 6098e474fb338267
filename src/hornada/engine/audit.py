"""Who did what to what, told in the transaction that does it."""

from typing import Any

from hornada.core.account import AuditEntry, Principal, Role
from hornada.core.ids import new_id
from hornada.store import audit as rows
from hornada.store.database import Tx

OPERATOR = "operator"
"""The actor of what the operator did; any other is the id of a member."""


async def note(tx: Tx, by: Principal, action: str, *, now: int, org: str | None, target: str, **detail: Any) -> None:
    """Adds an entry: a noun and a verb as ``action``, such as ``key.revoke``; an id or a plan's name as ``target``.

    ``detail`` holds values that were set and no names of people or organizations: the audit outlives an erasure.
    """
    actor = OPERATOR if by.role is Role.OPERATOR else by.member
    await rows.insert(
        tx, AuditEntry(id=new_id(), at=now, actor=actor, action=action, org=org, target=target, detail=detail)
    )
