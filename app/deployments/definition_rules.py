"""Rules about a deployment's definition."""

import math
import re
from collections.abc import Iterator
from dataclasses import asdict

from ..base.errors import FieldProblem
from ..base.values import character_problem, joining_problem, name_problem, printable, spelled
from ..domain.deployment import (
    Credentials,
    CredentialsKind,
    Endpoint,
    EndpointSource,
    FieldKind,
    FieldType,
    ProblemType,
)
from ..domain.ruled_attributes import check_bounds
from ..domain.storage_rules import find_storage_problems
from .queries import Definition

MAX_PAGE_SIZE = 10_000
MAX_CONCURRENCY = 64
MIN_TIMEOUT_SECONDS = 0.1
MAX_TIMEOUT_SECONDS = 600.0

MIN_REQUESTS_PER_SECOND = 0.01
MAX_REQUESTS_PER_SECOND = 10_000.0

MAX_SECRET_CHARACTERS = 10_000

MAX_HEADERS = 20

MIN_CLASSES = 2
MAX_CLASSES = 1_000

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_RESERVED_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that say how a request is sent: a secret in one would be misread, or go to another server."""

_CATEGORICAL_TYPES = {FieldType.STRING, FieldType.BOOLEAN}


def find_definition_problems(definition: Definition) -> Iterator[FieldProblem]:
    for field in ("name", "model_revision", "owner", "purpose"):
        yield from _check_name(field, getattr(definition, field))
    if not definition.features:
        yield FieldProblem("features", "must list at least one column")
    yield from _check_columns(definition)
    yield from _check_outputs(definition)
    yield from _check_classes(definition)
    yield from _check_tables(definition)
    if definition.endpoint is not None:
        yield from _check_endpoint(definition.endpoint, has_tables=definition.payload is not None)


def _check_columns(definition: Definition) -> Iterator[FieldProblem]:
    names = {column.name for column in (*definition.features, *definition.meta)}
    listed = set()
    for section, columns in (("features", definition.features), ("meta", definition.meta)):
        for index, column in enumerate(columns):
            path = f"{section}[{index}]"
            yield from _check_name(f"{path}.name", column.name)
            if joining := joining_problem(column.name, names):
                yield FieldProblem(f"{path}.name", joining)
            if column.type in _CATEGORICAL_TYPES and column.kind is not FieldKind.CATEGORICAL:
                message = (
                    f"a {column.type.value} column must be categorical; only integer and number "
                    "columns can be numeric"
                )
                yield FieldProblem(f"{path}.kind", message)
            if column.name in listed:
                message = f"{column.name!r} names two columns; names must differ over features and meta"
                yield FieldProblem(f"{path}.name", message)
            listed.add(column.name)
            yield from find_storage_problems(
                path,
                column,
                is_feature=section == "features",
                has_endpoint=definition.endpoint is not None,
                is_batch=definition.payload is not None,
            )


def _check_outputs(definition: Definition) -> Iterator[FieldProblem]:
    outputs = definition.outputs
    features = {column.name for column in definition.features}
    listed = set()
    for output in ("prediction", "probability", "label"):
        name = getattr(outputs, output)
        if name is None:
            continue
        yield from _check_name(f"outputs.{output}", name)
        if name in features:
            message = f"{name!r} is a feature, too; an answer that repeats its inputs could not be read"
            yield FieldProblem(f"outputs.{output}", message)
        if name in listed and not (output == "probability" and outputs.has_only_probabilities):
            hint = (
                "; list outputs.classes if the prediction is the likeliest class"
                if output == "probability"
                else ""
            )
            yield FieldProblem(f"outputs.{output}", f"{name!r} names two outputs{hint}")
        listed.add(name)


def _check_classes(definition: Definition) -> Iterator[FieldProblem]:
    classes = definition.outputs.classes
    field = "outputs.classes"
    if classes is None:
        return
    if definition.problem_type is ProblemType.REGRESSION:
        yield FieldProblem(field, "is for binary and multiclass deployments; a regression has no classes")
    if not MIN_CLASSES <= len(classes) <= MAX_CLASSES:
        yield FieldProblem(field, f"must list {MIN_CLASSES} to {MAX_CLASSES:,} classes, found {len(classes)}")
    listed = set()
    for index, class_value in enumerate(classes):
        at = f"{field}[{index}]"
        if isinstance(class_value, str):
            yield from _check_name(at, class_value)
        elif isinstance(class_value, float) and not math.isfinite(class_value):
            yield FieldProblem(at, "must be a finite number")
        if spelled(class_value) in listed:
            yield FieldProblem(at, f"lists the class {spelled(class_value)} a second time")
        listed.add(spelled(class_value))


def _check_endpoint(endpoint: Endpoint, *, has_tables: bool) -> Iterator[FieldProblem]:
    if endpoint.source is EndpointSource.HTTP:
        if not endpoint.url:
            yield FieldProblem("endpoint.url", "is required")
        if endpoint.uri:
            yield FieldProblem(
                "endpoint.uri", "is for an MLflow model; give the source mlflow, or leave it out"
            )
    else:
        if not has_tables:
            message = (
                "must be http unless the payload lies in a table: only checks of tables load a model. "
                "Serve the model, and give its URL"
            )
            yield FieldProblem("endpoint.source", message)
        if not endpoint.uri:
            message = (
                "is required: models:/NAME/VERSION, models:/NAME@ALIAS, or the whole path of a model's folder"
            )
            yield FieldProblem("endpoint.uri", message)
        for name in ("url", "credentials", "headers", "tls", "mapping"):
            if getattr(endpoint, name):
                yield FieldProblem(
                    f"endpoint.{name}",
                    "is for a model that is called by HTTP; leave it out, or send null, for an MLflow model",
                )
    yield from check_bounds("endpoint.page_size", endpoint.page_size, MAX_PAGE_SIZE)
    yield from check_bounds("endpoint.concurrency", endpoint.concurrency, MAX_CONCURRENCY)
    if not MIN_TIMEOUT_SECONDS <= endpoint.timeout_seconds <= MAX_TIMEOUT_SECONDS:
        bounds = f"{MIN_TIMEOUT_SECONDS} and {MAX_TIMEOUT_SECONDS:.0f} seconds"
        yield FieldProblem(
            "endpoint.timeout_seconds", f"must be between {bounds}, found {endpoint.timeout_seconds}"
        )
    rate = endpoint.requests_per_second
    if rate is not None and not MIN_REQUESTS_PER_SECOND <= rate <= MAX_REQUESTS_PER_SECOND:
        bounds = f"{MIN_REQUESTS_PER_SECOND} and {MAX_REQUESTS_PER_SECOND:,.0f}"
        yield FieldProblem(
            "endpoint.requests_per_second",
            f"must be between {bounds}, found {rate}; leave it out for no limit",
        )

    yield from _check_headers(endpoint)
    if endpoint.credentials is not None:
        yield from _check_credentials(endpoint.credentials)


def _check_credentials(credentials: Credentials) -> Iterator[FieldProblem]:
    name, secret = "endpoint.credentials.name", "endpoint.credentials.secret"
    if credentials.kind is CredentialsKind.BASIC and (not credentials.name or ":" in credentials.name):
        yield FieldProblem(
            name, "must be the user's name, without a colon, for credentials of the kind basic"
        )
    if credentials.kind is CredentialsKind.HEADER:
        if not _HEADER_NAME.fullmatch(credentials.name):
            yield FieldProblem(name, "must be the name of an HTTP header for credentials of the kind header")
        elif credentials.name.lower() in _RESERVED_HEADERS or credentials.name.lower().startswith("proxy-"):
            yield FieldProblem(
                name,
                f"must not be {credentials.name}: that header says how a request is sent, not who sends it",
            )
    meaning_of_name = {
        CredentialsKind.OAUTH_CLIENT: "the client's id",
        CredentialsKind.CPD_KEY: "the name of the key's user",
    }
    if credentials.kind in meaning_of_name and not credentials.name:
        yield FieldProblem(
            name,
            f"must be {meaning_of_name[credentials.kind]} for credentials of the kind {credentials.kind}",
        )
    if credentials.kind.has_token_url and not credentials.token_url:
        yield FieldProblem(
            "endpoint.credentials.token_url", f"is required for credentials of the kind {credentials.kind}"
        )
    texts = ((name, credentials.name), (secret, credentials.secret))
    yield from (FieldProblem(field, problem) for field, text in texts if (problem := character_problem(text)))
    if not credentials.secret:
        yield FieldProblem(secret, "must not be empty")
    if len(credentials.secret) > MAX_SECRET_CHARACTERS:
        yield FieldProblem(secret, f"must have at most {MAX_SECRET_CHARACTERS:,} characters")


def _check_headers(endpoint: Endpoint) -> Iterator[FieldProblem]:
    if len(endpoint.headers) > MAX_HEADERS:
        yield FieldProblem(
            "endpoint.headers", f"must have at most {MAX_HEADERS} members, found {len(endpoint.headers)}"
        )
    credentials = endpoint.credentials
    header_names = set()
    if credentials is not None:
        is_own_header = credentials.kind is CredentialsKind.HEADER
        header_names.add(credentials.name.lower() if is_own_header else "authorization")
    for name, value in endpoint.headers.items():
        field = f"endpoint.headers.{printable(name)}"
        if not _HEADER_NAME.fullmatch(name):
            yield FieldProblem(field, "is not the name of an HTTP header")
        elif name.lower() in _RESERVED_HEADERS or name.lower().startswith("proxy-"):
            yield FieldProblem(field, "says how a request is sent, which Evenhand decides")
        elif name.lower() in header_names:
            yield FieldProblem(field, "is sent already, by the credentials or a header of the same name")
        header_names.add(name.lower())
        problem = character_problem(value)
        if problem or not value or len(value) > MAX_SECRET_CHARACTERS:
            yield FieldProblem(field, problem or f"must have 1 to {MAX_SECRET_CHARACTERS:,} characters")


def _check_name(field: str, text: str | None) -> Iterator[FieldProblem]:
    if text is not None and (problem := name_problem(text)):
        yield FieldProblem(field, problem)


def _check_tables(definition: Definition) -> Iterator[FieldProblem]:
    payload = definition.payload
    feedback = definition.feedback
    if payload is None:
        if feedback is not None:
            yield FieldProblem(
                "feedback", "needs `payload` as a table, too: labels are joined to its records"
            )
        return
    columns = payload.columns
    for role in ("id", "scored_at", "prediction", "probability", "label", "model_revision"):
        yield from _check_name(f"payload.columns.{role}", getattr(columns, role))
    for section, mapped, schema_columns in (
        ("features", columns.features, definition.features),
        ("meta", columns.meta, definition.meta),
    ):
        column_names = {column.name for column in schema_columns}
        for name, stored in mapped.items():
            if name not in column_names:
                yield FieldProblem(
                    f"payload.columns.{section}", f"{name!r} is not one of the deployment's {section}"
                )
            yield from _check_name(f"payload.columns.{section}.{name}", stored)
    yield from _check_name("payload.partition_by", payload.partition_by)
    if feedback is not None:
        for role, name in asdict(feedback.columns).items():
            yield from _check_name(f"feedback.columns.{role}", name)
        yield from _check_name("feedback.partition_by", feedback.partition_by)
