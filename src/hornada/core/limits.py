"""Ceilings of an installation and the few rule values in which dialects differ."""

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """Installation-wide ceilings (``[limits]``). Sizes in bytes, times in seconds."""

    file_bytes: int = 100 * 1024 * 1024
    line_bytes: int = 1024 * 1024
    lines: int = 50_000
    embedding_inputs: int = 50_000
    batch_lifetime_s: int = 86_400
    file_lifetime_s: int = 2_592_000
    upstream_timeout_s: float = 600
    """Of a whole answer; of a stream the longest silence, never its length."""
    response_bytes: int = 64 * 1024 * 1024
    request_bytes: int = 32 * 1024 * 1024
    min_free_bytes: int | None = None
    """None: 1 GiB or 2 % of the disk, whichever is more."""


class DialectRules(Struct, frozen=True, kw_only=True):
    """Rule values of a dialect.

    ``deduplicate``: same upload or create answers the earlier object always; when false only on an SDK retry or with
    an idempotency key. ``endpoints``: what may be batched, None for all that the catalog offers.
    ``input_lifetime_s``: retention of uploads, None for the installation's. ``unversioned``: endpoints may be spelled
    without ``/v1``.
    """

    name: str
    deduplicate: bool
    endpoints: frozenset[str] | None = None
    input_lifetime_s: int | None = None
    unversioned: bool = False
