"""Clients for the test models, on a clock that the tests move."""

from typing import Any

from app.base.values import Scalar
from app.calls.egress_policy import EgressPolicy
from app.calls.pinned_transport import Resolver, resolve
from app.calls.scoring.scoring_client import ScoringClient
from app.domain.deployment import Credentials, Endpoint, OutputFields
from app.payloads.registry import PayloadFormat
from tests.builders.fake_time import FakeTime
from tests.models.rules import COLUMNS

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
    return ScoringClient(
        endpoint, OUTPUTS, COLUMNS, policy=EgressPolicy.of(allowlist), timing=(time or FakeTime()).timing, resolver=resolver
    )
