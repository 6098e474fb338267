"""What came of a message to an address that a user chose."""

from msgspec import Struct

NOT_PUBLIC = "its name leads to an address that is not public"
"""Without the address: whoever may not ask there need not learn where it is."""


class Posted(Struct, frozen=True, kw_only=True):
    """What came of a message: the status of its answer, or in words why there is none."""

    code: int | None = None
    retry_after_s: float | None = None
    error: str | None = None
    took_ms: int = 0
