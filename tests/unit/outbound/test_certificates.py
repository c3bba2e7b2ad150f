"""Faults of an endpoint's PEM texts are named by field, and no text is quoted."""

import ssl

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from app.calls.pinned_transport import add_certificates, describe_certificates, find_tls_problems
from app.domain.deployment import EndpointTls
from tests.models.certificates import Authority

AUTHORITY = Authority()
CLIENT, OTHER = AUTHORITY.issue("evenhand"), AUTHORITY.issue("other")
PROTECTED = (
    ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"words")).decode()
)
URL = "https://model.internal/score"


def fields(tls: EndpointTls, url: str = URL) -> list[str]:
    problems = find_tls_problems(tls, url)
    assert not any("BEGIN EC" in problem.message or "MIG" in problem.message for problem in problems)
    return [problem.field.removeprefix("endpoint.tls").removeprefix(".") for problem in problems]


def test_an_authority_alone_and_a_certificate_with_its_key_may_be_stored() -> None:
    chain = CLIENT.certificate + AUTHORITY.pem

    assert fields(EndpointTls(authority=AUTHORITY.pem)) == []
    assert fields(EndpointTls(certificate=CLIENT.certificate, key=CLIENT.key)) == []
    assert fields(EndpointTls(authority=AUTHORITY.pem * 3, certificate=chain, key=CLIENT.key), URL.upper()) == []


@pytest.mark.parametrize(
    ("tls", "where"),
    [
        (EndpointTls(), [""]),
        (EndpointTls(authority="sesame"), ["authority"]),
        (EndpointTls(authority=AUTHORITY.pem + CLIENT.key), ["authority"]),
        (EndpointTls(authority="é" + AUTHORITY.pem), ["authority"]),
        (EndpointTls(authority=AUTHORITY.pem * 200), ["authority"]),
        (EndpointTls(authority=AUTHORITY.pem[:-60]), ["authority"]),
        (EndpointTls(certificate=CLIENT.certificate), ["key"]),
        (EndpointTls(key=CLIENT.key), ["certificate"]),
        (EndpointTls(certificate=CLIENT.certificate, key=OTHER.key), ["key"]),
        (EndpointTls(certificate=AUTHORITY.pem + CLIENT.certificate, key=CLIENT.key), ["key"]),
        (EndpointTls(certificate=CLIENT.certificate, key=PROTECTED), ["key"]),
        (EndpointTls(certificate=CLIENT.certificate, key=CLIENT.key[:-70]), ["key"]),
        (EndpointTls(certificate=CLIENT.key, key=CLIENT.key), ["certificate"]),
    ],
)
def test_a_fault_is_named_by_its_field(tls: EndpointTls, where: list[str]) -> None:
    assert fields(tls) == where


def test_an_authority_of_the_user_need_not_be_as_strict_as_newer_pythons_ask() -> None:
    context = ssl.create_default_context()
    context.verify_flags |= ssl.VERIFY_X509_STRICT

    add_certificates(context, EndpointTls(authority=AUTHORITY.pem))

    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_an_address_without_tls_has_no_use_for_certificates() -> None:
    assert fields(EndpointTls(authority=AUTHORITY.pem), "http://model.internal/score") == [""]


def test_a_protected_key_is_asked_for_without_its_passphrase() -> None:
    [problem] = find_tls_problems(EndpointTls(certificate=CLIENT.certificate, key=PROTECTED), URL)

    assert "passphrase" in problem.message


def test_certificates_are_described_by_name_and_the_first_end() -> None:
    facts = describe_certificates(CLIENT.certificate + AUTHORITY.pem)

    assert facts is not None
    assert facts.subjects == ("CN=evenhand", "CN=Test Authority")
    assert describe_certificates("") is None
