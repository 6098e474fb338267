"""Identifiers: 130 random bits, stored bare; the prefix is spelling and is accepted in any form."""

import base64
import re
import secrets

_BARE = re.compile(r"[0-9a-z]{4,64}\Z")
_PLAIN = re.compile(r"[0-9a-z]{1,64}\Z")
_PREFIXES = ("file-", "file_", "batch_", "batch-", "upload_", "part_", "whe_", "whd_")


def new_id() -> str:
    """A fresh bare id: 26 characters of ``0-9a-v`` (base32hex of 16 random bytes)."""
    return base64.b32hexencode(secrets.token_bytes(16)).decode().rstrip("=").lower()


def bare(text: str) -> str | None:
    """The stored form of an id spelled in any dialect, or None if no id looks like that."""
    for prefix in _PREFIXES:
        if text.startswith(prefix):
            text = text[len(prefix) :]
            break
    return text if _BARE.match(text) else None


def plain(text: str) -> str | None:
    """An id that no dialect spells (of an organization, a member, a key), or None if no id looks like that."""
    return text if _PLAIN.match(text) else None


def new_secret() -> str:
    """A fresh API key, ``sk-`` and 256 random bits; shown once, stored as its SHA-256."""
    return "sk-" + secrets.token_urlsafe(32)
