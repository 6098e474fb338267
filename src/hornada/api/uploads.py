"""POST /files: a form that streams into storage, whatever its order and size."""

from collections.abc import Mapping
from contextlib import aclosing

from starlette.types import Receive, Scope, Send

from hornada.api.create import LEAST_LIFETIME_S, MOST_LIFETIME_S, idempotency_key
from hornada.api.fields import choice, missing, number, within
from hornada.api.incoming import Body, Patience, check_coding, declared, pour, reading
from hornada.api.multipart import OVERHEAD, Form, boundary_of
from hornada.core.account import Principal
from hornada.core.file import File
from hornada.core.limits import DialectRules
from hornada.engine.drafts import Draft, check_size
from hornada.engine.files import Files, check_purpose

_PATIENCE = Patience()
_POLICY = ("anchor", "seconds")


class Uploads:
    """Receives uploads for ``files``. A call returns the file and whether it is an earlier one, or raises.

    After an error raised here the answer must say ``connection: close``: see ``incoming.reading``.
    """

    def __init__(self, files: Files, patience: Patience = _PATIENCE) -> None:
        self._files = files
        self._patience = patience

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
        async with reading(scope, receive, self._patience) as body:
            check_coding(headers, "file")
            if declared(headers) > self._files.max_bytes + OVERHEAD:
                check_size(declared(headers), self._files.max_bytes, whole=True)
            return await self._receive(headers, body, principal, rules)

    async def _receive(
        self, headers: Mapping[bytes, bytes], body: Body, principal: Principal, rules: DialectRules
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


async def _fill(draft: Draft, form: Form, body: Body) -> None:
    """Reads the body to its end; the file's bytes go to the draft."""
    async with aclosing(pour(body, form, draft)) as steps:
        async for _ in steps:
            if "purpose" in form.fields:  # no later part can mend a wrong one
                check_purpose(form.fields["purpose"])


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
