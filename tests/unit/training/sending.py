"""Files of training data, and a deployment that they fit."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd

from app.base.values import GroupValue, Range
from app.deployments.training.process_upload import Upload, process_file
from app.deployments.training.queries import TrainingData, TrainingForm
from app.domain.deployment import Column, Deployment, FieldKind, FieldType, OutputFields, ProblemType, RecordSchema
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def column(name: str, kind: FieldType) -> Column:
    is_number = kind in (FieldType.INTEGER, FieldType.NUMBER)
    return Column(name=name, type=kind, kind=FieldKind.NUMERIC if is_number else FieldKind.CATEGORICAL)


COLUMNS = (
    column("age", FieldType.INTEGER),
    column("sex", FieldType.STRING),
    column("income", FieldType.NUMBER),
    column("owner", FieldType.BOOLEAN),
)


def deployment(
    features: Sequence[Column] = COLUMNS, meta: Sequence[Column] = (), problem_type: ProblemType = ProblemType.BINARY
) -> Deployment:
    return Deployment(
        no=1,
        id="credit-risk",
        name="Credit risk",
        problem_type=problem_type,
        schema=RecordSchema(version=1, features=tuple(features), meta=tuple(meta)),
        outputs=OutputFields(),
        model_revision="1",
        endpoint=None,
        created_at=NOON,
        updated_at=NOON,
    )


def attribute(feature: str, monitored: Sequence[GroupValue], reference: Sequence[GroupValue] | None = None) -> MonitoredAttribute:
    return MonitoredAttribute(feature=feature, monitored=tuple(monitored), reference=None if reference is None else tuple(reference))


SEX = attribute("sex", ["female"], ["male"])
AGE = attribute("age", [Range(18, 25)], [Range(26, 75)])


def monitor(
    *attributes: MonitoredAttribute,
    together: Sequence[tuple[str, ...]] = (),
    strata: str | None = None,
    outcomes: OutcomeRule | None = None,
) -> Monitor:
    return Monitor(
        outcomes=outcomes or OutcomeRule(favourable=(1,), unfavourable=(0,)),
        attributes=attributes or (SEX, AGE),
        intersections=tuple(together),
        strata=strata,
    )


def processed(
    content: str | bytes | pd.DataFrame,
    *,
    watching: Monitor | None = None,
    of: Deployment | None = None,
    label: str = "label",
    weight: str | None = None,
    encoding: str = "utf-8",
) -> TrainingData:
    """What is kept of a CSV text, or of a frame sent as Parquet."""
    form = TrainingForm.CSV
    if isinstance(content, pd.DataFrame):
        buffer = io.BytesIO()
        content.to_parquet(buffer)
        content, form = buffer.getvalue(), TrainingForm.PARQUET
    body = content.encode() if isinstance(content, str) else content
    of = of or deployment()
    upload = Upload(form=form, deployment=of, monitor=watching, label=label, weight=weight, received_at=NOON, encoding=encoding)
    return process_file(io.BytesIO(body), upload)


def processed_parquet(body: bytes) -> TrainingData:
    """What is kept of a Parquet file."""
    form = TrainingForm.PARQUET
    upload = Upload(form=form, deployment=deployment(), monitor=None, label="label", weight=None, received_at=NOON)
    return process_file(io.BytesIO(body), upload)


def counts(data: TrainingData, *columns: str) -> dict[tuple[object, ...], int]:
    """Of the columns' distribution: records by values and label."""
    found = next(distribution for distribution in data.distributions if distribution.columns == columns)
    return {(*cell.values, cell.label): cell.records for cell in found.cells}  # noqa: PD011 - no frame
