"""Calls under ``/models``: what the caller's key may use."""

from hornada.api.call import Call, Response, json_response
from hornada.api.services import Services
from hornada.core.account import Principal
from hornada.core.catalog import Catalog, Model, no_such_model
from hornada.core.errors import Code, Refusal


class ModelCalls:
    """List, show, and the list of aliases."""

    def __init__(self, services: Services) -> None:
        self._catalog = services.catalog

    async def list(self, call: Call) -> Response:
        """``GET /models``: exact catalog names."""
        catalog = self._catalog()
        may = usable(call.principal, catalog)
        return json_response(call.dialect.models([model for name, model in catalog.models.items() if name in may]))

    async def get(self, call: Call) -> Response:
        """``GET /models/{id}``, by catalog name or alias."""
        catalog, name = self._catalog(), call.params["id"]
        return json_response(call.dialect.model(known(call.principal, catalog, name)))

    async def aliases(self, call: Call) -> Response:
        """``GET /models/aliases``: the names to use in files, because they outlive a change of model."""
        catalog = self._catalog()
        may = usable(call.principal, catalog)
        named = {alias: name for alias, name in catalog.aliases.items() if name in may}
        return json_response(call.dialect.aliases(named))


def usable(principal: Principal, catalog: Catalog) -> frozenset[str]:
    """Catalog names of the models that a key may use; its list may name them by alias too."""
    if principal.models is None:
        return frozenset(catalog.models)
    return frozenset(catalog.aliases.get(name, name) for name in principal.models) & catalog.models.keys()


def known(principal: Principal, catalog: Catalog, name: str) -> Model:
    """A model by catalog name or alias; one that the key may not use is as unknown as one that does not exist."""
    model = catalog.resolve(name)
    if model is None or model.name not in usable(principal, catalog):
        raise Refusal(Code.MODEL_NOT_FOUND, no_such_model(name, catalog.usable(principal.models)), "model")
    return model
