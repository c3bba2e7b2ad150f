"""Stored training data, and their correlations."""

from collections.abc import Collection
from typing import Any

import msgspec
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...database.binary_rows import list_column_values, read_row
from ...database.tables import (
    TrainingCorrelationRow,
    TrainingDataRow,
    TrainingDistributionRow,
    TrainingTableRow,
)
from ...domain.deployment import Deployment, FieldType
from .training_facts import (
    NOT_CORRECTED,
    Association,
    AssociationMeasure,
    Distribution,
    Donor,
    Donors,
    LabelTable,
    TrainingData,
    TrainingSummary,
)


def store_training_data(session: Session, deployment_no: int, data: TrainingData) -> None:
    """Stores an upload in the place of an earlier one."""
    # The database deletes what belongs to it.
    delete_training_data(session, deployment_no)
    summary = list_column_values(data.summary) | {"labels": _distribution_json(data.summary.labels)}
    session.execute(insert(TrainingDataRow).values(deployment_no=deployment_no, **summary))
    distributions = [
        {
            "deployment_no": deployment_no,
            "position": position,
            "distribution": _distribution_json(distribution),
        }
        for position, distribution in enumerate(data.distributions)
    ]
    tables = [
        {
            "deployment_no": deployment_no,
            "attribute": table.counted_by.comparison.label,
            **list_column_values(table),
        }
        for table in data.tables
    ]
    if distributions:
        session.execute(insert(TrainingDistributionRow), distributions)
    if tables:
        session.execute(insert(TrainingTableRow), tables)
    # One by one: each may be tens of megabytes.
    for correlated in data.correlated:
        donors = correlated.donors
        values = {
            "deployment_no": deployment_no,
            "attribute": correlated.attribute,
            "associations": correlated.associations,
            "donor_features": donors.features,
            "donors": [[donor.value, donor.records, *donor.features] for donor in donors.donors],
            "digest": donors.digest,
        }
        session.execute(insert(TrainingCorrelationRow), values)


def find_training_summary(session: Session, deployment_no: int) -> TrainingSummary | None:
    row = session.get(TrainingDataRow, deployment_no)
    return None if row is None else read_row(TrainingSummary, row)


def require_summary(session: Session, deployment: Deployment) -> TrainingSummary:
    return require_present(
        find_training_summary(session, deployment.no), "training data of the deployment", deployment.id
    )


def read_distributions(
    session: Session, deployment_no: int, column: str | None = None
) -> tuple[Distribution, ...]:
    statement = select(TrainingDistributionRow.distribution).where(
        TrainingDistributionRow.deployment_no == deployment_no
    )
    if column is not None:
        statement = statement.where(TrainingDistributionRow.distribution["columns"].contains([column]))
    return msgspec.convert(
        list(session.scalars(statement.order_by(TrainingDistributionRow.position))), tuple[Distribution, ...]
    )


def read_label_tables(session: Session, deployment_no: int) -> tuple[LabelTable, ...]:
    rows = session.scalars(
        select(TrainingTableRow)
        .where(TrainingTableRow.deployment_no == deployment_no)
        .order_by(TrainingTableRow.attribute)
    )
    return tuple(read_row(LabelTable, row) for row in rows)


def delete_training_data(session: Session, deployment_no: int) -> None:
    session.execute(delete(TrainingDataRow).where(TrainingDataRow.deployment_no == deployment_no))


def _distribution_json(distribution: Distribution) -> dict[str, Any]:
    """Each cell as [values, label, records], and weight and squares where there are any."""
    return list_column_values(distribution) | {
        "cells": [cell[:3] if cell.weight is None else cell for cell in distribution.cells]
    }


def read_associations(
    session: Session, deployment_no: int, attributes: Collection[str]
) -> dict[str, tuple[Association, ...]]:
    table = TrainingCorrelationRow
    rows = select(table.attribute, table.associations).where(
        table.deployment_no == deployment_no, table.attribute.in_(attributes)
    )
    return {attribute: tuple(map(_association, stored)) for attribute, stored in session.execute(rows)}


def read_donor_features(session: Session, deployment_no: int) -> dict[str, dict[str, FieldType]]:
    """Each meta field's donor features, with their types of then."""
    table = TrainingCorrelationRow
    rows = session.execute(
        select(table.attribute, table.donor_features).where(table.deployment_no == deployment_no)
    )
    return {attribute: msgspec.convert(dict(features), dict[str, FieldType]) for attribute, features in rows}


def read_donor_digests(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, str]:
    table = TrainingCorrelationRow
    rows = select(table.attribute, table.digest).where(
        table.deployment_no == deployment_no, table.attribute.in_(attributes)
    )
    return dict(session.execute(rows).all())


def read_donors(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, Donors]:
    table = TrainingCorrelationRow
    rows = session.execute(
        select(table.attribute, table.donor_features, table.donors, table.digest).where(
            table.deployment_no == deployment_no, table.attribute.in_(attributes)
        )
    )
    return {
        attribute: Donors(
            msgspec.convert(features, tuple[tuple[str, FieldType], ...]),
            tuple(Donor(value, records, tuple(features)) for value, records, *features in donors),
            digest,
        )
        for attribute, features, donors, digest in rows
    }


def _association(stored: dict[str, Any] | list[Any]) -> Association:
    if isinstance(stored, dict):
        return msgspec.convert(stored, Association)
    # Earlier versions stored a list, whose strength is not corrected for chance.
    feature, measure, uncorrected, records, left_out, reason = stored
    return Association(
        feature=feature,
        measure=AssociationMeasure(measure),
        uncorrected=uncorrected,
        records=records,
        left_out=left_out,
        reason=reason or NOT_CORRECTED,
    )
