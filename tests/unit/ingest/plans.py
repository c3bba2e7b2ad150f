"""A small schema with every type of column, and records that fit it."""

from datetime import UTC, datetime
from typing import Any

from app.domain.deployment import Column, FieldKind, FieldType, OutputFields, ProblemType, RecordSchema
from app.intake.logging.ingest_plan import IngestPlan, StatedTimes, build_plan
from app.intake.writing.write_target import Target

NOW = datetime(2030, 6, 1, 12, tzinfo=UTC)
MOMENTS = StatedTimes(NOW, historical=False)
HISTORICAL = StatedTimes(NOW, historical=True)


def column(name: str, column_type: FieldType) -> Column:
    kind = FieldKind.NUMERIC if column_type in {FieldType.INTEGER, FieldType.NUMBER} else FieldKind.CATEGORICAL
    return Column(name=name, type=column_type, kind=kind)


FEATURES = (
    column("Age", FieldType.INTEGER),
    column("Loan amount", FieldType.NUMBER),
    column("Sex", FieldType.STRING),
    column("Owner", FieldType.BOOLEAN),
)
META = (column("Postcode", FieldType.STRING), column("Score", FieldType.NUMBER))


def plan(problem_type: ProblemType = ProblemType.BINARY, features: tuple[Column, ...] = FEATURES) -> IngestPlan:
    return build_plan(
        Target(
            no=7,
            id="credit",
            row_version="42",
            problem_type=problem_type,
            schema=RecordSchema(version=3, features=features, meta=META),
            outputs=OutputFields(prediction="prediction", probability="probability", label="predictedLabel"),
            model_revision="r1",
        )
    )


def features(**changes: object) -> dict[str, Any]:
    return {"Age": 33, "Loan amount": 12.5, "Sex": "female", "Owner": True, **changes}


def record(**changes: object) -> dict[str, Any]:
    return {"id": "a", "features": features(), "prediction": 1, "probability": [0.25, 0.75], "label": "Risk", **changes}
