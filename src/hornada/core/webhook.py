"""Webhooks: where an organization hears of its batches, what is said there, and how each message fares."""

import base64
import re
import secrets
from enum import StrEnum
from ipaddress import ip_network
from urllib.parse import urlsplit

from msgspec import Struct

from hornada.core.batch import Status
from hornada.core.network import Network, is_open, literal

URL_LENGTH = 2048
SECRET_PREFIX = "whsec_"  # noqa: S105 - Standard Webhooks' word, no secret
RETRY_S = 72 * 3600
"""For so long after an event its delivery is tried again (OpenAI: up to 72 hours)."""
OVERLAP_S = 24 * 3600
"""For so long the secret before signs too, where that is asked for at its rotation (OpenAI)."""

_KEY_BYTES = 36
_PRINTED = re.compile(r"[!-;=?-\[\]_a-z~]+\Z")
_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.(?!-)[A-Za-z0-9_-]{1,63})*\.?\Z")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\Z")
_LOCAL = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


class EventType(StrEnum):
    """What can be heard of; OpenAI's names."""

    COMPLETED = "batch.completed"
    FAILED = "batch.failed"
    CANCELLED = "batch.cancelled"
    EXPIRED = "batch.expired"


EVENT_OF: dict[Status, EventType] = {
    Status.COMPLETED: EventType.COMPLETED,
    Status.FAILED: EventType.FAILED,
    Status.CANCELLED: EventType.CANCELLED,
    Status.EXPIRED: EventType.EXPIRED,
}
"""The event of the arrival in each of the four ends."""


class WebhookRules(Struct, frozen=True, kw_only=True):
    """What the operator lets webhooks do (``[webhooks]``). Times in seconds.

    ``allow_http``: without TLS; ``allow_private``: to any address; ``allow_networks``: to these though they are not
    public. ``timeout_s``: of one attempt from the look-up of its name to the end of the answer's head. ``endpoints``:
    of an organization. ``disable_after_s``: for so long an endpoint may fail. ``log_lifetime_s``: of a delivery that
    has ended.
    """

    enabled: bool = True
    allow_http: bool = False
    allow_private: bool = False
    allow_networks: tuple[str, ...] = ()
    timeout_s: float = 15
    endpoints: int = 20
    disable_after_s: int = 5 * 86_400
    log_lifetime_s: int = 30 * 86_400

    @property
    def networks(self) -> tuple[Network, ...]:
        """All networks that may be asked beside the public ones."""
        every = ("0.0.0.0/0", "::/0") if self.allow_private else ()
        return tuple(ip_network(each) for each in (*every, *self.allow_networks))


class EndpointStatus(StrEnum):
    """Whether events are sent."""

    ENABLED = "enabled"
    DISABLED = "disabled"


class WhyDisabled(StrEnum):
    """Who or what disabled an endpoint."""

    ASKED = "asked"
    GONE = "gone"
    """It answered 410."""
    FAILING = "failing"


class Endpoint(Struct, frozen=True, kw_only=True):
    """One row of ``webhook_endpoint``. Times in microseconds since 1970; secrets are what signs, in clear.

    ``failing_since``: nothing has been delivered since, and something was tried.
    """

    id: str
    org: str
    name: str
    url: str
    events: frozenset[str]
    secret: str
    old_secret: str | None = None
    old_secret_until: int | None = None
    status: EndpointStatus = EndpointStatus.ENABLED
    why_disabled: WhyDisabled | None = None
    failing_since: int | None = None
    last_failed_at: int | None = None
    created_at: int
    updated_at: int

    def secrets_at(self, now: int) -> tuple[str, ...]:
        """Every secret that signs at a moment, the newest first."""
        old = self.old_secret if self.old_secret and now < (self.old_secret_until or 0) else None
        return (self.secret, old) if old else (self.secret,)


class DeliveryStatus(StrEnum):
    """Where a delivery stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class Delivery(Struct, frozen=True, kw_only=True):
    """One row of ``webhook_delivery``: one event on its way to one endpoint.

    ``event`` is also its ``webhook-id``, the same at every attempt. ``next_at``: when it is tried (again), or while it
    is being tried, when its attempt is given up for lost. ``until``: no attempt begins later. ``code``: the status of
    the last answer; ``took_ms``: how long the last attempt took; ``error``: why it came to nothing.
    """

    id: str
    org: str
    endpoint: str
    event: str
    type: str
    subject: str
    body: str
    status: DeliveryStatus
    attempts: int
    next_at: int
    until: int
    tried_at: int | None = None
    code: int | None = None
    took_ms: int | None = None
    error: str | None = None
    created_at: int
    ended_at: int | None = None
    trial: bool = False
    """Sent because somebody wanted to see whether the endpoint works; once, whatever comes of it."""


def new_webhook_secret() -> str:
    """A fresh secret, 288 random bits. Its key is text, for receivers that take a secret as it is."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_urlsafe(_KEY_BYTES).encode()).decode()


def fault_of_url(url: str, rules: WebhookRules) -> str | None:
    """Why nothing can be sent to a URL, in words that complete "the URL ..."; None if it will do.

    Where a name leads is looked at when something is sent, every time.
    """
    if len(url) > URL_LENGTH:
        return f"must have at most {URL_LENGTH} characters, but it has {len(url)}"
    if not _PRINTED.match(url):
        return "must be of visible ASCII characters; others are percent-encoded (names: punycode)"
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return "has no host and port that can be read"
    schemes = ("https", "http") if rules.allow_http else ("https",)
    faults = {
        f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}": parts.scheme.lower() not in schemes,
        "must not hold a user name or a password": "@" in parts.netloc,
        "must not have a fragment (#)": "#" in url,
        "must not have the port 0": port == 0,
    }
    return next((words for words, true in faults.items() if true), None) or _fault_of_host(
        host, rules, bracketed="[" in parts.netloc
    )


def _fault_of_host(host: str, rules: WebhookRules, *, bracketed: bool) -> str | None:
    address = literal(host)
    if address is not None:
        if "%" in host:
            return "must not name a network interface (%)"
        return None if is_open(address, rules.networks) else f"leads to {host}, which is not a public address"
    if not _HOST.match(host) or bracketed:
        return "has no host, or one that is neither a name nor an address"
    plain = host.rstrip(".").lower()
    if _NUMBER.match(plain.rpartition(".")[2]):
        return "has a host of numbers that is no address such as 203.0.113.7"
    local = plain in _LOCAL or plain.endswith(".localhost")
    return "leads to this machine, which is not a public address" if local and not rules.networks else None
