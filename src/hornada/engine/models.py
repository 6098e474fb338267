"""The catalog as it stands: what the configuration says and what model servers say they run."""

import logging
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from hornada.core.catalog import Catalog, Model, Server, no_such_model
from hornada.core.errors import Code, Refusal
from hornada.core.model_table import masked
from hornada.engine.capacity import Gates
from hornada.store.catalog import Shelf
from hornada.upstream.discovery import models as ask
from hornada.upstream.protocol import Failure, Upstream

log = logging.getLogger("hornada")


def called(catalog: Catalog, listed: frozenset[str] | None, name: str, endpoint: str) -> Model:
    """The model that a call or a line asks for by this name; ``listed`` are those that its key may use, None: all.

    Raises Refusal MODEL_NOT_FOUND, the same whether there is none or the key may not use it.
    """
    model = catalog.resolve(name)
    if model is None or not catalog.allows(listed, model.name):
        raise Refusal(Code.MODEL_NOT_FOUND, no_such_model(name, catalog.usable(listed)), "model")
    if not model.offers(endpoint):
        raise Refusal(Code.MODEL_NOT_FOUND, f"The model '{name[:200]}' does not offer {endpoint}.", "model")
    return model


class Models:
    """Holds the catalog; ``once`` asks the servers of ``upstream`` for their models.

    A model found so offers every endpoint with a capacity of 8; a configured model of the same name stands. A server
    that does not answer keeps the models it last named.
    """

    def __init__(
        self,
        configured: Sequence[Model],
        aliases: Mapping[str, str],
        discover: Sequence[Server],
        *,
        connect: Callable[[Server], Upstream],
        gates: Gates,
        now: int,
        found: Callable[[str, Server], Model] = lambda name, server: Model(name=name, servers=(server,)),
    ) -> None:
        self._configured = _dated(configured, {}, now)
        self._aliases = dict(aliases)
        self._discover = tuple(discover)
        self._connect = connect
        self._gates = gates
        self._now = now
        self._found = found
        self._named: dict[Server, tuple[str, ...]] = {}
        self._mute = set[Server]()
        self._shelf = Shelf({}, {})
        self._catalog = self._merged()
        self.on_overlay: Callable[[], None] = lambda: None
        """Called when what operators have set is taken over."""

    def catalog(self) -> Catalog:
        """The catalog of this moment."""
        return self._catalog

    @property
    def complete(self) -> bool:
        """Whether every server to be asked has answered at least once."""
        return len(self._named) == len(self._discover)

    @property
    def mute(self) -> int:
        """How many servers did not say which models they run when they were last asked."""
        return len(self._mute)

    def gone(self, name: str) -> bool:
        """Whether a name stands for nothing, and not only because a server has not yet said what it runs."""
        if self._catalog.resolve(name) is not None:
            return False
        retired = self._catalog.aliases.get(name, name) in self._shelf.models
        removed = self._shelf.aliases.get(name) == ""
        return self.complete or retired or removed

    def configure(
        self, configured: Sequence[Model], aliases: Mapping[str, str], discover: Sequence[Server], now: int
    ) -> None:
        """Takes over another configuration; what operators have set stands before it as before."""
        self._configured = _dated(configured, self._configured, now)
        self._aliases = dict(aliases)
        self._discover = tuple(discover)
        self._named = {server: names for server, names in self._named.items() if server in self._discover}
        self._mute.intersection_update(self._discover)
        self._refresh()

    @property
    def servers(self) -> frozenset[Server]:
        """Every server that a model runs on or that is asked for its models."""
        return frozenset((*self._discover, *(s for model in self._catalog.models.values() for s in model.servers)))

    def overlay(self, shelf: Shelf) -> None:
        """Takes over what operators have set: it stands before the configuration and what servers say."""
        if shelf != self._shelf:
            self._shelf = shelf
            self._refresh()
            self.on_overlay()

    async def once(self) -> bool:
        """Asks every server; never more to do at once."""
        for server in self._discover:
            names = await ask(self._connect(server))
            if isinstance(names, Failure):
                self._note_mute(server, names.message)
                continue
            was_mute = server in self._mute
            self._mute.discard(server)
            if was_mute or self._named.get(server) != tuple(names):
                log.info("%s runs %s", masked(server.url), ", ".join(names) or "no model")
            self._named[server] = tuple(names)
        self._refresh()
        return False

    def _note_mute(self, server: Server, why: str) -> None:
        """Tells it once, however often it is asked again; ``/readyz`` keeps telling."""
        if server not in self._mute:
            known = "; the models that it named stay" if server in self._named else ""
            log.warning("%s does not say which models it runs%s: %s", masked(server.url), known, why)
        self._mute.add(server)

    def _refresh(self) -> None:
        self._catalog = self._merged()
        for model in self._catalog.models.values():
            self._gates.resize(model)

    def _merged(self) -> Catalog:
        models: dict[str, Model] = dict(self._configured)
        for server, names in self._named.items():
            for name in names:
                if name in self._configured:
                    continue
                known = models.get(name)
                model = self._found(name, server)
                models[name] = replace(model, servers=(*(known.servers if known else ()), server), created_at=self._now)
        for name, set_model in self._shelf.models.items():
            models.pop(name, None)
            if set_model is not None:
                models[name] = set_model
        aliases = {name: model for name, model in {**self._aliases, **self._shelf.aliases}.items() if model}
        return Catalog(models=models, aliases=aliases, paused=self._shelf.paused)


def _dated(configured: Sequence[Model], known: Mapping[str, Model], now: int) -> dict[str, Model]:
    """Models by name; one that is new is as old as this moment."""
    since = {model.name: known[model.name].created_at if model.name in known else now for model in configured}
    return {m.name: m if m.created_at else replace(m, created_at=since[m.name]) for m in configured}
