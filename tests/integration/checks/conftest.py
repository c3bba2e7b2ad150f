"""A small deployment whose model can be read: men are approved, women only when rich."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from app.domain.deployments import Column, Endpoint, FieldKind, FieldType
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.outcomes import OutcomeRule
from app.store.database.engine import Database
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import Scene, scene

APPLICANT = (
    Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="income", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
    Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)
APPROVED = OutcomeRule(favourable=(1,), unfavourable=(0,))
SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))


def monitor_of(*attributes: MonitoredAttribute, min_records: int = 10, max_records: int = 1000, **more: Any) -> Monitor:  # noqa: ANN401
    """A monitor of approvals."""
    return Monitor(outcomes=APPROVED, attributes=attributes or (SEX,), min_records=min_records, max_records=max_records, **more)


def applicants(men: int, women: int, rich_women: int = 0, *, prefix: str = "") -> list[dict[str, Any]]:
    """Scored applicants as the rule decides them; of `women`, `rich_women` are rich."""
    people = [("male", 20_000)] * men + [("female", 90_000)] * rich_women + [("female", 20_000)] * (women - rich_women)
    rows: list[dict[str, Any]] = [{"sex": sex, "income": income, "age": 30 + no % 40} for no, (sex, income) in enumerate(people)]
    decided: Sequence[tuple[Any, Any]] = RuleScorer().predict(["sex", "income"], [(row["sex"], row["income"]) for row in rows])
    return [
        {**row, "prediction": prediction, "probability": probability, "id": f"{prefix}{no}"}
        for no, (row, (prediction, probability)) in enumerate(zip(rows, decided, strict=True))
    ]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """The model, served."""
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    """The watched deployment."""
    return scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=server.url))
