"""A deployment's endpoint as a body; certificates are sent as PEM and answered as public facts."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from ..base.strict_json import JsonObject
from ..calls.pinned_transport import MAX_PEM_BYTES, describe_certificates
from ..domain.deployment import BreakerState, Credentials, CredentialsKind, Endpoint, EndpointSource
from ..payloads.registry import PayloadFormat
from ..web.body import FromText, In, Out, Patch, ScalarJson, read_from
from .definition_rules import (
    MAX_CONCURRENCY,
    MAX_PAGE_SIZE,
    MAX_REQUESTS_PER_SECOND,
    MAX_TIMEOUT_SECONDS,
    MIN_REQUESTS_PER_SECOND,
    MIN_TIMEOUT_SECONDS,
)

_AUTHORITY = "Certificates of authorities in PEM, trusted in addition to those of the system. Never returned."
_CERTIFICATE = (
    "Certificate in PEM that the endpoint is shown, followed by those that signed it, if it "
    "needs them. Never returned."
)
_KEY = "Private key of the certificate in PEM, without a passphrase. Stored encrypted, never returned."


def _build_pem_field(description: str, default: str | None = "") -> Any:  # noqa: ANN401 - a field's default
    return Field(
        default, json_schema_extra={"writeOnly": True, "maxLength": MAX_PEM_BYTES}, description=description
    )


class TlsIn(In):
    """An authority to trust, and a certificate to show, in calls of an endpoint by https. All of it is
    stored encrypted.
    """

    authority: str = _build_pem_field(_AUTHORITY)
    certificate: str = _build_pem_field(_CERTIFICATE)
    key: str = _build_pem_field(_KEY)


class TlsPatch(Patch):
    """Parts to change; null removes one."""

    authority: str | None = _build_pem_field(_AUTHORITY, None)
    certificate: str | None = _build_pem_field(_CERTIFICATE, None)
    key: str | None = _build_pem_field(_KEY, None)


class CertificateOut(Out):
    """Public facts of stored certificates."""

    subjects: list[str]
    """The name of each, as RFC 4514 writes it."""

    expires_at: datetime
    """From when on one of them is not valid any more."""


IsSet = Annotated[bool, BeforeValidator(bool)]
Certificate = Annotated[CertificateOut | None, BeforeValidator(describe_certificates)]


class TlsOut(Out):
    """Certificates of calls by https. Their text and the key are not returned."""

    authority: Certificate
    certificate: Certificate
    key_set: IsSet = read_from("key")
    """Whether a private key is stored."""


_TIMEOUT: JsonObject = {"minimum": MIN_TIMEOUT_SECONDS, "maximum": MAX_TIMEOUT_SECONDS}
_PAGE_SIZE: JsonObject = {"minimum": 1, "maximum": MAX_PAGE_SIZE}
_CONCURRENCY: JsonObject = {"minimum": 1, "maximum": MAX_CONCURRENCY}

Rate = Annotated[
    float, Field(json_schema_extra={"minimum": MIN_REQUESTS_PER_SECOND, "maximum": MAX_REQUESTS_PER_SECOND})
]


_EXAMPLES: list[Any] = [
    {"url": "http://127.0.0.1:9000/score", "payload_format": "fields_values", "page_size": 1000},
    {"source": "mlflow", "uri": "models:/credit/3", "page_size": 1000, "timeout_seconds": 60.0},
]

_SOURCE = (
    "`http`: a server that is called. `mlflow`: an MLflow model that checks load and that answers as "
    "MLflow's own server does; only where"
    " the payload lies in a table, and for models that the operator allows (`EVENHAND_MODEL_PREFIXES`)."
)


class CredentialsIn(In):
    """The credentials that Evenhand sends to the endpoint. Stored encrypted, never returned."""

    kind: FromText[CredentialsKind]
    name: str = Field("", max_length=200)
    """The user (basic, cpd_key), the header's name (header) or the client's id (oauth_client); otherwise
    unused."""

    secret: str = Field(max_length=10_000, json_schema_extra={"writeOnly": True, "minLength": 1})
    token_url: str = Field("", max_length=2000)
    """The address that gives access tokens, for oauth_client and for the kinds whose key is exchanged for
    a token."""

    scope: str = Field("", max_length=2000)
    """For oauth_client: the scope to ask for, if one is needed."""

    def to_domain(self) -> Credentials:
        return self.read_as(
            Credentials,
            token_url=self.token_url if self.kind.has_token_url else "",
            scope=self.scope if self.kind is CredentialsKind.OAUTH_CLIENT else "",
        )


class MappingIn(In):
    """The places of records and answers in the endpoint's own JSON, as JSONPath: `$`, `.name`, `['name']`,
    `[0]`.
    """

    records: str = Field("$[*]", max_length=1000)
    """The records in a request, with `[*]`; without it, a request has one."""

    answers: str = Field("$[*]", max_length=1000)
    """The answers to them, in the same order."""

    columns: dict[str, str] = Field(default_factory=dict)
    """The place of a feature in its record; `$.NAME` by default."""

    outputs: dict[str, str] = Field(default_factory=dict)
    """The place of an output in its answer; `$.NAME` by default."""

    constants: dict[str, ScalarJson] = Field(default_factory=dict)
    """Values at places of each request."""


class MappingPatch(Patch):
    """Places to change; null removes one."""

    records: str = Field("$[*]", max_length=1000)
    answers: str = Field("$[*]", max_length=1000)
    columns: dict[str, str | None] = Field(default_factory=dict)
    outputs: dict[str, str | None] = Field(default_factory=dict)
    constants: dict[str, ScalarJson | None] = Field(default_factory=dict)


class EndpointIn(In):
    """The endpoint that scores rows, and the limits on the requests to it: `url` of a server, or `uri` of
    an MLflow model.
    """

    model_config = ConfigDict(json_schema_extra={"examples": _EXAMPLES})

    source: FromText[EndpointSource] = Field(EndpointSource.HTTP, description=_SOURCE)
    url: str = Field("", max_length=2000, examples=["http://127.0.0.1:9000/score"])
    """Required for the source `http`."""

    uri: str = Field("", max_length=2000, examples=["models:/credit/3"])
    """Required for the source `mlflow`: `models:/NAME/VERSION`, `models:/NAME@ALIAS`, or the whole path of
    a model's folder."""

    payload_format: FromText[PayloadFormat] = PayloadFormat.FIELDS_VALUES
    mapping: MappingIn | None = None
    """For the format that needs one."""

    credentials: CredentialsIn | None = None
    headers: dict[str, str] = Field(default_factory=dict, json_schema_extra={"writeOnly": True})
    """Headers to send along, by name. Their values are stored encrypted and never returned."""

    tls: TlsIn | None = None
    """For endpoints by https."""

    timeout_seconds: float = Field(30.0, json_schema_extra=_TIMEOUT)
    page_size: int = Field(1000, json_schema_extra=_PAGE_SIZE)
    """Rows in one request."""

    concurrency: int = Field(4, json_schema_extra=_CONCURRENCY)
    """Requests at the same time. Of an MLflow model: how many times it is loaded, by default once."""

    requests_per_second: Rate | None = None

    def to_domain(self) -> Endpoint:
        members: dict[str, object] = {"credentials": self.credentials and self.credentials.to_domain()}
        if self.source is EndpointSource.MLFLOW:
            members["payload_format"] = PayloadFormat.MLFLOW
            members["concurrency"] = self.concurrency if "concurrency" in self.model_fields_set else 1
        return self.read_as(Endpoint, **members)


