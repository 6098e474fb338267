"""How often results become durable, as far as that depends on where their bytes lie."""

from msgspec import Struct

FLUSH_S = 0.5
"""How often the dispatcher looks; results of a batch of which nothing else runs here wait no longer, in seconds."""


class Rhythm(Struct, frozen=True):
    """The longest that a result waits to become durable, and how many bytes of results may wait."""

    every_s: float
    bytes: int


FOLDER = Rhythm(FLUSH_S, 16 * 1024 * 1024)
BUCKET = Rhythm(5.0, 1024 * 1024)
"""A put costs money and time whatever its size; what a crash makes run again is what it had answered in that time."""
