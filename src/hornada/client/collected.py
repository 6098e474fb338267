"""The files of a batch on this machine."""

from collections.abc import Iterator
from pathlib import Path

from hornada.client.batch import Batch
from hornada.client.faults import BadInput
from hornada.client.order import Pool, requests
from hornada.core.result import Result


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

    def unanswered(self) -> Iterator[bytes]:
        """The requests that failed or have no result. Raises BadInput where the input is gone."""
        if self.source is None:
            raise BadInput(f"The input of {self.batch.id} is gone; there is nothing to send again.")
        with self.source.open("rb") as lines:
            for custom_id, line in requests(lines):
                found = self.results.get(custom_id)
                if found is None or not found.ok:
                    yield line
