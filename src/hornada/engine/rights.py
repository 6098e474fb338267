"""Who may do what: the operator everything, an admin its own organization, a member its own work."""

from hornada.core.account import Principal, Role
from hornada.core.errors import Code, Refusal
from hornada.store import account
from hornada.store.database import Tx

LOST = "The key, its member or its organization has lost its rights."


def check_operator(principal: Principal) -> None:
    """Raises Refusal PERMISSION_DENIED for anybody but the operator."""
    if principal.role is not Role.OPERATOR:
        raise Refusal(Code.PERMISSION_DENIED, "Only the operator of the platform may do this.")


def check_admin(principal: Principal) -> None:
    """Raises Refusal PERMISSION_DENIED for a member who administers nothing."""
    if principal.role is Role.MEMBER:
        message = "Only an administrator of the organization or the operator of the platform may do this."
        raise Refusal(Code.PERMISSION_DENIED, message)


def check_owner(principal: Principal, member: str, made: str, deed: str) -> None:
    """Raises Refusal PERMISSION_DENIED unless the caller is ``member``, an admin of its organization or the operator.

    Whether the thing is of the caller's organization was asked before. ``made`` and ``deed`` are words.
    """
    if principal.role is Role.MEMBER and principal.member != member:
        message = f"Only the member who {made} or an administrator of its organization can {deed}."
        raise Refusal(Code.PERMISSION_DENIED, message, "id")


async def check_standing(tx: Tx, principal: Principal) -> None:
    """Locks the caller's organization; raises Refusal INVALID_API_KEY when it was suspended since the call began."""
    if await account.lock(tx, principal.org):
        raise Refusal(Code.INVALID_API_KEY, LOST)
