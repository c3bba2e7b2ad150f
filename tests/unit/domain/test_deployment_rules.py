import pytest

from app.deployments.definition_rules import find_definition_problems
from app.deployments.queries import Definition
from app.domain.deployment import Column, Credentials, CredentialsKind, Endpoint, FieldKind, FieldType, OutputFields, ProblemType


def fields(*, column: str = "sex", other: str = "income", **endpoint: object) -> list[str]:
    definition = Definition(
        name="Loans",
        problem_type=ProblemType.BINARY,
        features=(Column(name=column, type=FieldType.STRING, kind=FieldKind.CATEGORICAL),),
        meta=(Column(name=other, type=FieldType.STRING, kind=FieldKind.CATEGORICAL),),
        outputs=OutputFields(prediction="prediction"),
        model_revision="1",
        endpoint=Endpoint(url="https://models/score", **endpoint),  # type: ignore[arg-type]
    )
    return [problem.field for problem in find_definition_problems(definition)]


def header(name: str) -> Credentials:
    return Credentials(kind=CredentialsKind.HEADER, name=name, secret="s")  # noqa: S106 - no secret of anybody's


@pytest.mark.parametrize(("column", "other"), [("sex × age", "sex"), ("a × b × c", "a × b"), ("× sex", "x"), ("sex ×", "x"), ("×", "x")])
def test_a_column_may_not_be_called_like_several_columns_together(column: str, other: str) -> None:
    assert fields(column=column, other=other) == ["features[0].name"]


@pytest.mark.parametrize(("column", "other"), [("size 2×4", "size"), ("sex × age", "age"), ("sex × age", "sex × job"), ("a × × b", "b")])
def test_a_name_may_hold_the_sign_where_no_other_column_begins_it(column: str, other: str) -> None:
    assert fields(column=column, other=other) == []


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "transfer-encoding", "Content-Length", "CONNECTION", "TE", "Trailer", "Upgrade", "Expect", "Keep-Alive"),
        *("Proxy-Authorization", "proxy-connection", "Content-Type", "Content-Encoding", "Accept-Encoding"),
    ],
)
def test_a_secret_is_not_sent_in_a_header_that_says_how_the_request_is_sent(name: str) -> None:
    assert fields(credentials=header(name)) == ["endpoint.credentials.name"]


@pytest.mark.parametrize("name", ["X-Api-Key", "Authorization", "Api-Host"])
def test_a_secret_may_be_sent_in_another_header(name: str) -> None:
    assert fields(credentials=header(name)) == []


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e-12, 0.0099, 10_001.0, float("inf"), float("nan")])
def test_a_rate_limit_nobody_could_mean_is_refused(rate: float) -> None:
    assert fields(requests_per_second=rate) == ["endpoint.requests_per_second"]


@pytest.mark.parametrize("rate", [None, 0.01, 1.0, 10_000.0])
def test_a_rate_limit_within_the_bounds_is_accepted(rate: float | None) -> None:
    assert fields(requests_per_second=rate) == []
