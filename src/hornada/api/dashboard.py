"""Calls under ``/ui``: the dashboard's page and its files."""

import asyncio
from collections.abc import Mapping
from functools import cached_property

from hornada.api.call import Call
from hornada.api.services import Services
from hornada.core.errors import Code, Refusal
from hornada.ui.files import Dashboard, File

_SPOKEN = ("infernode", "openai")
"""Dialects that the page understands, the best first."""


def base_of(dialects: Mapping[str, str]) -> str | None:
    """The base path at which the page calls the API; None where no dialect that it understands is mounted."""
    return next((base for spoken in _SPOKEN for base, name in dialects.items() if name == spoken), None)


class DashboardCalls:
    """Sends the files."""

    def __init__(self, services: Services) -> None:
        self._base = base_of(services.dialects) if services.dashboard_enabled else None
        self._enabled = services.dashboard_enabled

    @property
    def there(self) -> bool:
        """Whether there is a dashboard."""
        return self._base is not None

    async def page(self, call: Call) -> None:
        """``GET /ui`` and ``GET /ui/``: the page, which finds its files from either."""
        await self._send(call, "" if call.scope["path"].endswith("/") else ".")

    async def file(self, call: Call) -> None:
        """``GET /ui/{path}``: a file, or the news that it has not changed."""
        await self._send(call, call.params["path"])

    @cached_property
    def _dashboard(self) -> Dashboard:
        if self._base is None:
            needed = f"it needs a dialect of {' or '.join(_SPOKEN)}, and none is mounted"
            why = needed if self._enabled else "server.dashboard is false"
            raise Refusal(Code.NOT_FOUND, f"There is no dashboard: {why}.")
        return Dashboard(self._base)

    async def _send(self, call: Call, path: str) -> None:
        found = await asyncio.to_thread(self._dashboard.find, path)
        if found is None:
            raise Refusal(Code.FILE_NOT_FOUND, "The dashboard has no such file; load its page again.")
        await _send(call, found)


async def _send(call: Call, file: File) -> None:
    known = call.header(b"if-none-match") or ""
    fresh = known == "*" or file.tag.decode() in known.replace("W/", "").split(", ")
    packs = "gzip" in (call.header(b"accept-encoding") or "")
    headers = [*file.headers, (b"etag", file.tag), (b"vary", b"accept-encoding")]
    if fresh:
        await call.send({"type": "http.response.start", "status": 304, "headers": headers})
        await call.send({"type": "http.response.body", "body": b""})
        return
    body = file.packed if packs else file.body
    headers += [(b"content-encoding", b"gzip")] if packs else []
    headers.append((b"content-length", b"%d" % len(body)))
    await call.send({"type": "http.response.start", "status": 200, "headers": headers})
    await call.send({"type": "http.response.body", "body": b"" if call.scope["method"] == "HEAD" else body})
