"""What a process does that shares its ledger with others: it stays a member, shares models, tells and hears news."""

import contextlib

from hornada.core.errors import HornadaError
from hornada.engine.herald import EVERY_S, Herald
from hornada.engine.looper import Looper
from hornada.engine.membership import Membership
from hornada.engine.news import News, Topic
from hornada.engine.sharing import EVERY_S as SHARE_S
from hornada.engine.sharing import Sharing
from hornada.store.channel import Channel


class Company:
    """``loops`` go on while the process drains: its lines in flight are its own, and its calls are answered."""

    def __init__(self, database: str, membership: Membership, sharing: Sharing, news: News) -> None:
        self._membership = membership
        self._sharing = sharing
        self._news = news
        self._channel = Channel(database)
        self._herald = Herald(self._channel, news)
        self._hear = Looper("herald", self._herald.once, EVERY_S)
        news.elsewhere = self._told
        self._channel.on_heard = self._herald.heard
        self._channel.on_lost = self._hear.ring
        share = Looper("sharing", sharing.once, SHARE_S)
        sharing.bell(share.ring)
        every_s = membership.every_s  # also after an outage: who says late that it is alive is taken for dead
        self.loops = [Looper("lease", membership.once, every_s, patience_s=every_s), self._hear, share]

    async def leave(self) -> None:
        """Ends the membership and says that what was let go is there to be taken. Its loops must have ended."""
        for leave in (self._sharing.close, self._membership.leave):
            with contextlib.suppress(HornadaError):
                await leave()
        for topic in (Topic.CREATED, Topic.READY):
            self._herald.told(topic)
        with contextlib.suppress(HornadaError):
            await self._herald.once()
        await self._channel.close()

    async def speak(self) -> None:
        """Says what was told here, for a process that runs no loops: others heed it at once, not when they next ask."""
        if self._herald.waits:
            with contextlib.suppress(HornadaError):
                await self._herald.once()
            await self._channel.close()

    def _told(self, topic: Topic, *words: str) -> None:
        if self._herald.told(topic, *words):
            self._hear.ring()
