"""What a key may look like, wherever its bytes lie."""

import re

_KEY = re.compile(r"[a-z0-9_-]+(?:/[a-z0-9_-]+)*")


def checked(key: str) -> str:
    """The key itself; raises ValueError for one that could lead outside of the store."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not a key: {key!r}")
    return key
