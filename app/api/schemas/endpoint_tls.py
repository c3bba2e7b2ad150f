"""An endpoint's certificates as a body: sent as PEM, answered as public facts."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ...domain.deployments import EndpointTls
from ...outbound.certificates import MAX_PEM_BYTES, describe_certificates
from .base import In, Out, Patch

_AUTHORITY = "Certificates of authorities in PEM, trusted in addition to those of the system. Never returned."
_CERTIFICATE = "Certificate in PEM that the endpoint is shown, followed by those that signed it, if it needs them. Never returned."
_KEY = "Private key of the certificate in PEM, without a passphrase. Stored encrypted, never returned."
_PEM: dict[str, Any] = {"writeOnly": True, "maxLength": MAX_PEM_BYTES}


class TlsIn(In):
    """An authority to trust, and a certificate to show, in calls of an endpoint by https. All of it is stored encrypted."""

    authority: str = Field(default="", json_schema_extra=_PEM, description=_AUTHORITY)
    certificate: str = Field(default="", json_schema_extra=_PEM, description=_CERTIFICATE)
    key: str = Field(default="", json_schema_extra=_PEM, description=_KEY)


class TlsPatch(Patch):
    """Parts to change; null removes one."""

    authority: str | None = Field(default=None, json_schema_extra=_PEM, description=_AUTHORITY)
    certificate: str | None = Field(default=None, json_schema_extra=_PEM, description=_CERTIFICATE)
    key: str | None = Field(default=None, json_schema_extra=_PEM, description=_KEY)


class CertificateOut(Out):
    """Public facts of stored certificates."""

    subjects: list[str]
    """The name of each, as RFC 4514 writes it."""

    expires_at: datetime
    """From when on one of them is not valid any more."""


class TlsOut(Out):
    """Certificates of calls by https. Their text and the key are not returned."""

    authority: CertificateOut | None
    certificate: CertificateOut | None
    key_set: bool
    """Whether a private key is stored."""

    @classmethod
    def of(cls, tls: EndpointTls) -> "TlsOut":
        authority, certificate = describe_certificates(tls.authority), describe_certificates(tls.certificate)
        return cls.model_validate({"authority": authority, "certificate": certificate, "key_set": tls.key != ""})
