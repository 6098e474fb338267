"""``POST /batches/validate``: the whole check of a file, uploaded before or sent now, without running it."""

from collections.abc import Mapping

from hornada.api.call import JSON, Call, Response, json_response
from hornada.api.create import batchable, endpoint_of
from hornada.api.fields import choice, missing, required, text
from hornada.api.incoming import BLOCK, Body, Patience, check_coding, declared, pour, reading
from hornada.api.multipart import OVERHEAD, Form, boundary_of
from hornada.api.services import Services
from hornada.dialects.protocol import Dialect, Json
from hornada.engine.checkup import Checkup
from hornada.engine.drafts import Draft, check_size

_PATIENCE = Patience()
_FORM = b"multipart/form-data"


class ValidateCalls:
    """Checkups."""

    def __init__(self, services: Services) -> None:
        self._checkups = services.checkups
        self._catalog = services.catalog
        self._currency = services.currency

    async def validate(self, call: Call) -> Response:
        """``POST /batches/validate``: JSON names an uploaded file; a form or any other body is the file itself."""
        kind = (call.header(b"content-type") or "").partition(";")[0].strip().lower().encode("latin-1")
        with self._checkups.place(call.principal):
            if kind == JSON:
                endpoint, found = await self._uploaded(call)
            else:
                call.closing = True
                endpoint, found = await self._sent(call, form=kind == _FORM)
        return json_response(self._report(call.dialect, endpoint, found))

    async def _uploaded(self, call: Call) -> tuple[str, Checkup]:
        body = await call.json()
        file_id = text(required(body, "input_file_id"), "input_file_id")
        endpoint = self._endpoint(call, required(body, "endpoint"))
        return endpoint, await self._checkups.file(call.principal, call.dialect.rules, file_id, endpoint)

    async def _sent(self, call: Call, *, form: bool) -> tuple[str, Checkup]:
        headers: dict[bytes, bytes] = dict(call.scope["headers"])
        async with reading(call.scope, call.receive, _PATIENCE) as body:
            check_coding(headers, "file")
            size, most = declared(headers), self._checkups.max_bytes
            if size > most + (OVERHEAD if form else 0):
                check_size(size, most, whole=True)
            given: object = call.query().get("endpoint")
            endpoint = None if form and given is None else self._endpoint(call, _given(given))
            draft = await self._checkups.begin()
            try:
                given = await (_form(draft, headers, body) if form else _raw(draft, body))
                endpoint = endpoint or self._endpoint(call, _given(given))
            except BaseException:
                await draft.abort()
                raise
        return endpoint, await self._checkups.draft(call.principal, call.dialect.rules, draft, endpoint)

    def _endpoint(self, call: Call, given: object) -> str:
        rules = call.dialect.rules
        return choice(endpoint_of(given, unversioned=rules.unversioned), "endpoint", batchable(self._catalog(), rules))

    def _report(self, dialect: Dialect, endpoint: str, found: Checkup) -> Json:
        errors = [
            {"code": dialect.code(each.code), "line": each.line, "message": each.message, "param": each.param}
            for each in found.findings
        ]
        return {
            "object": "batch.validation",
            "valid": not found.found,
            "endpoint": endpoint,
            "model": found.model,
            "bytes": found.bytes,
            "lines": found.total,
            "embedding_inputs": found.inputs,
            "error_count": found.found,
            "errors": {"object": "list", "data": errors} if errors else None,
            "estimate": {
                "input_tokens": found.estimate.input,
                "output_tokens_limit": None if found.estimate.unlimited else found.estimate.output,
                "lines_without_limit": found.estimate.unlimited,
                "input_cost": found.cost,
                "cost_limit": found.cost_limit,
                "currency": self._currency,
            },
        }


async def _form(draft: Draft, headers: Mapping[bytes, bytes], body: Body) -> str | None:
    """Takes the file of a form in; the endpoint that it names."""
    form = Form(boundary_of(headers.get(b"content-type", b"")))
    async for _ in pour(body, form, draft):
        pass
    if form.file_name is None:
        raise missing("file")
    return form.fields.get("endpoint")


async def _raw(draft: Draft, body: Body) -> None:
    """Takes a body in that is the file."""
    block = bytearray()
    while (data := await body.read()) is not None:
        block += data
        if len(block) >= BLOCK:
            await draft.write(bytes(block))
            block.clear()
    if block:
        await draft.write(bytes(block))


def _given(endpoint: object) -> object:
    if endpoint is None:
        raise missing("endpoint")
    return endpoint
