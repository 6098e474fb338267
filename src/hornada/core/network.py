"""Which addresses a request that somebody else asks for may go to: only those that the whole internet can reach."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_GLOBAL = IPv6Network("2000::/3")
"""All of IPv6 that is handed out for use on the internet (RFC 4291)."""
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_ELSEWHERE: tuple[Network, ...] = (
    IPv4Network("168.63.129.16/32"),
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv6Network("3fff::/20"),
)
"""What looks public to some versions of the standard library: a cloud's own servers (Azure, Oracle) and examples."""


def is_open(address: Address, allowed: Sequence[Network] = ()) -> bool:
    """Whether an address may be asked: it is public, or of one of the networks that are ``allowed``.

    An IPv4 address inside of an IPv6 one (mapped, NAT64, 6to4) is judged as what it is.
    """
    if any(address in network for network in allowed):
        return True
    inner = embedded(address)
    if inner is not None:
        return is_open(inner, allowed)
    if address.is_multicast or address.is_reserved or not address.is_global:
        return False
    if any(address in network for network in _ELSEWHERE):
        return False
    return isinstance(address, IPv4Address) or address in _GLOBAL


def embedded(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to, if it does."""
    if isinstance(address, IPv4Address):
        return None
    if address in _SIX_TO_FOUR:
        return address.sixtofour
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address.ipv4_mapped


def literal(host: str) -> Address | None:
    """The address that a host is written as, None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None
