"""An endpoint's own authority and client certificate."""

import os
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from ..base.errors import FieldProblem, ScoringFailed
from ..base.values import frozen
from ..domain.deployment import EndpointTls

MAX_PEM_BYTES = 100_000
"""A certificate takes about 2,000."""

_PLACE = "endpoint.tls"


@frozen
class CertificateFacts:
    subjects: tuple[str, ...]
    expires_at: datetime


def tls_problems(tls: EndpointTls, url: str) -> list[FieldProblem]:
    problems = []
    if not url.lower().startswith("https://"):
        problems.append(
            FieldProblem(
                _PLACE,
                "is for endpoints whose URL begins with https://; leave it out, or change endpoint.url",
            )
        )
    if not tls.authority and not tls.certificate and not tls.key:
        problems.append(
            FieldProblem(
                _PLACE,
                "must have an authority, or a certificate with its key; leave it out if there is neither",
            )
        )
    _, problem = _read_certificates(tls.authority)
    if problem:
        problems.append(FieldProblem(f"{_PLACE}.authority", problem))
    certificates, problem = _read_certificates(tls.certificate)
    if problem or (tls.key and not tls.certificate):
        problems.append(
            FieldProblem(
                f"{_PLACE}.certificate", problem or "is missing: a key is used with its certificate only"
            )
        )
    key, problem = _read_key(tls.key)
    if problem or (tls.certificate and not tls.key):
        problems.append(
            FieldProblem(
                f"{_PLACE}.key", problem or "is missing: a certificate is used with its private key only"
            )
        )
    if (
        certificates
        and key is not None
        and _public_bytes(certificates[0].public_key()) != _public_bytes(key.public_key())
    ):
        problems.append(
            FieldProblem(
                f"{_PLACE}.key",
                "does not belong to the certificate, which must come first in endpoint.tls.certificate",
            )
        )
    return problems


def describe_certificates(text: str) -> CertificateFacts | None:
    certificates, _ = _read_certificates(text)
    if not certificates:
        return None
    subjects = tuple(certificate.subject.rfc4514_string() for certificate in certificates)
    return CertificateFacts(subjects, min(certificate.not_valid_after_utc for certificate in certificates))


def add_certificates(context: ssl.SSLContext, tls: EndpointTls) -> None:
    """Trusts the authority, and shows the certificate. Raises ScoringFailed, for instance of a key too short
    for this machine.
    """
    try:
        if tls.authority:
            context.load_verify_locations(cadata=tls.authority)
            # An authority between the root and the server is enough, as in newer versions of Python.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            # From 3.13 on, Python refuses authorities without a key identifier, as many of companies are.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if tls.certificate:
            with _as_file(f"{tls.certificate}\n{tls.key}\n") as path:
                # Without a password OpenSSL would ask for one on the terminal.
                context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise ScoringFailed(
            f"The certificates of the deployment's endpoint cannot be used ({reason}); set endpoint.tls "
            "again."
        ) from error


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    # Python's ssl reads a certificate from a file only; in memory, where possible, the key never touches a
    # disk.
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("endpoint-certificate", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:  # made with mode 0600
            file.write(text)
            file.flush()
            yield file.name


def _read_certificates(text: str) -> tuple[Sequence[x509.Certificate], str | None]:
    if not text:
        return [], None
    if problem := _size_problem(text):
        return [], problem
    if "PRIVATE KEY" in text:
        return [], "must hold certificates only; send the private key as endpoint.tls.key"
    try:
        return x509.load_pem_x509_certificates(text.encode()), None
    except ValueError:
        return [], "must be certificates in PEM: -----BEGIN CERTIFICATE----- and so on"


def _read_key(text: str) -> tuple[PrivateKeyTypes | None, str | None]:
    if not text:
        return None, None
    if problem := _size_problem(text):
        return None, problem
    try:
        return load_pem_private_key(text.encode(), password=None), None
    except TypeError:
        return None, "is protected by a passphrase; send it without one: it is stored encrypted"
    except (ValueError, UnsupportedAlgorithm):
        return None, "must be a private key in PEM: -----BEGIN PRIVATE KEY----- and so on"


def _size_problem(text: str) -> str | None:
    if len(text) > MAX_PEM_BYTES:
        return f"must have at most {MAX_PEM_BYTES:,} characters, found {len(text):,}"
    return None if text.isascii() and "\0" not in text else "must be PEM, which is plain ASCII"


def _public_bytes(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
