"""TLS still verifies the host name, though the connection goes to a checked address."""

import ssl
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509

from app.base.errors import ScoringFailed
from app.calls import pinned_transport as transport
from app.calls.egress_policy import Address
from tests.builders.fake_time import FakeTime
from tests.builders.scoring_clients import MAN, client_of
from tests.models.certificates import write_certificate
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, running


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate of model.internal with its key, in one file."""
    return write_certificate(tmp_path / "model.pem", "model.internal", x509.DNSName("model.internal"))


@pytest.fixture
def server(certificate: Path) -> Iterator[ModelServer]:
    """The rule model behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = ModelServer(RuleScorer())
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with running(server):
        yield server


@pytest.fixture(autouse=True)
def fresh_trust() -> Iterator[None]:
    """The trusted authorities are read anew before and after a test that changes them."""
    transport.load_tls_context.cache_clear()  # its environment changes between these tests
    yield
    transport.load_tls_context.cache_clear()


async def loopback(host: str, port: int) -> list[Address]:
    del host, port
    return [ip_address("127.0.0.1")]


def test_the_host_name_is_verified_and_not_the_address(server: ModelServer, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    found = client_of(f"https://model.internal:{server.server_port}/score", resolver=loopback).score([MAN])

    assert len(found) == 1


@pytest.mark.parametrize("host", ["other.internal", "127.0.0.1"])
def test_a_certificate_of_another_name_is_refused_at_once(
    host: str, server: ModelServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    time = FakeTime()

    with pytest.raises(ScoringFailed, match="certificate that is not trusted"):
        client_of(f"https://{host}:{server.server_port}/score", resolver=loopback, time=time).score([MAN])

    assert time.slept == []


def test_a_certificate_of_an_unknown_authority_is_refused_at_once(server: ModelServer) -> None:
    with pytest.raises(ScoringFailed, match="SSL_CERT_FILE"):
        client_of(f"https://model.internal:{server.server_port}/score", resolver=loopback).score([MAN])

    assert server.counts.requests == 0
