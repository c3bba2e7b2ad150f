"""Stored training data, and their correlations."""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from ...domain.deployments import FieldType
from ...domain.training_data import (
    NOT_CORRECTED,
    Association,
    AssociationMeasure,
    Cell,
    Correlated,
    CountedBy,
    Distribution,
    Donor,
    Donors,
    LabelTable,
    TrainingData,
    TrainingSummary,
)
from ...domain.values import GroupValue, Range
from ..database.rows import read_row
from ..tables import TrainingCorrelationRow, TrainingDataRow, TrainingDistributionRow, TrainingTableRow


def store_training_data(session: Session, deployment_no: int, data: TrainingData) -> None:
    """Stores an upload in the place of an earlier one."""
    # The database deletes what belongs to it.
    delete_training_data(session, deployment_no)
    summary = {
        "form": data.summary.form,
        "label": data.summary.label,
        "weight": data.summary.weight,
        "records": data.summary.records,
        "schema_version": data.summary.schema_version,
        "labels": _distribution_json(data.summary.labels),
        "absent": list(data.summary.absent),
        "processed_at": data.summary.processed_at,
        "processing_seconds": data.summary.processing_seconds,
    }
    session.execute(insert(TrainingDataRow).values(deployment_no=deployment_no, **summary))
    distributions = [
        {"deployment_no": deployment_no, "position": position, "distribution": _distribution_json(one)}
        for position, one in enumerate(data.distributions)
    ]
    tables = [
        {
            "deployment_no": deployment_no,
            "attribute": table.counted_by.comparison.label,
            "counted_by": {
                "favourable": list(table.counted_by.favourable),
                "unfavourable": list(table.counted_by.unfavourable),
                "groups": [
                    [feature, list(monitored), None if reference is None else list(reference)]
                    for feature, monitored, reference in table.counted_by.groups
                ],
                "strata": table.counted_by.strata,
            },
            "cells": table.cells,
            "reason": table.reason,
        }
        for table in data.tables
    ]
    if distributions:
        session.execute(insert(TrainingDistributionRow), distributions)
    if tables:
        session.execute(insert(TrainingTableRow), tables)
    store_correlations(session, deployment_no, data.correlated)


def training_summary_of(session: Session, deployment_no: int) -> TrainingSummary | None:
    row = session.get(TrainingDataRow, deployment_no)
    if row is None:
        return None
    return read_row(TrainingSummary, row, labels=_distribution(row.labels), absent=tuple(row.absent))


def distributions_of(session: Session, deployment_no: int, column: str | None = None) -> tuple[Distribution, ...]:
    statement = select(TrainingDistributionRow.distribution).where(TrainingDistributionRow.deployment_no == deployment_no)
    if column is not None:
        statement = statement.where(TrainingDistributionRow.distribution["columns"].contains([column]))
    return tuple(map(_distribution, session.scalars(statement.order_by(TrainingDistributionRow.position))))


def label_tables_of(session: Session, deployment_no: int) -> tuple[LabelTable, ...]:
    rows = session.scalars(
        select(TrainingTableRow).where(TrainingTableRow.deployment_no == deployment_no).order_by(TrainingTableRow.attribute)
    )
    tables = []
    for row in rows:
        stored = row.counted_by
        counted_by = CountedBy(
            favourable=tuple(stored["favourable"]),
            unfavourable=tuple(stored["unfavourable"]),
            groups=tuple(
                (feature, tuple(monitored), None if reference is None else tuple(reference))
                for feature, monitored, reference in stored["groups"]
            ),
            strata=stored["strata"],
        )
        tables.append(LabelTable(counted_by, row.cells, row.reason))
    return tuple(tables)


def delete_training_data(session: Session, deployment_no: int) -> bool:
    gone = delete(TrainingDataRow).where(TrainingDataRow.deployment_no == deployment_no).returning(TrainingDataRow.deployment_no)
    return session.scalar(gone) is not None


def _distribution_json(distribution: Distribution) -> dict[str, Any]:
    """Each cell as [values, label, records], and weight and squares where there are any."""
    return {
        "columns": list(distribution.columns),
        "note": distribution.note,
        "cells": [
            [[_value_json(value) for value in cell.values], _value_json(cell.label), cell.records]
            + ([] if cell.weight is None else [cell.weight, cell.squares])
            for cell in distribution.cells
        ],
    }


def _distribution(stored: dict[str, Any]) -> Distribution:
    cells = tuple(Cell(tuple(map(_value, values)), _value(label), *counted) for values, label, *counted in stored["cells"])
    return Distribution(tuple(stored["columns"]), cells, stored["note"])


def _value_json(value: GroupValue | None) -> Any:  # noqa: ANN401 - a scalar, a list of two, or null
    return [value.lo, value.hi] if isinstance(value, Range) else value


def _value(stored: Any) -> GroupValue | None:  # noqa: ANN401 - as above
    found: GroupValue | None = Range(*stored) if isinstance(stored, list) else stored
    return found


def store_correlations(session: Session, deployment_no: int, correlated: Iterable[Correlated]) -> None:
    """Stores those of an upload, whose row exists; they are deleted with it."""
    rows = [
        {
            "deployment_no": deployment_no,
            "attribute": one.attribute,
            "associations": [{**asdict(association), "measure": association.measure.value} for association in one.associations],
            "donor_features": [[name, kind.value] for name, kind in one.donors.features],
            "donors": [[donor.value, donor.records, *donor.features] for donor in one.donors.donors],
            "digest": one.donors.digest,
        }
        for one in correlated
    ]
    # Each may be tens of megabytes.
    for row in rows:
        session.execute(insert(TrainingCorrelationRow), row)


def associations_of(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, tuple[Association, ...]]:
    table = TrainingCorrelationRow
    rows = select(table.attribute, table.associations).where(table.deployment_no == deployment_no, table.attribute.in_(attributes))
    return {attribute: tuple(map(_association, stored)) for attribute, stored in session.execute(rows)}


def donor_features_of(session: Session, deployment_no: int) -> dict[str, dict[str, FieldType]]:
    """Returns each meta field's donor features, with their types of then."""
    table = TrainingCorrelationRow
    rows = session.execute(select(table.attribute, table.donor_features).where(table.deployment_no == deployment_no))
    return {attribute: {name: FieldType(kind) for name, kind in features} for attribute, features in rows}


def donor_digests_of(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, str]:
    table = TrainingCorrelationRow
    rows = select(table.attribute, table.digest).where(table.deployment_no == deployment_no, table.attribute.in_(attributes))
    return {row.attribute: row.digest for row in session.execute(rows)}


def donors_of(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, Donors]:
    table = TrainingCorrelationRow
    rows = session.execute(
        select(table.attribute, table.donor_features, table.donors, table.digest).where(
            table.deployment_no == deployment_no, table.attribute.in_(attributes)
        )
    )
    return {
        attribute: Donors(
            tuple((name, FieldType(kind)) for name, kind in features),
            tuple(Donor(value, records, tuple(rest)) for value, records, *rest in donors),
            digest,
        )
        for attribute, features, donors, digest in rows
    }


def _association(stored: dict[str, Any] | list[Any]) -> Association:
    if isinstance(stored, dict):
        return Association(**{**stored, "measure": AssociationMeasure(stored["measure"])})
    # Earlier versions stored a list, whose strength is not corrected for chance.
    feature, measure, uncorrected, records, left_out, reason = stored
    return Association(
        feature=feature,
        measure=AssociationMeasure(measure),
        strength=None,
        chance_level=None,
        uncorrected=uncorrected,
        records=records,
        left_out=left_out,
        reason=reason or NOT_CORRECTED,
    )
