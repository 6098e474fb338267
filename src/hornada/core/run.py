"""One file run without a server: what is asked for, how far it is, and what may stop it."""

from msgspec import Struct

from hornada.core.batch import Status
from hornada.core.errors import HornadaError


class RunRequest(Struct, frozen=True, kw_only=True):
    """A run of one input file.

    ``input`` and ``output`` are paths; ``upstream`` is a base URL up to and with ``/v1``; ``model`` None: as the lines
    say; ``endpoint`` None: the one that the lines name; ``concurrency``: calls at once, at most;
    ``api_key``: sent to the server as its bearer token; ``max_wait``: seconds for which a server that answers no call
    is waited for, None: without end; ``overwrite``: drop results and progress that are there.
    """

    input: str
    output: str
    upstream: str
    model: str | None = None
    endpoint: str | None = None
    concurrency: int = 8
    api_key: str | None = None
    max_wait: float | None = None
    overwrite: bool = False


class Progress(Struct, frozen=True, kw_only=True):
    """How far a run is. ``total`` is 0 until the file is checked; ``message`` is for people, faults one a line.

    ``already``: it was done by an earlier run of the same, and nothing was called.
    """

    total: int
    completed: int
    failed: int
    status: Status
    message: str | None = None
    already: bool = False


class Unreachable(HornadaError):
    """The model server did not answer when the run began, or for too long since; the message names its address."""


class Occupied(HornadaError):
    """Where the output should go lies something that is not this run's; the message says what."""
