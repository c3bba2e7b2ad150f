"""Facts about IP addresses."""

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from ..base.settings import Network

Address = IPv4Address | IPv6Address

_NEVER: tuple[tuple[str, tuple[Network, ...]], ...] = (
    (
        "a cloud metadata address",
        tuple(
            map(
                ip_network,
                (
                    "169.254.169.254/32",  # AWS, Azure, Google and most others
                    "169.254.170.0/24",  # AWS container credentials
                    "100.100.100.200/32",  # Alibaba
                    "192.0.0.192/32",  # Oracle
                    "168.63.129.16/32",  # Azure's host agent
                    "fd00:ec2::/32",  # AWS over IPv6
                    "fd20:ce::/32",  # Google over IPv6
                ),
            )
        ),
    ),
    ("a link-local address", (ip_network("169.254.0.0/16"), ip_network("fe80::/10"))),
    ("an unspecified address", (ip_network("0.0.0.0/8"), ip_network("::/128"))),
    ("a multicast address", (ip_network("224.0.0.0/4"), ip_network("ff00::/8"))),
    ("a reserved or broadcast address", (ip_network("240.0.0.0/4"),)),
)

METADATA_NAMES = frozenset(
    {
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "instance-data.ec2.internal",
    }
)

_EMBEDS_IPV4: tuple[tuple[IPv6Network, int], ...] = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped
    (IPv6Network("::ffff:0:0:0/96"), 0),  # IPv4-translated (SIIT)
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("64:ff9b:1::/48"), 0),  # NAT64, local use
    (IPv6Network("2002::/16"), 80),  # 6to4
)
"""With the number of bits to the right of the IPv4 address."""

_IPV4_COMPATIBLE = IPv6Network("::/96")
_TEREDO = IPv6Network("2001::/32")


def find_refusal(address: Address) -> str | None:
    """Why an address, or an IPv4 address in it, is never called ("a link-local address"), or None."""
    forms = (address, *_embedded(address))
    return next(
        (what for what, networks in _NEVER if any(form in network for form in forms for network in networks)),
        None,
    )


def is_private(address: Address) -> bool:
    """Whether an address, or an IPv4 address in it, is not of the public internet."""
    return any(not form.is_global for form in _embedded(address) or (address,))


def parse_address(name: str) -> Address | None:
    """Address that a host is, or None for a name or an odd spelling."""
    try:
        return ip_address(name)
    except ValueError:
        return None


def parse_network(entry: str) -> Network | None:
    """Network of an address or CIDR block, host bits ignored; else None."""
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def is_odd_ipv4(name: str) -> bool:
    """Whether resolvers would read the name as an IPv4 address, though it is not spelled like one."""
    # Such as 0x7f.1, 2130706433 and 0177.0.0.1.
    try:
        socket.inet_aton(name)
    except (OSError, UnicodeEncodeError, ValueError):
        return False
    return True


def _embedded(address: Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    bits = int(address)
    embedded = [
        IPv4Address((bits >> shift) & 0xFFFFFFFF) for network, shift in _EMBEDS_IPV4 if address in network
    ]
    if address in _IPV4_COMPATIBLE and bits > 1:  # :: and ::1 are not IPv4 addresses
        embedded.append(IPv4Address(bits & 0xFFFFFFFF))
    if address in _TEREDO:
        embedded.extend((IPv4Address((bits >> 64) & 0xFFFFFFFF), IPv4Address(~bits & 0xFFFFFFFF)))
    return embedded
