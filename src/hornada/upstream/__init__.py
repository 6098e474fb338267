"""Model servers: send, stream, gauge; each call ends in a Reply or a Failure."""

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from hornada.core.catalog import Server
from hornada.upstream.protocol import Upstream


def connect(server: Server) -> Upstream:
    """A client for one model server; it opens no connection before the first call.

    A plain ``http`` or ``https`` address gets the lean client; one behind a proxy (``HTTPS_PROXY``, ``NO_PROXY`` and
    so on) or with a password in its address the general one. Raises ValueError when the address is no HTTP address.
    """
    parts = urlsplit(server.url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        msg = f"A model server's address must start with http:// or https:// and name a host: {server.url!r}."
        raise ValueError(msg)
    proxy = _proxy(parts.scheme, parts.hostname)
    if proxy is None and parts.username is None:
        from hornada.upstream.lean import Lean

        return Lean(server)
    from hornada.upstream.general import General

    return General(server, proxy)


def _proxy(scheme: str, host: str) -> str | None:
    proxies = getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    return None if found is None or proxy_bypass(host) else found
