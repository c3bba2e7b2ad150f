"""Stored correlations of training data."""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from ...domain.deployments import FieldType
from ...domain.training_data import NOT_CORRECTED, Association, AssociationMeasure, Correlated, Donor, Donors
from ..tables import TrainingCorrelationRow


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
