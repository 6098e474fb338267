"""Models, where they run and what they are called."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hornada.core.strict import shown

MOST_SLOTS = 1024
"""The most concurrent requests that learning ever allows."""

MOST_PRICE = 10**12
"""The highest price, in micro-units per million tokens: one unit of the currency for a token."""

VERSION = "/v1"
"""What every endpoint begins with."""

ENDPOINTS: tuple[str, ...] = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/rerank",
    "/v1/moderations",
)
"""Every endpoint that a model can offer, in the order in which messages list them."""


class Price(Struct, frozen=True, kw_only=True):
    """Micro-units per million tokens, at most MOST_PRICE."""

    input: int = 0
    cached_input: int | None = None
    output: int = 0


class Server(Struct, frozen=True, kw_only=True):
    """One model server. ``url`` ends in its base path (``…/v1``); ``model``: its own name for the model, if another.

    ``ca_file``: certificates (PEM) of authorities to believe beside the system's.
    """

    url: str
    api_key: str | None = None
    model: str | None = None
    weight: int = 1
    ca_file: str | None = None


class Model(Struct, frozen=True, kw_only=True):
    """A catalog entry.

    ``capacity``: concurrent requests that its servers take well; with ``auto`` only where learning begins.
    ``batch_slots``: the most of them that lines may use, 0 when the model is not batchable. ``reserve``: slots that
    lines leave free, None for a few while there are regular calls. ``harm``: by what part lines may raise the 95th
    percentile of regular calls' time to first byte (0.05: 5 %, and 5 ms), None for no such limit. ``endpoints``: None
    for all. ``batch_priority``: the ``priority`` that lines are sent with, None for none.
    """

    name: str
    servers: tuple[Server, ...]
    endpoints: frozenset[str] | None = None
    capacity: int = 8
    auto: bool = False
    batch_slots: int = 8
    reserve: int | None = None
    harm: float | None = None
    batch_priority: int | None = None
    price: Price = Price()
    created_at: int = 0

    def offers(self, endpoint: str) -> bool:
        """Whether the model answers calls to ``endpoint`` (such as ``/v1/embeddings``)."""
        return self.endpoints is None or endpoint in self.endpoints


class Catalog(Struct, frozen=True, kw_only=True):
    """All models and aliases at one moment; replaced whole, never changed.

    ``paused``: models of which no line starts; regular calls go on.
    """

    models: Mapping[str, Model]
    aliases: Mapping[str, str]
    paused: frozenset[str] = frozenset()

    def resolve(self, name: str) -> Model | None:
        """The model that a catalog name or an alias stands for now."""
        return self.models.get(self.aliases.get(name, name))

    def allows(self, listed: frozenset[str] | None, model: str) -> bool:
        """Whether a key's list, which may name models by alias too, holds the model of this catalog name.

        None: the key has no list and may use every model.
        """
        return listed is None or any(self.aliases.get(each, each) == model for each in listed)

    def usable(self, listed: frozenset[str] | None) -> list[str]:
        """Every name, catalog names before aliases, by which a key with this list may call a model now."""
        names = dict.fromkeys((*self.models, *self.aliases))
        found = ((name, self.resolve(name)) for name in names)
        return [name for name, model in found if model is not None and self.allows(listed, model.name)]


_NAMES, _NAME = 10, 80
"""Names that a message lists at most, and the characters of each."""


def no_such_model(name: str, usable: Sequence[str]) -> str:
    """What is said of a name that stands for no model of a key: the same whether there is none or it is not allowed.

    The first words are OpenAI's. ``usable``: the names that the key may use; a few of them are named.
    """
    listed = ", ".join(each[:_NAME] for each in usable[:_NAMES])
    more = f" (and {len(usable) - _NAMES:,} more)" if len(usable) > _NAMES else ""
    possible = (
        f"Models that this key may use: {listed}{more}." if usable else "There is no model that this key may use."
    )
    return f"The model {shown(name)} does not exist or you do not have access to it. {possible}"
