"""What a check of a file found, by the server that would run it or on this machine."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hornada.client.batch import Fault, read_faults
from hornada.core.jsonl import Checked


class Checkup(Struct, frozen=True, kw_only=True):
    """``faults``: none for a file that a batch can be made of; ``found``: how many there are, told or not.

    ``by_server``: the server knows its models, limits and prices; without it they are not held against the file.
    ``input_cost`` and ``cost_limit`` in micro-units; None: not known, or lines name no maximum of output.
    """

    lines: int
    faults: tuple[Fault, ...]
    found: int
    by_server: bool
    model: str | None = None
    input_tokens: int | None = None
    output_tokens_limit: int | None = None
    input_cost: int | None = None
    cost_limit: int | None = None
    currency: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.found


def told(found: Mapping[str, Any]) -> Checkup:
    """What a server answered."""
    expected = found.get("estimate")
    estimate: Mapping[str, Any] = expected if isinstance(expected, dict) else {}
    faults = read_faults(found.get("errors"))
    return Checkup(
        lines=int(found.get("lines") or 0),
        faults=faults,
        found=int(found.get("error_count") or len(faults)),
        by_server=True,
        model=found.get("model"),
        input_tokens=estimate.get("input_tokens"),
        output_tokens_limit=estimate.get("output_tokens_limit"),
        input_cost=estimate.get("input_cost"),
        cost_limit=estimate.get("cost_limit"),
        currency=estimate.get("currency"),
    )


def seen(found: Checked) -> Checkup:
    """What was found on this machine."""
    faults = tuple(
        Fault(message=each.message, code=each.code.value, line=each.line, param=each.param) for each in found.findings
    )
    return Checkup(lines=found.total, faults=faults, found=len(faults), by_server=False, model=found.model)
