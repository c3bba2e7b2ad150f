"""The rule for the addresses that may be called; `transport.py` applies it to resolved addresses.

Loopback and private networks are allowed while the service listens on loopback only; else they need the
operator's allow-list. Link-local and metadata addresses hand out credentials, so no allow-list opens them, in
no spelling or IPv6 wrapping.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv6Address

import httpx

from ..base.errors import EndpointRefused, SetupError
from ..base.frozen import frozen
from ..base.settings import Network, Settings
from .ip_addresses import (
    METADATA_NAMES,
    Address,
    find_refusal,
    is_odd_ipv4,
    is_private,
    parse_address,
    parse_network,
)

_HIGHEST_PORT = 65_535
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\Z"
)


@frozen
class OwnAddress:
    """An address of the service itself."""

    host: str
    port: int

    def covers(self, url: httpx.URL) -> bool:
        host, own_host = _bare(url.host), _bare(self.host)
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
        """Policy of exact host names, IP addresses and CIDR blocks.

        Raises:
            SetupError: an entry is none of these.
        """
        names: set[str] = set()
        networks: list[Network] = []
        for entry in (_bare(entry) for entry in entries):
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
        """Returns whether the URL is the service's own, as far as its text says."""
        with suppress(httpx.InvalidURL):
            parsed = httpx.URL(url)
            return any(address.covers(parsed) for address in self.own)
        return False

    @property
    def is_open(self) -> bool:
        """Whether no allow-list is set."""
        return not self.names and not self.networks

    @property
    def shows_answers(self) -> bool:
        """Whether errors may quote a host's answer: it is on the allow-list, or only this machine reads
        them.
        """
        return self.exposed_on is None or not self.is_open

    def check_host(self, host: str) -> None:
        """Refuses a host by its spelling alone.

        Raises:
            EndpointRefused: a metadata name, an odd spelling, an address never called or not listed, or a
                name where only names are listed.
        """
        name = _bare(host)
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
            raise _not_listed(name)
        elif self._needs_list and _is_localhost(name):
            raise self._private(name, name)

    def check_address(self, host: str, address: Address) -> None:
        """Refuses an address that `host` is or resolved to.

        Raises:
            EndpointRefused: the address is never called, or neither it nor the host is on the allow-list.
        """
        what = find_refusal(address)
        if what is not None:
            raise EndpointRefused(
                f"The endpoint's host {host} resolves to {address}, {what}, which is never called."
            )
        named = host if host == str(address) else f"{host} ({address})"
        if self._needs_list and is_private(address):
            raise self._private(named, _bare(host))
        if self.is_open or _bare(host) in self.names:
            return
        if not any(form in network for form in (_plain(address), address) for network in self.networks):
            raise _not_listed(named)

    @property
    def _needs_list(self) -> bool:
        return self.exposed_on is not None and self.is_open

    def _private(self, what: str, entry: str) -> EndpointRefused:
        return EndpointRefused(
            f"The endpoint's host {what} is on this machine or in a private network. Evenhand listens on "
            f"{self.exposed_on}, where others"
            " reach it, so such hosts are called only if the operator allows them: start the service and "
            "its workers with"
            f" EVENHAND_ENDPOINT_ALLOWLIST={entry} (several with commas; then every other host has to be on "
            "the list, too)."
        )


def read_policy(settings: Settings) -> EgressPolicy:
    """Policy of the operator's settings.

    Raises:
        SetupError: an entry of the allow-list or the public address cannot be used.
    """
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
"""Policy without an allow-list while the service listens on loopback only."""


def check_url(url: str, policy: EgressPolicy) -> None:
    """Refuses a URL by its text alone; the addresses of a name are checked at every connection.

    Raises:
        EndpointRefused: `parse_url` refuses it, the host is not allowed, or it is the service's own address.
    """
    policy.check_host(parse_url(url).raw_host.decode("ascii"))
    if policy.is_own(url):
        raise EndpointRefused("The endpoint's URL is Evenhand's own address, so it would call itself.")


def parse_url(url: str) -> httpx.URL:
    """URL as the HTTP client reads it, so that the host checked is the host called.

    Raises:
        EndpointRefused: not an absolute http or https URL without user, password and fragment.
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
    if parsed.port is not None and not 0 < parsed.port <= _HIGHEST_PORT:
        raise EndpointRefused(f"The endpoint's URL names port {parsed.port}, which does not exist.")
    if parsed.userinfo:
        raise EndpointRefused(
            "The endpoint's URL holds a user or password; give them as the endpoint's credentials instead."
        )
    if "#" in url:
        raise EndpointRefused("The endpoint's URL holds a fragment (#…), which is never sent; leave it out.")
    return parsed


def _not_listed(what: str) -> EndpointRefused:
    return EndpointRefused(
        f"The endpoint's host {what} is not on the operator's allow-list (EVENHAND_ENDPOINT_ALLOWLIST)."
    )


def _find_port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _is_this_machine(host: str) -> bool:
    address = parse_address(host)
    return _is_localhost(host) if address is None else _plain(address).is_loopback or address.is_unspecified


def _is_localhost(name: str) -> bool:
    return f".{name}".endswith(".localhost")


def _plain(address: Address) -> Address:
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _bare(host: str) -> str:
    return host.strip().lower().removesuffix(".").removeprefix("[").removesuffix("]")
