"""The files of a batch on this machine."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from hornada.client.batch import Batch
from hornada.client.faults import BadInput
from hornada.client.order import Pool, requests
from hornada.core.result import Result
from hornada.core.strict import some


class Collected:
    """The files of a batch on this machine. ``source``: its input, None where the server no longer has it."""

    def __init__(self, batch: Batch, source: Path | None, results: Pool) -> None:
        self.batch = batch
        self.source = source
        self.results = results

    def ids(self) -> Iterator[str]:
        """The ids of the lines, in the order of the input, or of the result files where the input is gone."""
        if self.source is None:
            yield from self.results.ids()
            return
        with self.source.open("rb") as lines:
            for custom_id, _ in requests(lines):
                yield custom_id

    def __iter__(self) -> Iterator[Result]:
        """The results in that order; a line without one is passed over."""
        for custom_id in self.ids():
            found = self.results.get(custom_id)
            if found is not None:
                yield found

    def again(self, choice: "Choice") -> Iterator[bytes]:
        """The requests to send again. Raises BadInput where the input is gone, or has not what is asked for."""
        if self.source is None:
            raise BadInput(f"The input of {self.batch.id} is gone; there is nothing to send again.")
        self._check(choice)
        with self.source.open("rb") as lines:
            for custom_id, line in requests(lines):
                if custom_id in choice.ids if choice.ids else choice.takes(self.results.get(custom_id)):
                    yield line

    def _check(self, choice: "Choice") -> None:
        """Raises BadInput for ids that are not there, or answered."""
        missing = set(choice.ids).difference(self.ids() if choice.ids else ())
        if missing:
            raise BadInput(f"{self.batch.id} has no line with the custom_id {some(missing)}.")
        if not choice.answered:
            answered = [each for each in choice.ids if (found := self.results.get(each)) is not None and found.ok]
            if answered:
                raise BadInput(f"{self.batch.id} has an answer to the line with the custom_id {some(answered)}.")


class Choice(Struct, frozen=True, kw_only=True):
    """Which lines to send again: those without an answer; of them those with a code or a status; or those with an id.

    ``answered``: those of ``ids`` also where they have an answer.
    """

    only: tuple[str | int, ...] = ()
    ids: frozenset[str] = frozenset()
    answered: bool = False

    def takes(self, result: Result | None) -> bool:
        """Whether a line with this result has no answer, and one of the codes if there are any."""
        if result is None or result.ok or not self.only:
            return not self.only and (result is None or not result.ok)
        codes = {f"http_{code}" if str(code).isdecimal() else code for code in self.only}
        return not codes.isdisjoint((result.kind, f"http_{result.status_code}"))
