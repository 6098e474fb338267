"""How admin commands reach the server: over HTTP, or without one through the ledger of the configuration."""

import json
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from hornada.cli.settings import settings
from hornada.config import Config, ProcessRole
from hornada.core.errors import HornadaError
from hornada.service import Ask, local

Json = dict[str, Any]

_TIMEOUT_S = 30.0
_PAGE = 100


class Refused(Exception):
    """The server said no; the message is for people."""


class Unreached(Exception):
    """There is no server, or it cannot answer now."""


class Desk:
    """Calls of the routes under ``/admin``."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def __call__(self, method: str, *path: str, body: Any = None, **query: str | int | None) -> Json:
        """Calls ``/admin/<path>``, its pieces quoted here. Raises Refused and Unreached."""
        given = {name: value for name, value in query.items() if value is not None}
        target = "/admin/" + "/".join(quote(piece, safe="") for piece in path)
        target += f"?{urlencode(given)}" if given else ""
        status, answer = self._ask(method, target, b"" if body is None else json.dumps(body).encode())
        try:
            found: Json = json.loads(answer)
        except ValueError:
            raise Unreached(f"What answers at this address is no Hornada: {status} {answer[:100]!r}") from None
        if status >= 500:
            raise Unreached(found["error"]["message"])
        if status >= 400:
            raise Refused(f"{found['error']['message']} ({found['error']['code']})")
        return found

    def all(self, *path: str, most: int | None = None, **query: str | None) -> list[Json]:
        """The items of every page of a list, or the first ``most`` of them."""
        found: list[Json] = []
        after: str | None = None
        while most is None or len(found) < most:
            limit = _PAGE if most is None else min(_PAGE, most - len(found))
            page = self("GET", *path, after=after, limit=limit, **query)
            found += page["data"]
            if not page["has_more"]:
                break
            after = page["last_id"]
        return found

    def organization(self, wanted: str) -> str:
        """The id of an organization given by its name or its id."""
        named = self("GET", "organizations", name=wanted)["data"]
        return str(named[0]["id"]) if named else wanted

    def member(self, organization: str, wanted: str) -> str:
        """The id of a member of an organization given by its id, or by its name if only one is called so."""
        found = [each["id"] for each in self.all("organizations", organization, "members") if each["name"] == wanted]
        if len(found) > 1:
            raise Refused(f"{len(found)} members are called '{wanted}': {', '.join(found)}. Give the id.")
        return str(found[0]) if found else wanted


@contextmanager
def opened(url: str | None, key: str | None, config: Path | None, data: str | None) -> Iterator[Desk]:
    """A desk at ``url``; without one where the configuration's server listens; if none does, at its ledger.

    A worker answers no such calls, so beside one it is the ledger too.
    Raises Refused when there is no key for a server that runs, or another process holds the ledger.
    """
    found = settings(config, {"data": data})
    key = key or found.server.operator_key
    at = url or _address(found)
    if url is not None or (found.role is not ProcessRole.WORKER and _listens(at)):
        if key is None:
            raise Refused(f"The server at {at} wants a key: give --key, HORNADA_KEY or server.operator_key.")
        trust = _trust(found.server.tls_certificate if url is None else None)
        yield Desk(lambda method, path, body: _over_http(at, key, method, path, body, trust))
        return
    from hornada.service.lock import Locked

    kind, _, path = found.storage.database.partition(":///")
    does = "opening" if kind != "sqlite" or Path(path).exists() else "there is no ledger yet: making"
    sys.stderr.write(f"No server answers calls at {at}; {does} {found.storage.database.split('@')[-1]}\n")
    try:
        with local(found, key) as ask:
            yield Desk(ask)
    except Locked as error:
        raise Refused(f"{error}, but not at {at}: say where it listens with --url.") from None
    except ValueError as error:
        raise Refused(str(error)) from error
    except HornadaError as error:
        raise Unreached(str(error)) from error


def _address(config: Config) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.server.host, config.server.host)  # noqa: S104 - not to bind
    scheme = "http" if config.server.tls_certificate is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{config.server.port}"


def _trust(own: str | None) -> ssl.SSLContext:
    """Whom to believe: the system's authorities; at this machine's own server its certificate, whatever it names."""
    context = ssl.create_default_context(cafile=own)
    context.check_hostname = own is None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _listens(url: str) -> bool:
    parts = urlsplit(url)
    try:
        socket.create_connection(
            (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)), timeout=2
        ).close()
    except OSError:
        return False
    return True


def _over_http(url: str, key: str, method: str, path: str, body: bytes, trust: ssl.SSLContext) -> tuple[int, bytes]:
    import http.client

    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection = (
        http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=trust)
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    )
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    try:
        connection.request(method, parts.path.rstrip("/") + path, body or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Unreached(f"{url} does not answer: {error or type(error).__name__}") from None
    finally:
        connection.close()


def environment(name: str) -> str | None:
    """A variable; an empty one counts as absent."""
    return os.environ.get(name) or None
