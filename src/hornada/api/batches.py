"""Calls under ``/batches``."""

from hornada.api.call import Call, Response, json_response
from hornada.api.create import batchable, parse
from hornada.api.files import deduplicated
from hornada.api.paging import batch_page
from hornada.api.services import Services
from hornada.core.batch import Batch, Status
from hornada.core.errors import Code, Refusal
from hornada.dialects.protocol import Json


class BatchCalls:
    """Create, list, show, pause, resume and cancel."""

    def __init__(self, services: Services) -> None:
        self._batches = services.batches
        self._catalog = services.catalog
        self._pace = services.pace

    async def create(self, call: Call) -> Response:
        """``POST /batches``: checks its own fields; what is wrong with the file shows later, on the batch."""
        rules = call.dialect.rules
        wanted = parse(
            await call.json(),
            batchable(self._catalog(), rules),
            call.header(b"idempotency-key"),
            unversioned=rules.unversioned,
        )
        batch, earlier = await self._batches.create(
            call.principal,
            rules,
            input_file=wanted.input_file,
            endpoint=wanted.endpoint,
            completion_window=wanted.completion_window,
            metadata=wanted.metadata,
            output_lifetime_s=wanted.output_lifetime_s,
            retry=call.retry,
            idempotency_key=wanted.idempotency_key,
        )
        headers = deduplicated(call, call.dialect.batch_id(batch.id)) if earlier else ()
        return json_response(await self._shown(call, batch), headers=headers)

    async def page(self, call: Call) -> Response:
        """``GET /batches``, newest first."""
        wanted = batch_page(call.query(), call.dialect.word)
        page = await self._batches.page(call.principal, after=wanted.after, limit=wanted.limit, only=wanted.only)
        spelled = call.dialect.batches(page)
        found = await self._pace.of(page.items)
        for shown, batch in zip(spelled["data"], page.items, strict=True):
            shown.update(call.dialect.outlook(batch, found[batch.id]))
        return json_response(spelled)

    async def get(self, call: Call) -> Response:
        """``GET /batches/{id}``."""
        return json_response(await self._shown(call, await self._batches.get(call.principal, call.params["id"])))

    async def cancel(self, call: Call) -> Response:
        """``POST /batches/{id}/cancel``; reads no body, whatever the client sends."""
        return json_response(await self._shown(call, await self._cancelled(call)))

    async def pause(self, call: Call) -> Response:
        """``POST /batches/{id}/pause``; reads no body."""
        return json_response(await self._shown(call, await self._batches.pause(call.principal, call.params["id"])))

    async def resume(self, call: Call) -> Response:
        """``POST /batches/{id}/resume``; reads no body."""
        return json_response(await self._shown(call, await self._batches.resume(call.principal, call.params["id"])))

    async def _shown(self, call: Call, batch: Batch) -> Json:
        return call.dialect.batch(batch) | call.dialect.outlook(batch, (await self._pace.of([batch]))[batch.id])

    async def _cancelled(self, call: Call) -> Batch:
        """Cancelling a cancelled batch is a refusal in InferNode's contract and 200 in OpenAI's (R22)."""
        try:
            return await self._batches.cancel(call.principal, call.params["id"])
        except Refusal as refusal:
            if refusal.code is not Code.BATCH_NOT_CANCELLABLE or not call.dialect.cancel_cancelled_ok:
                raise
            batch = await self._batches.get(call.principal, call.params["id"])
            if batch.status is not Status.CANCELLED:
                raise
            return batch
