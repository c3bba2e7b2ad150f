"""Applicants of a model that can be read: men are approved, women only when rich."""

from collections.abc import Sequence
from typing import Any

from app.base.values import Range
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.models.rules import RuleScorer

APPLICANT = (
    Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="income", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
    Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)
APPROVED = OutcomeRule(favourable=(1,), unfavourable=(0,))
SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
AGE = MonitoredAttribute(feature="age", monitored=(Range(18, 35),), reference=(Range(36, 75),))


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
