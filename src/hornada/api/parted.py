"""Calls under ``/uploads``: a file that comes in parts, OpenAI's Uploads API."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from hornada.api.call import Call, Response, json_response
from hornada.api.create import idempotency_key, lifetime
from hornada.api.fields import missing, required, text, whole, within, wrong_type
from hornada.api.files import deduplicated
from hornada.api.incoming import Body, Patience, check_coding, declared, pour, reading
from hornada.api.multipart import OVERHEAD, Form, boundary_of, display_name
from hornada.api.services import Services
from hornada.core.errors import Code, Refusal
from hornada.engine.uploads import PART_BYTES, PartDraft

MOST_BYTES = 1 << 62
_PATIENCE = Patience()
_HEX = re.compile(r"[0-9a-fA-F]{32}\Z")
_MD5_BYTES = 16


class UploadCalls:
    """Begin, take a part, complete, cancel."""

    def __init__(self, services: Services, patience: Patience = _PATIENCE) -> None:
        self._uploads = services.uploads
        self._patience = patience

    async def create(self, call: Call) -> Response:
        """``POST /uploads``. ``mime_type`` must be there, as at OpenAI, and is not looked at: content is."""
        body = await call.json()
        size = within(whole(required(body, "bytes"), "bytes"), "bytes", 1, MOST_BYTES)
        name = display_name(text(required(body, "filename"), "filename"))
        text(required(body, "mime_type"), "mime_type")
        upload = await self._uploads.create(
            call.principal,
            size=size,
            name=name,
            purpose=text(required(body, "purpose"), "purpose"),
            lifetime_s=lifetime(body.get("expires_after"), "expires_after"),
        )
        return json_response(call.dialect.upload(upload, None))

    async def add(self, call: Call) -> Response:
        """``POST /uploads/{id}/parts``: a form with one part named ``data``, streamed into storage."""
        call.closing = True
        headers: dict[bytes, bytes] = dict(call.scope["headers"])
        async with reading(call.scope, call.receive, self._patience) as body:
            draft = await self._uploads.begin(call.principal, call.params["id"])
            try:
                await _receive(draft, headers, body)
            except BaseException:
                await draft.abort()
                raise
        part = await self._uploads.add(draft, call.principal)
        return json_response(call.dialect.part(part))

    async def complete(self, call: Call) -> Response:
        """``POST /uploads/{id}/complete``: the file is the parts in the order in which they are named."""
        body = await call.json()
        header_key = call.header(b"idempotency-key")
        upload, file, earlier = await self._uploads.complete(
            call.principal,
            call.dialect.rules,
            call.params["id"],
            part_ids=_part_ids(required(body, "part_ids")),
            md5=_md5(body.get("md5")),
            retry=call.retry,
            idempotency_key=idempotency_key(header_key),
        )
        headers = deduplicated(call, call.dialect.file_id(file.id)) if earlier and file else ()
        return json_response(call.dialect.upload(upload, file), headers=headers)

    async def cancel(self, call: Call) -> Response:
        """``POST /uploads/{id}/cancel``; reads no body, whatever the client sends."""
        upload = await self._uploads.cancel(call.principal, call.params["id"])
        return json_response(call.dialect.upload(upload, None))


async def _receive(draft: PartDraft, headers: Mapping[bytes, bytes], body: Body) -> None:
    check_coding(headers, "data")
    if declared(headers) > PART_BYTES + OVERHEAD:
        message = f"The part is too large: {declared(headers):,} bytes were sent, a part may have {PART_BYTES:,} bytes."
        raise Refusal(Code.FILE_TOO_LARGE, message, "data")
    form = Form(boundary_of(headers.get(b"content-type", b"")), name="data")
    async for _ in pour(body, form, draft):
        pass
    if form.file_name is None:
        raise missing("data")


def _part_ids(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise wrong_type("part_ids", "an array", value)
    return [text(each, f"part_ids[{at}]") for at, each in enumerate(value)]


def _md5(value: object) -> str | None:
    """Lower-case hex; OpenAI does not say whether it wants hex or base64, so both are taken."""
    if value is None or value == "":
        return None
    given = text(value, "md5")
    if _HEX.match(given):
        return given.lower()
    try:
        digest = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != _MD5_BYTES:
        message = "Invalid value for 'md5': expected 32 hexadecimal digits, or the 16 bytes in base64."
        raise Refusal(Code.INVALID_VALUE, message, "md5")
    return digest.hex()
