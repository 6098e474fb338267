"""Which plan an organization has: the configuration's stand for their names, the database adds others."""

from collections.abc import Mapping

from hornada.core.account import Plan
from hornada.store.account import Credential

DEFAULT_PLAN = "default"


def plan_of(holder: Credential | None, configured: Mapping[str, Plan]) -> Plan:
    """The plan of a key's organization; one that exists nowhere is the default one."""
    if holder is not None:
        found = configured.get(holder.plan) or holder.terms
        if found is not None:
            return found
    return configured.get(DEFAULT_PLAN) or Plan()