class EndpointPatch(Patch):
    """The changes of the endpoint. Credentials that are left out stay; null removes them."""

    source: FromText[EndpointSource] = EndpointSource.HTTP
    url: str | None = Field(None, max_length=2000)
    uri: str | None = Field(None, max_length=2000)
    payload_format: FromText[PayloadFormat] = PayloadFormat.FIELDS_VALUES
    mapping: MappingPatch | None = None
    credentials: CredentialsIn | None = None
    headers: dict[str, str | None] = Field(default_factory=dict, json_schema_extra={"writeOnly": True})
    tls: TlsPatch | None = None
    timeout_seconds: float = Field(30.0, json_schema_extra=_TIMEOUT)
    page_size: int = Field(1000, json_schema_extra=_PAGE_SIZE)
    concurrency: int = Field(4, json_schema_extra=_CONCURRENCY)
    requests_per_second: Rate | None = None


class CredentialsOut(Out):
    """Credentials without their secret."""

    kind: CredentialsKind
    name: str
    token_url: str
    scope: str
    secret_set: IsSet = read_from("secret")
    """Whether a secret is stored; it is never returned."""


class MappingOut(Out):
    """The places of records and answers."""

    records: str
    answers: str
    columns: dict[str, str]
    outputs: dict[str, str]
    constants: dict[str, ScalarJson]


class EndpointOut(Out):
    """The endpoint that scores rows."""

    source: EndpointSource = Field(description=_SOURCE)
    url: str
    """Empty for an MLflow model."""

    uri: str
    """Of an MLflow model; empty for an endpoint that is called by HTTP."""

    payload_format: PayloadFormat
    mapping: MappingOut | None
    credentials: CredentialsOut | None
    header_names: Annotated[list[str], BeforeValidator(list)] = read_from("headers")
    """The names of the headers that are sent along; their values are never returned."""

    tls: TlsOut | None
    timeout_seconds: float
    page_size: int
    concurrency: int
    requests_per_second: float | None


class EndpointHealthOut(Out):
    """The endpoint's health in checks. One that gave no answer to three in a row is left alone for five
    minutes at a time.
    """

    state: BreakerState
    """`closed`: checks ask it. `open`: only a check that somebody requests does. `half_open`: the next
    check tries it with one record first."""

    failures: int
    """Checks in a row that got no answer; 0 after one that did."""

    failed_at: datetime | None
    """The newest of these failures."""

    reason: str | None
    """The fault at that time."""

    tried_again_at: datetime | None
    """From when on checks try it again; null where it was not left alone."""
