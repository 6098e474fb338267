"""What one part of the engine tells the others: a word at once instead of a look at the ledger later."""

from collections.abc import Callable
from enum import StrEnum

Reaction = Callable[..., None]
"""Called with the words of the news."""


class Topic(StrEnum):
    """What has happened. Whoever misses it finds out by asking the ledger, a little later."""

    CREATED = "created"
    """A batch waits for its check."""
    READY = "ready"
    """Chunks may be claimed: a batch was accepted or resumed, or goes on with another model."""
    STOPPED = "stopped"
    """Lines of a batch start no more. Words: its id, the reason."""
    PAUSED = "paused"
    """Lines of a batch start no more for now. Word: its id."""
    DRAINED = "drained"
    """Some batch may have every line's result."""
    ENDED = "ended"
    """There are bytes or rows that nobody needs any more."""
    RIGHTS = "rights"
    """Keys, members, organizations or plans were changed."""
    CATALOG = "catalog"
    """Models, aliases or prices were changed."""
    EVENTS = "events"
    """There is something to tell webhooks."""
    ERASING = "erasing"
    """An organization is to be erased."""


class News:
    """``on`` registers who reacts to a topic, ``tell`` has all of them react at once, in the order of registration."""

    def __init__(self) -> None:
        self._reactions: dict[Topic, list[Reaction]] = {topic: [] for topic in Topic}
        self.elsewhere: Reaction = lambda *_: None
        """Is called with each news that was told here, its topic first: other processes may want to know."""

    def on(self, topic: Topic, *reactions: Reaction) -> None:
        """Has these called with the words of each news of a topic."""
        self._reactions[topic] += reactions

    def tell(self, topic: Topic, *words: str) -> None:
        """Something has happened here, and the ledger knows it."""
        self.pass_on(topic, *words)
        self.elsewhere(topic, *words)

    def pass_on(self, topic: Topic, *words: str) -> None:
        """The same for what has happened elsewhere."""
        for react in self._reactions[topic]:
            react(*words)

    def teller(self, topic: Topic) -> Callable[[], None]:
        """Tells a topic that has no words."""
        return lambda: self.tell(topic)
