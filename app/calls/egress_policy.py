"""The rule for the addresses that may be called; `pinned_transport.py` applies it to resolved addresses.

Without an allow-list, loopback and private networks are allowed only while the service listens on loopback.
Link-local and metadata addresses hand out credentials, so no allow-list opens them, in no spelling or IPv6
wrapping.
"""

import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import httpx

from ..base.errors import EndpointRefused, SetupError
from ..base.settings import Network, Settings
from ..base.values import frozen

Address = IPv4Address | IPv6Address

_FORBIDDEN_NETWORKS: tuple[tuple[str, tuple[Network, ...]], ...] = (
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

_IPV4_IN_IPV6: tuple[tuple[IPv6Network, int], ...] = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped
    (IPv6Network("::ffff:0:0:0/96"), 0),  # IPv4-translated (SIIT)
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("64:ff9b:1::/48"), 0),  # NAT64, local use
    (IPv6Network("2002::/16"), 80),  # 6to4
)
"""Networks of IPv6 with an IPv4 address in each address, and the number of bits to the right of it."""

_IPV4_COMPATIBLE = IPv6Network("::/96")
_TEREDO = IPv6Network("2001::/32")


def find_refusal(address: Address) -> str | None:
    """Finds why an address, or an IPv4 address in it, is never called ("a link-local address"); else None."""
    forms = (address, *_list_embedded(address))
    return next(
        (
            text
            for text, networks in _FORBIDDEN_NETWORKS
            if any(form in network for form in forms for network in networks)
        ),
        None,
    )


def parse_address(name: str) -> Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def parse_network(entry: str) -> Network | None:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def is_odd_ipv4(name: str) -> bool:
    """True if resolvers would read the name as an IPv4 address, though it is not spelled like one."""
    # Such as 0x7f.1, 2130706433 and 0177.0.0.1.
    try:
        socket.inet_aton(name)
    except (OSError, UnicodeEncodeError, ValueError):
        return False
    return True


def _list_embedded(address: Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    bits = int(address)
    embedded = [
        IPv4Address((bits >> shift) & 0xFFFFFFFF) for network, shift in _IPV4_IN_IPV6 if address in network
    ]
    if address in _IPV4_COMPATIBLE and bits > 1:  # :: and ::1 are not IPv4 addresses
        embedded.append(IPv4Address(bits & 0xFFFFFFFF))
    if address in _TEREDO:
        embedded.extend((IPv4Address((bits >> 64) & 0xFFFFFFFF), IPv4Address(~bits & 0xFFFFFFFF)))
    return embedded


_MAX_PORT = 65_535
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\Z"
)


@frozen
class OwnAddress:
    host: str
    port: int

    def covers(self, url: httpx.URL) -> bool:
        host = _normalise_host(url.host)
        own_host = _normalise_host(self.host)
        is_same = host == own_host or (_is_this_machine(host) and _is_this_machine(own_host))
        return is_same and _find_port(url) == self.port


@frozen
class EgressPolicy:
    """The allowed addresses; `model_prefixes` are those of MLflow models that may be loaded.

    `own` are the service's own addresses, which are never called.

    `names` and `networks` both empty: all but those never called, and but private ones if `exposed_on`, the
    address at which other machines reach the service, is set. Otherwise the host must be one of `names`
    exactly, or the address must lie in one of `networks`.
    """

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    exposed_on: str | None = None
    model_prefixes: tuple[str, ...] = ()
    own: tuple[OwnAddress, ...] = ()

    @classmethod
    def of(
        cls, entries: Iterable[str], *, exposed_on: str | None = None, model_prefixes: tuple[str, ...] = ()
    ) -> "EgressPolicy":
        """Raises SetupError unless an entry is a host name, an IP address or a CIDR block."""
        names = set()
        networks = []
        for entry in (_normalise_host(entry) for entry in entries):
            network = parse_network(entry)
            if network is not None:
                networks.append(network)
            elif _HOST_NAME.match(entry) and not is_odd_ipv4(entry):
                names.add(entry)
            else:
                raise SetupError(
                    f"The endpoint allow-list entry {entry!r} is neither an exact host name nor an IP "
                    "address nor a CIDR block;"
                    " write for example `model.internal`, `10.1.2.3` or `10.0.0.0/8`."
                )
        return cls(frozenset(names), tuple(networks), exposed_on, model_prefixes)

    def is_own(self, url: str) -> bool:
        with suppress(httpx.InvalidURL):
            parsed = httpx.URL(url)
            return any(address.covers(parsed) for address in self.own)
        return False

    @property
    def is_open(self) -> bool:
        return not self.names and not self.networks

    @property
    def shows_answers(self) -> bool:
        """True if errors may quote a host: it is on the allow-list, or only this machine reads them."""
        return self.exposed_on is None or not self.is_open

    def check_host(self, host: str) -> None:
        """Raises EndpointRefused of a metadata name, an odd spelling, and what is never called or not listed."""
        name = _normalise_host(host)
        address = parse_address(name)
        if address is not None:
            self.check_address(name, address)
        elif name in METADATA_NAMES:
            raise EndpointRefused(
                f"The endpoint's host {name} is a cloud metadata service, which is never called."
            )
        elif is_odd_ipv4(name):
            raise EndpointRefused(
                f"The endpoint's host {name!r} is an unusual spelling of an IP address; write it as four "
                "decimal numbers."
            )
        elif not _HOST_NAME.match(name):
            raise EndpointRefused(f"The endpoint's host {name!r} is not a host name.")
        elif not self.is_open and not self.networks and name not in self.names:
            raise _build_unlisted_refusal(name)
        elif self._needs_list and _is_localhost(name):
            raise self._build_private_refusal(name, name)

    def check_address(self, host: str, address: Address) -> None:
        """Raises EndpointRefused. `host` is or resolved to the address."""
        text = find_refusal(address)
        if text:
            raise EndpointRefused(
                f"The endpoint's host {host} resolves to {address}, {text}, which is never called."
            )
        named_host = host if host == str(address) else f"{host} ({address})"
        is_private = any(not form.is_global for form in _list_embedded(address) or (address,))
        if self._needs_list and is_private:
            raise self._build_private_refusal(named_host, _normalise_host(host))
        if self.is_open or _normalise_host(host) in self.names:
            return
        if not any(form in network for form in (_unwrap_ipv4(address), address) for network in self.networks):
            raise _build_unlisted_refusal(named_host)

    @property
    def _needs_list(self) -> bool:
        return self.exposed_on is not None and self.is_open

    def _build_private_refusal(self, text: str, entry: str) -> EndpointRefused:
        return EndpointRefused(
            f"The endpoint's host {text} is on this machine or in a private network. Evenhand listens on "
            f"{self.exposed_on}, where others reach it, so such hosts are called only if the operator allows "
            f"them: start the service and its workers with EVENHAND_ENDPOINT_ALLOWLIST={entry} (several with "
            "commas; then every other host has to be on the list, too)."
        )


