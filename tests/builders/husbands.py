"""Husbands and wives, and a model that never sees the sex, but sees who is a husband."""

import io
from collections.abc import Sequence
from typing import Any

from app.deployments.training.process_upload import Upload, process_file
from app.deployments.training.queries import TrainingForm, store_training_data
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from tests.scenes import NOON, Scene

COLUMNS = (
    Column(name="role", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="income", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)
SEX = Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
PLAIN = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
THROUGH_ROLE = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",), correlated_features=("role",))
ROWS = (("wife", 30, "female"), ("wife", 60, "female"), ("husband", 30, "male"), ("husband", 60, "male"))
SINGLE = (("single", 30, "female"), ("single", 30, "male"))


class HusbandsFirst:
    """Approves husbands, and everybody with an income of 50 or more."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        role, income = columns.index("role"), columns.index("income")
        approved = [row[role] == "husband" or row[income] >= 50 for row in rows]
        return [(int(is_approved), 0.9 if is_approved else 0.1) for is_approved in approved]


def people(count: int, kinds: Sequence[tuple[str, int, str]] = ROWS, prefix: str = "") -> list[dict[str, Any]]:
    """That many scored records of each kind."""
    rows: list[dict[str, Any]] = [{"role": role, "income": income, "sex": sex} for role, income, sex in kinds for _ in range(count)]
    decided = HusbandsFirst().predict(["role", "income"], [(row["role"], row["income"]) for row in rows])
    return [
        {**row, "prediction": prediction, "probability": probability, "id": f"{prefix}{no}"}
        for no, (row, (prediction, probability)) in enumerate(zip(rows, decided, strict=True))
    ]


def train(stage: Scene, kinds: Sequence[tuple[str, int, str]] = ROWS) -> None:
    """Uploads training data, ten records of each kind."""
    text = "role,income,sex,label\n" + "".join(f"{role},{income},{sex},{no % 2}\n" for no, (role, income, sex) in enumerate([*kinds] * 10))
    upload = Upload(form=TrainingForm.CSV, deployment=stage.deployment, monitor=None, label="label", weight=None, received_at=NOON)
    with stage.database.transaction() as session:
        store_training_data(session, stage.deployment.no, process_file(io.BytesIO(text.encode()), upload))
