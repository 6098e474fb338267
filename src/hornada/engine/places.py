"""How many calls of one kind an organization has under way at once, where each holds memory, files or a connection."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from hornada.core.errors import Code, Refusal


class Places:
    """``most`` for each organization; ``words`` go on after "The organization has" and their number."""

    def __init__(self, most: int, words: str, *, come_back_s: int) -> None:
        self._most = most
        self._words = words
        self._come_back_s = come_back_s
        self._taken = Counter[str]()

    @property
    def taken(self) -> int:
        """How many there are of all organizations."""
        return self._taken.total()

    @contextmanager
    def one(self, org: str) -> Iterator[None]:
        """A place for as long as it is open; raises Refusal RATE_LIMIT_EXCEEDED when all are taken."""
        if self._taken[org] >= self._most:
            message = f"The organization has {self._most} {self._words}"
            raise Refusal(Code.RATE_LIMIT_EXCEEDED, message, retry_after=self._come_back_s)
        self._taken[org] += 1
        try:
            yield
        finally:
            self._taken[org] -= 1
            self._taken += Counter()  # drops what is zero
