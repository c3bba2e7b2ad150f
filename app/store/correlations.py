"""Stored correlations of training data: the domain's Correlated to rows and back."""

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from app.domain.deployments import FieldType
from app.domain.training_data import Association, AssociationMeasure, Correlated, Donor, Donors
from app.store.tables import TrainingCorrelationRow


def store_correlations(session: Session, deployment_no: int, correlated: Iterable[Correlated]) -> None:
    """Stores those of an upload, whose row is there. They go with it."""
    rows = [
        {
            "deployment_no": deployment_no,
            "attribute": one.attribute,
            "associations": [_association_json(association) for association in one.associations],
            "donor_features": [[name, kind.value] for name, kind in one.donors.features],
            "donors": [[donor.value, donor.records, *donor.features] for donor in one.donors.donors],
            "digest": one.donors.digest,
        }
        for one in correlated
    ]
    # One by one: each may be tens of megabytes.
    for row in rows:
        session.execute(insert(TrainingCorrelationRow), row)


def associations_of(session: Session, deployment_no: int, attribute: str) -> tuple[Association, ...] | None:
    """The meta field's association with each feature, in the order of the schema; None where the upload says nothing of it."""
    table = TrainingCorrelationRow
    stored = session.scalar(select(table.associations).where(table.deployment_no == deployment_no, table.attribute == attribute))
    return None if stored is None else tuple(map(_association, stored))


def donor_features_of(session: Session, deployment_no: int) -> dict[str, dict[str, FieldType]]:
    """Of each meta field of the upload the features that its donors have, with the types they had then."""
    table = TrainingCorrelationRow
    rows = session.execute(select(table.attribute, table.donor_features).where(table.deployment_no == deployment_no))
    return {attribute: {name: FieldType(kind) for name, kind in features} for attribute, features in rows}


def donor_digests_of(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, str]:
    """What tells the donors of these meta fields from others, as far as the upload has them."""
    table = TrainingCorrelationRow
    rows = select(table.attribute, table.digest).where(table.deployment_no == deployment_no, table.attribute.in_(attributes))
    return {row.attribute: row.digest for row in session.execute(rows)}


def donors_of(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, Donors]:
    """The donors of these meta fields, as far as the upload has them."""
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


def _association_json(one: Association) -> list[Any]:
    return [one.feature, one.measure.value, one.strength, one.records, one.left_out, one.reason]


def _association(stored: list[Any]) -> Association:
    feature, measure, strength, records, left_out, reason = stored
    return Association(
        feature=feature, measure=AssociationMeasure(measure), strength=strength, records=records, left_out=left_out, reason=reason
    )
