"""POST /files: a form that streams into storage, whatever its order and size."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from starlette.types import Receive, Scope, Send

from hornada.api.create import LEAST_LIFETIME_S, MOST_LIFETIME_S, idempotency_key
from hornada.api.fields import choice, missing, number, within
from hornada.api.multipart import OVERHEAD, Form, boundary_of, malformed
from hornada.core.account import Principal
from hornada.core.errors import Code, HornadaError, Refusal
from hornada.core.file import File
from hornada.core.limits import DialectRules
from hornada.engine.drafts import Draft, check_size
from hornada.engine.files import Files, check_purpose

BLOCK = 1024 * 1024
"""Bytes of the file that are collected before they are written."""
DRAIN_BYTES = 256 * 1024 * 1024
DRAIN_S = 30.0
IDLE_S = 300.0
_POLICY = ("anchor", "seconds")


class Uploads:
    """Receives uploads for ``files``. A call returns the file and whether it is an earlier one, or raises.

    After an error raised here the answer must say ``connection: close``: the rest of the body was read only as far as
    ``drain_bytes`` and ``drain_s`` allow. It is read at all because a client may not listen before it has sent
    everything, and would see a reset instead of the answer (openai-node 6, measured).
    """

    def __init__(
        self,
        files: Files,
        *,
        drain_bytes: int = DRAIN_BYTES,
        drain_s: float = DRAIN_S,
        idle_s: float = IDLE_S,
    ) -> None:
        self._files = files
        self._drain_bytes = drain_bytes
        self._drain_s = drain_s
        self._idle_s = idle_s

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,  # noqa: ARG002 - the shape of the other handlers
        principal: Principal,
        rules: DialectRules,
        request_id: str,  # noqa: ARG002
    ) -> tuple[File, bool]:
        """Stores the file of a form, its parts in any order.

        Raises Refusal for everything that is wrong with the form or the file (413 as soon as the file is too large),
        and for a body that ends early, of which nothing stays; Unavailable when it cannot be stored.
        """
        headers: dict[bytes, bytes] = dict(scope["headers"])
        body = Body(receive, self._idle_s)
        try:
            self._check_head(headers)
            return await self._receive(headers, body, principal, rules)
        except HornadaError:
            if headers.get(b"expect", b"").lower() != b"100-continue" or body.begun:
                await body.drain(self._drain_bytes, self._drain_s)
            raise

    def _check_head(self, headers: Mapping[bytes, bytes]) -> None:
        coding = headers.get(b"content-encoding", b"identity").strip().lower()
        if coding not in {b"", b"identity"}:
            sent = coding[:64].decode("latin-1")
            message = f"Content-Encoding {sent!r} is not supported for uploads; send the file as it is."
            raise Refusal(Code.UNSUPPORTED_ENCODING, message, "file")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:18]) > self._files.max_bytes + OVERHEAD:
            check_size(int(length[:18]), self._files.max_bytes, whole=True)

    async def _receive(
        self, headers: Mapping[bytes, bytes], body: "Body", principal: Principal, rules: DialectRules
    ) -> tuple[File, bool]:
        key = idempotency_key(headers.get(b"idempotency-key", b"").decode("latin-1"))
        form = Form(boundary_of(headers.get(b"content-type", b"")))
        draft = await self._files.begin()
        try:
            await _fill(draft, form, body)
            lifetime_s = _lifetime(form.fields)
            purpose = _required(form.fields.get("purpose"), "purpose")
            name = _required(form.file_name, "file")
        except BaseException:
            await draft.abort()
            raise
        return await self._files.finish(
            draft,
            principal,
            rules,
            purpose=purpose,
            name=name,
            lifetime_s=lifetime_s,
            retry=_is_retry(headers),
            idempotency_key=key,
        )


class Body:
    """The bytes of a request, as they come."""

    def __init__(self, receive: Receive, idle_s: float) -> None:
        self._receive = receive
        self._idle_s = idle_s
        self._more = True
        self.begun = False

    async def read(self) -> bytes | None:
        """The next bytes, None behind the last; raises Refusal when the client goes or falls silent."""
        if not self._more:
            return None
        self.begun = True
        try:
            async with asyncio.timeout(self._idle_s):
                message = await self._receive()
        except TimeoutError:
            self._more = False
            raise malformed(f"The body stopped arriving for {self._idle_s:g} seconds.") from None
        if message["type"] == "http.disconnect":
            self._more = False
            raise malformed("The connection closed before the whole body had arrived.")
        self._more = message.get("more_body", False)
        data: bytes = message.get("body", b"")
        return data

    async def drain(self, most: int, seconds: float) -> None:
        """Reads and forgets the rest, up to ``most`` bytes and ``seconds``."""
        with suppress(TimeoutError, Refusal):
            async with asyncio.timeout(seconds):
                while most > 0 and (data := await self.read()) is not None:
                    most -= len(data)


async def _fill(draft: Draft, form: Form, body: Body) -> None:
    """Reads the body to its end; the file's bytes go to the draft."""
    while (data := await body.read()) is not None:
        form.feed(data)
        if "purpose" in form.fields:  # no later part can mend a wrong one
            check_purpose(form.fields["purpose"])
        if form.taken_bytes >= BLOCK:
            await draft.write(form.take())
    await draft.write(form.take())
    if not form.whole:
        raise malformed("The body ended before the closing boundary of the form.")


def _required(value: str | None, name: str) -> str:
    if value is None:
        raise missing(name)
    return value


def _lifetime(fields: Mapping[str, str]) -> int | None:
    """``expires_after`` in OpenAI's spelling with brackets or Azure's with a dot; 3,600 to 2,592,000 seconds."""
    anchor, seconds = (fields.get(f"expires_after[{key}]", fields.get(f"expires_after.{key}")) for key in _POLICY)
    if anchor is None and seconds is None:
        return None
    choice(_required(anchor, "expires_after[anchor]"), "expires_after[anchor]", ("created_at",))
    name = "expires_after[seconds]"
    return within(number(_required(seconds, name), name), name, LEAST_LIFETIME_S, MOST_LIFETIME_S)


def _is_retry(headers: Mapping[bytes, bytes]) -> bool:
    """Whether an official SDK sends this for the second time or later (R13)."""
    count = headers.get(b"x-stainless-retry-count", b"")
    return count.isdigit() and count.strip(b"0") != b""
