"""What a deployment's definition may not say. Pure: gives the problems, raises nothing, asks nobody."""

import re
from collections.abc import Iterator

from app.domain.definitions import Definition
from app.domain.deployments import Column, Credentials, CredentialsKind, Endpoint, FieldKind, FieldType, OutputFields
from app.domain.texts import character_problem, joining_problem, name_problem
from app.errors import FieldProblem

MAX_PAGE_SIZE = 10_000
MAX_CONCURRENCY = 64
MIN_TIMEOUT_SECONDS = 0.1
MAX_TIMEOUT_SECONDS = 600.0

MIN_REQUESTS_PER_SECOND = 0.01
MAX_REQUESTS_PER_SECOND = 10_000.0

MAX_SECRET = 10_000

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_OWN_HEADERS = frozenset(
    {
        *("accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""They say how a request is sent, not by whom: with a secret in one of them it would be read wrongly, or go to another place."""

_CATEGORIES_ONLY = {FieldType.STRING, FieldType.BOOLEAN}


def definition_problems(definition: Definition) -> list[FieldProblem]:
    """Everything wrong with the definition, in the order of its fields; empty if it may be stored."""
    return [
        *_text("name", definition.name),
        *_text("model_revision", definition.model_revision),
        *_columns(definition),
        *_outputs(definition.outputs, {column.name for column in definition.features}),
        *(_endpoint(definition.endpoint) if definition.endpoint else ()),
    ]


def _columns(definition: Definition) -> Iterator[FieldProblem]:
    if not definition.features:
        yield FieldProblem("features", "must list at least one column")
    seen: set[str] = set()
    for part, columns in (("features", definition.features), ("meta", definition.meta)):
        for index, column in enumerate(columns):
            yield from _column(f"{part}[{index}]", column)
            if column.name in seen:
                yield FieldProblem(f"{part}[{index}].name", f"{column.name!r} names two columns; names must differ over features and meta")
            seen.add(column.name)


def _column(place: str, column: Column) -> Iterator[FieldProblem]:
    yield from _text(f"{place}.name", column.name)
    joining = joining_problem(column.name)
    if joining:
        yield FieldProblem(f"{place}.name", joining)
    if column.type in _CATEGORIES_ONLY and column.kind is not FieldKind.CATEGORICAL:
        yield FieldProblem(
            f"{place}.kind", f"a {column.type.value} column must be categorical; only integer and number columns can be numeric"
        )


def _outputs(outputs: OutputFields, features: set[str]) -> Iterator[FieldProblem]:
    named = [("prediction", outputs.prediction), ("probability", outputs.probability), ("label", outputs.label)]
    seen: set[str] = set()
    for part, name in named:
        if name is None:
            continue
        yield from _text(f"outputs.{part}", name)
        if name in features:
            yield FieldProblem(f"outputs.{part}", f"{name!r} is a feature, too; an answer that repeats its inputs could not be read")
        if name in seen:
            yield FieldProblem(f"outputs.{part}", f"{name!r} names two outputs")
        seen.add(name)


def _endpoint(endpoint: Endpoint) -> Iterator[FieldProblem]:
    if not 1 <= endpoint.page_size <= MAX_PAGE_SIZE:
        yield FieldProblem("endpoint.page_size", f"must be between 1 and {MAX_PAGE_SIZE:,}, found {endpoint.page_size}")
    if not 1 <= endpoint.concurrency <= MAX_CONCURRENCY:
        yield FieldProblem("endpoint.concurrency", f"must be between 1 and {MAX_CONCURRENCY}, found {endpoint.concurrency}")
    if not MIN_TIMEOUT_SECONDS <= endpoint.timeout_seconds <= MAX_TIMEOUT_SECONDS:
        found = f"found {endpoint.timeout_seconds}"
        yield FieldProblem(
            "endpoint.timeout_seconds", f"must be between {MIN_TIMEOUT_SECONDS} and {MAX_TIMEOUT_SECONDS:.0f} seconds, {found}"
        )
    rate = endpoint.requests_per_second
    if rate is not None and not MIN_REQUESTS_PER_SECOND <= rate <= MAX_REQUESTS_PER_SECOND:
        bounds = f"{MIN_REQUESTS_PER_SECOND} and {MAX_REQUESTS_PER_SECOND:,.0f}"
        yield FieldProblem("endpoint.requests_per_second", f"must be between {bounds}, found {rate}; leave it out for no limit")
    if endpoint.credentials is not None:
        yield from _credentials(endpoint.credentials)


def _credentials(credentials: Credentials) -> Iterator[FieldProblem]:
    name, secret = "endpoint.credentials.name", "endpoint.credentials.secret"
    if credentials.kind is CredentialsKind.BASIC and (not credentials.name or ":" in credentials.name):
        yield FieldProblem(name, "must be the user's name, without a colon, for credentials of the kind basic")
    if credentials.kind is CredentialsKind.HEADER:
        if not _HEADER_NAME.fullmatch(credentials.name):
            yield FieldProblem(name, "must be the name of an HTTP header for credentials of the kind header")
        elif credentials.name.lower() in _OWN_HEADERS or credentials.name.lower().startswith("proxy-"):
            yield FieldProblem(name, f"must not be {credentials.name}, a header that says how a request is sent and not by whom")
    for field, text in ((name, credentials.name), (secret, credentials.secret)):
        problem = character_problem(text)
        if problem:
            yield FieldProblem(field, problem)
    if not credentials.secret:
        yield FieldProblem(secret, "must not be empty")
    if len(credentials.secret) > MAX_SECRET:
        yield FieldProblem(secret, f"must have at most {MAX_SECRET:,} characters")


def _text(field: str, text: str) -> Iterator[FieldProblem]:
    problem = name_problem(text)
    if problem:
        yield FieldProblem(field, problem)
