"""Addresses of clients."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers

from ..base.settings import Network

_IPV6_BITS = 64


def forwarded_address(address: str, headers: Headers, trusted: Sequence[Network]) -> str:
    """`X-Forwarded-For` is read from its end, only as far as trusted proxies wrote it: the rest may be made
    up.
    """
    named = [address.strip() for line in headers.getlist("x-forwarded-for") for address in line.split(",")]
    while named and is_within(address, trusted):
        # Some proxies add the port, to an IPv6 address in brackets.
        entry = named.pop()
        stated = _parse(entry[1:].partition("]")[0] if entry.startswith("[") else entry) or _parse(
            entry.partition(":")[0]
        )
        if stated is None:
            break
        address = str(stated)
    return address


def name_client(address: str) -> str:
    parsed = _parse(address) if ":" in address else None
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, _IPV6_BITS), strict=False))
    return str(parsed or address)


def is_within(address: str, networks: Sequence[Network]) -> bool:
    parsed = _parse(address) if networks else None
    return parsed is not None and any(parsed in network for network in networks)


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed
