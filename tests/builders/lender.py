"""A lender who takes the housing into account, and the mitigation of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.deployments.mitigation_queries import store_mitigation_settings
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import MonitoredAttribute
from tests.scenes import Result, Scene

COLUMNS = (
    Column(name="housing", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="income", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
)
HOUSING = MonitoredAttribute(feature="housing", monitored=("rent", "free"), reference=("own", "family"))


@dataclass
class Lender:
    """Good with probability income / 100 less a malus for the housing; good from one half on."""

    malus: dict[str, float]

    def answer(self, housing: str, income: float) -> dict[str, Any]:
        score = min(max(income / 100 - self.malus.get(housing, 0), 0), 1)
        return {"prediction": int(score >= 0.5), "probability": score}

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        housing, income = list(columns).index("housing"), list(columns).index("income")
        answers = [self.answer(row[housing], row[income]) for row in rows]
        return [(answer["prediction"], answer["probability"]) for answer in answers]

    def applicants(self, housing: str, incomes: Sequence[float]) -> list[dict[str, Any]]:
        return [{"housing": housing, "income": income, **self.answer(housing, income)} for income in incomes]


UNFAIR = Lender({"rent": 0.1, "free": 0.2, "family": 0.05})
BLIND = Lender({})


def use(stage: Scene, settings: MitigationSettings) -> None:
    """Sets how the deployment is mitigated."""
    with stage.database.transaction() as session:
        store_mitigation_settings(session, stage.deployment.no, settings)


def everybody(lender: Lender = UNFAIR) -> list[dict[str, Any]]:
    """A hundred of each housing, incomes from 0.5 to 99.5; sixty owners to twenty that live with family."""
    halves = [place + 0.5 for place in range(100)]
    return [
        *lender.applicants("rent", halves),
        *lender.applicants("free", halves),
        *lender.applicants("own", halves[:60]),
        *lender.applicants("family", halves[40:60]),
        *lender.applicants("boat", halves[:7]),
    ]


def counts(result: Result) -> dict[str, Any]:
    """The counts of what mitigation changed by the housing."""
    assert result.run.window is not None
    changed: dict[str, Any] = result.run.window["mitigation"]["attributes"]["housing"]
    return changed
