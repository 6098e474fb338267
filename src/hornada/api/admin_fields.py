"""The fields of bodies and queries under ``/admin``: every one is known, and wrong ones are named."""

from collections.abc import Mapping
from typing import Any

from hornada.api.admin_schemas import NAME_LENGTH
from hornada.api.fields import at_most, choice, missing, number, text, whole, within, wrong_type
from hornada.core.account import Role
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.core.kinds import NAME_LENGTH as MODEL_NAME

LIMIT, DEFAULT = 100, 20
_LAST_SECOND = 253_402_300_799
"""The end of the year 9999."""
_MODELS = 1000


class Fields:
    """The fields of a body; raises Refusal INVALID_VALUE for one that means nothing. None is as good as absent."""

    def __init__(self, body: dict[str, Any], *known: str) -> None:
        for name in body:
            if name not in known:
                message = f"Unknown parameter: '{name[:100]}'. Known here: {', '.join(known)}."
                raise Refusal(Code.INVALID_VALUE, message, name[:100])
        self._known = known
        self._given = {name: value for name, value in body.items() if value is not None}

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def __getitem__(self, name: str) -> Any:
        return self._given[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The field's value, or the default."""
        return self._given.get(name, default)

    def needed(self, name: str) -> Any:
        """The value of a field that must be there."""
        if name not in self._given:
            raise missing(name)
        return self._given[name]

    def some(self) -> None:
        """Raises Refusal unless there is at least one field."""
        if not self._given:
            message = f"Nothing to change: give at least one of {', '.join(self._known)}."
            raise Refusal(Code.MISSING_REQUIRED_PARAMETER, message)


def name_of(value: object, field: str = "name", most: int = NAME_LENGTH) -> str:
    """A name for people: not blank, at most ``most`` code points, all of which can be seen."""
    name = at_most(text(value, field), field, most).strip()
    if not name or not name.isprintable():
        message = f"Invalid value for '{field}': expected a name of 1 to {most} printable characters."
        raise Refusal(Code.INVALID_VALUE, message, field)
    return name


def role_of(value: object) -> Role:
    """A member's role."""
    return Role(choice(text(value, "role"), "role", (Role.ADMIN.value, Role.MEMBER.value)))


def suspended_of(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise wrong_type("suspended", "a boolean", value)
    return value


def model_names(value: object) -> frozenset[str]:
    """A list of names of models or aliases; whether they exist may change, and is not asked."""
    if not isinstance(value, list):
        raise wrong_type("models", "an array of strings", value)
    within(len(value), "models.length", 0, _MODELS)
    return frozenset(
        at_most(text(each, f"models[{index}]"), f"models[{index}]", MODEL_NAME) for index, each in enumerate(value)
    )


def expiry(value: object) -> int | None:
    """A moment in seconds since 1970, as microseconds."""
    return None if value is None else within(whole(value, "expires_at"), "expires_at", 0, _LAST_SECOND) * SECOND


def page_of(query: Mapping[str, str]) -> tuple[str | None, int]:
    """``after`` and ``limit``."""
    limit = within(number(query["limit"], "limit"), "limit", 1, LIMIT) if query.get("limit") else DEFAULT
    return query.get("after") or None, limit
