"""One file run without a server: what is asked for, how far it is, and what may stop it."""

from collections.abc import Mapping

from msgspec import Struct

from hornada.core.batch import Status
from hornada.core.catalog import Price
from hornada.core.errors import HornadaError
from hornada.core.recipe import Recipe


class RunRequest(Struct, frozen=True, kw_only=True):
    """A run of one input file.

    ``input`` and ``output`` are paths; ``upstream`` is a base URL up to and with ``/v1``; ``model`` None: as the lines
    say; ``endpoint`` None: the one that the lines name; ``concurrency``: calls at once, at most;
    ``api_key``: sent to the server as its bearer token; ``max_wait``: seconds for which a server that answers no call
    is waited for, None: without end; ``overwrite``: drop results and progress that are there. ``recipe``: what is asked
    of each row, None: the lines are requests. ``retry_failed``: run the lines again that failed in the output, and put
    their results in their places.
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
    recipe: Recipe | None = None
    retry_failed: bool = False
    price: Price = Price()


class Progress(Struct, frozen=True, kw_only=True):
    """How far a run is. ``total`` is 0 until the file is checked; ``message`` is for people, faults one a line.

    ``already``: it was done by an earlier run of the same, and nothing was called. ``cost`` in micro-units.
    ``kinds``: how many lines failed, by the kind of failure. ``rate``: lines a second; ``eta_s``: seconds until the
    last line has run; ``expires_s``: until what has not run by then never will; None: not known.
    """

    total: int
    completed: int
    failed: int
    status: Status
    message: str | None = None
    already: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    kinds: Mapping[str, int] = {}
    rate: float | None = None
    eta_s: float | None = None
    expires_s: float | None = None


class Unreachable(HornadaError):
    """The model server did not answer when the run began, or for too long since; the message names its address."""


class Occupied(HornadaError):
    """Where the output should go lies something that is not this run's; the message says what."""


class Changed(HornadaError):
    """The input is not what it was when the run began, or the output not what it was when it was written."""
