"""Calls under ``/admin/models`` and ``/admin/aliases``: what the operator does to the catalog."""

from typing import Any

from hornada.api.admin_fields import Fields, name_of
from hornada.api.call import Call, Response, json_response
from hornada.api.fields import text
from hornada.api.services import Services
from hornada.core.catalog import Model
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.core.kinds import MODEL_NAME, NAME_LENGTH
from hornada.core.model_table import read_model, read_price, write_model
from hornada.core.table import Problems, shown
from hornada.engine.rights import check_operator

_SHOWN_ONLY = {"object", "paused", "created_at"}


class CatalogCalls:
    """List, show, set, pause and retire models; list, set and remove aliases. Secrets are never shown."""

    def __init__(self, services: Services) -> None:
        self._curator = services.curator

    async def models(self, call: Call) -> Response:
        """``GET /admin/models``: every model, with its servers."""
        models = self._curator.catalog(call.principal).models.values()
        return json_response({"object": "list", "data": [self._shown(call, model) for model in models]})

    async def model(self, call: Call) -> Response:
        """``GET /admin/models/{name}``, by catalog name."""
        return json_response(self._shown(call, self._curator.model(call.principal, call.params["name"])))

    async def put_model(self, call: Call) -> Response:
        """``PUT /admin/models/{name}``: adds a model or changes one, with the keys of ``[[models]]``.

        What is not given has its default. A secret that is sent back masked stays what it was.
        """
        check_operator(call.principal)
        name = name_of(call.params["name"], most=NAME_LENGTH)
        body = {key: value for key, value in (await call.json()).items() if key not in _SHOWN_ONLY}
        if body.setdefault("name", name) != name:
            raise Refusal(Code.INVALID_VALUE, f"The path names the model '{name}', the body another one.", "name")
        problems = Problems()
        model = read_model(_given(body), "", problems)
        _check(problems)
        assert model is not None
        return json_response(self._shown(call, await self._curator.put_model(call.principal, model)))

    async def put_price(self, call: Call) -> Response:
        """``PUT /admin/models/{name}/price``: what calls that are answered from now on cost."""
        check_operator(call.principal)
        problems = Problems()
        price = read_price(_given(await call.json()), "", problems)
        _check(problems)
        return json_response(
            self._shown(call, await self._curator.put_price(call.principal, call.params["name"], price))
        )

    async def retire(self, call: Call) -> Response:
        """``DELETE /admin/models/{name}``: the model is not there any more, wherever it came from."""
        model = await self._curator.retire(call.principal, call.params["name"])
        return json_response({"id": model.name, "object": "model", "retired": True})

    async def pause(self, call: Call) -> Response:
        """``POST /admin/models/{name}/pause``: no line of it starts; regular calls go on."""
        return json_response(self._shown(call, await self._curator.pause(call.principal, call.params["name"])))

    async def resume(self, call: Call) -> Response:
        """``POST /admin/models/{name}/resume``."""
        return json_response(self._shown(call, await self._curator.resume(call.principal, call.params["name"])))

    async def aliases(self, call: Call) -> Response:
        """``GET /admin/aliases``."""
        return json_response(call.dialect.aliases(self._curator.catalog(call.principal).aliases))

    async def put_alias(self, call: Call) -> Response:
        """``PUT /admin/aliases/{name}``: points an alias at a model, also while batches that use it run."""
        check_operator(call.principal)
        alias = name_of(call.params["name"], "alias", NAME_LENGTH)
        if not MODEL_NAME.allows(alias):
            raise Refusal(Code.INVALID_VALUE, f"An alias must be {MODEL_NAME.words}, not {shown(alias)}.", "alias")
        model = text(Fields(await call.json(), "model").needed("model"), "model")
        await self._curator.put_alias(call.principal, alias, model)
        return json_response({"id": alias, "object": "alias", "alias": alias, "name": model, "model": model})

    async def drop_alias(self, call: Call) -> Response:
        """``DELETE /admin/aliases/{name}``."""
        alias = call.params["name"]
        await self._curator.drop_alias(call.principal, alias)
        return json_response({"id": alias, "object": "alias", "deleted": True})

    def _shown(self, call: Call, model: Model) -> dict[str, Any]:
        paused = model.name in self._curator.catalog(call.principal).paused
        created_at = model.created_at // SECOND
        return {"object": "model", **write_model(model), "paused": paused, "created_at": created_at}


def _given(value: Any) -> Any:
    """A body without the keys that are null: in a table of settings such a key is absent."""
    if isinstance(value, dict):
        return {key: _given(each) for key, each in value.items() if each is not None}
    return [_given(each) for each in value] if isinstance(value, list) else value


def _check(problems: Problems) -> None:
    if problems.lines:
        param = problems.lines[0].partition(":")[0]
        raise Refusal(Code.INVALID_VALUE, "; ".join(problems.lines) + ".", param)
