"""Carries news between processes at once, where the ledger can; without it each would find out by asking."""

import logging
from typing import Protocol

from hornada.engine.news import News, Topic

log = logging.getLogger("hornada")

EVERY_S = 5.0
_MOST = 1000
"""Texts that wait to be sent; more than that are found out by asking."""
_FAR = frozenset(
    {Topic.CREATED, Topic.READY, Topic.STOPPED, Topic.PAUSED, Topic.RIGHTS, Topic.CATALOG, Topic.ERASING, Topic.EVENTS}
)
"""What concerns other processes. Not in the hot path: nothing that a tick tells is among it."""
_MISSED = (Topic.CREATED, Topic.READY, Topic.RIGHTS, Topic.CATALOG)
"""What may have been told while nobody listened here."""


class Wire(Protocol):
    """What carries texts."""

    async def open(self) -> bool:
        """Makes sure that it is open; True if it was not. Raises Unavailable."""
        ...

    async def send(self, texts: list[str]) -> None:
        """Sends texts to every other process; raises Unavailable."""
        ...


class Herald:
    """``once`` sends what was told here; what is ``heard`` is told here, and goes no further."""

    def __init__(self, wire: Wire, news: News) -> None:
        self._wire = wire
        self._news = news
        self._waiting: dict[str, None] = {}

    @property
    def waits(self) -> bool:
        """Whether something is to be sent."""
        return bool(self._waiting)

    def told(self, topic: Topic, *words: str) -> bool:
        """Notes what others are to hear; whether they are."""
        if topic not in _FAR or len(self._waiting) >= _MOST:
            return False
        self._waiting[" ".join((topic, *words))] = None
        return True

    def heard(self, text: str) -> None:
        """Another process told something; what a newer version tells and this one does not know is let pass."""
        word, *words = text.split(" ")
        if word in _FAR:
            self._news.pass_on(Topic(word), *words)

    async def once(self) -> bool:
        """Sends what waits; never more to do at once. Raises Unavailable; then it is found out by asking."""
        texts, self._waiting = list(self._waiting), {}
        if await self._wire.open():
            for topic in _MISSED:
                self._news.pass_on(topic)
        if texts:
            await self._wire.send(texts)
        return False
