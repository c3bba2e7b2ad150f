"""Clients for the test models, on a clock that the tests move."""

from typing import Any

from app.domain.deployments import Credentials, Endpoint, OutputFields, PayloadFormat
from app.domain.values import Scalar
from app.scoring.client import ScoringClient
from app.scoring.transport import Resolver, resolve
from tests.models.rules import COLUMNS
from tests.unit.scoring.clock import FakeTime

OUTPUTS = OutputFields(probability="probability")

MAN: list[Scalar | None] = ["male", 10, 30]
POOR_WOMAN: list[Scalar | None] = ["female", 10, 30]
RICH_WOMAN: list[Scalar | None] = ["female", 90_000, 30]


def client_of(
    url: str,
    *,
    time: FakeTime | None = None,
    credentials: Credentials | None = None,
    allowlist: tuple[str, ...] = (),
    resolver: Resolver = resolve,
    **settings: Any,  # noqa: ANN401 - any of Endpoint's fields
) -> ScoringClient:
    """A client for a server of `RuleScorer`; `settings` are the endpoint's. An MLflow address is asked in MLflow."""
    payload_format = PayloadFormat.MLFLOW if url.endswith("/invocations") else PayloadFormat.FIELDS_VALUES
    endpoint = Endpoint(url=url, payload_format=payload_format, credentials=credentials, **{"timeout_seconds": 10.0} | settings)
    return ScoringClient(endpoint, OUTPUTS, COLUMNS, allowlist=allowlist, timing=(time or FakeTime()).timing, resolver=resolver)
