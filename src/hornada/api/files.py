"""Calls under ``/files``."""

from hornada.api.call import Call, Response, json_response
from hornada.api.content import content
from hornada.api.paging import file_page
from hornada.api.services import Services
from hornada.api.uploads import Uploads
from hornada.core.file import Purpose
from hornada.core.page import Page


class FileCalls:
    """Upload, list, show, download and delete."""

    def __init__(self, services: Services) -> None:
        self._files = services.files
        self._uploads = Uploads(services.files)

    async def upload(self, call: Call) -> Response:
        """``POST /files``."""
        rules, call.closing = call.dialect.rules, True
        file, earlier = await self._uploads(call.scope, call.receive, call.send, call.principal, rules, call.id)
        headers = deduplicated(call, call.dialect.file_id(file.id)) if earlier else ()
        return json_response(call.dialect.file(file), headers=headers)

    async def page(self, call: Call) -> Response:
        """``GET /files``; a purpose that no file here has is no error, there are just none."""
        wanted = file_page(call.query())
        if wanted.purpose is not None and wanted.purpose not in set(Purpose):
            return json_response(call.dialect.files(Page((), more=False)))
        page = await self._files.page(
            call.principal,
            after=wanted.after,
            limit=wanted.limit,
            order="desc" if wanted.newest_first else "asc",
            purpose=None if wanted.purpose is None else Purpose(wanted.purpose),
            created=wanted.created,
        )
        return json_response(call.dialect.files(page))

    async def get(self, call: Call) -> Response:
        """``GET /files/{id}``."""
        return json_response(call.dialect.file(await self._files.get(call.principal, call.params["id"])))

    async def content(self, call: Call) -> None:
        """``GET /files/{id}/content``: the bytes themselves, never a redirect."""
        file = await self._files.get(call.principal, call.params["id"])
        names = tuple(name.encode() for name in call.dialect.sha_headers)
        await content(call.scope, call.receive, call.send, file, self._files.stream, names, call.id)

    async def delete(self, call: Call) -> Response:
        """``DELETE /files/{id}``; reads no body, whatever the client sends."""
        return json_response(call.dialect.deleted(await self._files.delete(call.principal, call.params["id"])))


def deduplicated(call: Call, spelled: str) -> tuple[tuple[bytes, bytes], ...]:
    """The headers that name the earlier object which answers this call."""
    return tuple((name.encode(), spelled.encode()) for name in call.dialect.dedup_headers)