def read_policy(settings: Settings) -> EgressPolicy:
    """Raises SetupError."""
    policy = EgressPolicy.of(
        settings.allowed_endpoints, exposed_on=settings.exposed_on, model_prefixes=settings.allowed_models
    )
    own_addresses = [OwnAddress(settings.host, settings.port)]
    if settings.public_url:
        try:
            public = parse_url(settings.public_url)
        except EndpointRefused as error:
            raise SetupError(f"EVENHAND_PUBLIC_URL cannot be used: {error}") from error
        own_addresses.append(OwnAddress(public.host, _find_port(public)))
    return replace(policy, own=tuple(own_addresses))


OPEN = EgressPolicy()
"""Policy of a service on loopback without an allow-list."""


def check_url(url: str, policy: EgressPolicy) -> None:
    """Raises EndpointRefused. The addresses of a name are checked at every connection."""
    policy.check_host(parse_url(url).raw_host.decode("ascii"))
    if policy.is_own(url):
        raise EndpointRefused("The endpoint's URL is Evenhand's own address, so it would call itself.")


def parse_url(url: str) -> httpx.URL:
    """Parses a URL as the HTTP client does, so that the host checked is the host called. Raises
    EndpointRefused unless absolute, http or https, without user, password and fragment.
    """
    try:
        parsed = httpx.URL(url)
        host = parsed.host  # only reading it decodes an international name
    except httpx.InvalidURL as error:
        raise EndpointRefused(f"The endpoint's URL cannot be read: {error}.") from error
    except UnicodeError as error:
        raise EndpointRefused(f"The endpoint's URL names a host that is no domain name: {error}.") from error
    if parsed.scheme not in {"http", "https"}:
        raise EndpointRefused("The endpoint's URL must begin with http:// or https://.")
    if not host:
        raise EndpointRefused("The endpoint's URL names no host.")
    if parsed.port is not None and not 0 < parsed.port <= _MAX_PORT:
        raise EndpointRefused(f"The endpoint's URL names port {parsed.port}, which does not exist.")
    if parsed.userinfo:
        raise EndpointRefused(
            "The endpoint's URL holds a user or password; give them as the endpoint's credentials instead."
        )
    if "#" in url:
        raise EndpointRefused("The endpoint's URL holds a fragment (#…), which is never sent; leave it out.")
    return parsed


def _build_unlisted_refusal(text: str) -> EndpointRefused:
    return EndpointRefused(
        f"The endpoint's host {text} is not on the operator's allow-list (EVENHAND_ENDPOINT_ALLOWLIST)."
    )


def _find_port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _is_this_machine(host: str) -> bool:
    address = parse_address(host)
    return (
        _is_localhost(host)
        if address is None
        else _unwrap_ipv4(address).is_loopback or address.is_unspecified
    )


def _is_localhost(name: str) -> bool:
    return f".{name}".endswith(".localhost")


def _unwrap_ipv4(address: Address) -> Address:
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _normalise_host(host: str) -> str:
    return host.strip().lower().removesuffix(".").removeprefix("[").removesuffix("]")
