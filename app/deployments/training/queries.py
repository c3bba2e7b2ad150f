"""Stored facts about a model's training data: distributions, count tables, associations, donors."""

from collections.abc import Collection, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from ...base.errors import require_present
from ...base.values import GroupValue, Scalar, frozen, frozen_by_name, name_value
from ...database.binary_rows import list_column_values, read_row
from ...database.tables import (
    TrainingCorrelationRow,
    TrainingDataRow,
    TrainingDistributionRow,
    TrainingTableRow,
)
from ...domain.deployment import Deployment, FieldType
from ...domain.monitor import Comparison, Monitor, MonitoredAttribute, list_comparisons, list_outcome_texts

MAX_FILE_BYTES = 512 * 1024 * 1024

MAX_DISTRIBUTION_BYTES = 16 * 1024 * 1024

MAX_RECORDS = 10_000_000
"""A Parquet file of a few bytes can hold any number of rows."""

MAX_WEIGHT = 1e12
MIN_WEIGHT = 1e-12
"""The squares of smaller weights could vanish."""

MAX_LINE_BYTES = 1024 * 1024

BATCH_ROWS = 65_536

MAX_COUNTED_VALUES = 1_000
"""Distinct values of a column beyond which they are not counted one by one."""

MAX_DISTRIBUTION_CELLS = 50_000
"""Distinct values × distinct labels of one column; beyond, it counts as one of too many values."""

MAX_VALUE_CHARACTERS = 200
"""Max characters of a text that is kept as a value, as long as a monitor may list."""

MAX_BINS = 20
"""Intervals in which the values of a quantity are counted if they are too many."""

MAX_SAMPLED_RECORDS = 10_000
"""Records from which the ends of the intervals are chosen."""

MAX_DISTRIBUTION_COLUMNS = 4

MAX_RECORD_COUNT = 2**53
"""Records of a ready distribution, which double precision must hold."""

MAX_REPORTED_PROBLEMS = 100

MAX_COLUMN_PAIRS = 2_000
"""Max pairs of a meta field and a feature. Each takes about half a millisecond a piece."""

MAX_PAIR_CELLS = 5_000_000
"""All pairs' count tables together take 40 MB."""

MIN_ASSOCIATION = 0.1
"""Strength from which a feature's values are kept in donors."""

MAX_DONORS_OF_VALUE = 2_000
"""Donors of one value. A rate over that many of one value is off by at most 2.2 points in 95 of 100 files."""

MAX_DONOR_GROUPS = 100
"""Values of an attribute, the most frequent ones, of which donors are kept."""

MAX_DONOR_SOURCES = 5_000
"""Values of all attributes among which the most frequent are looked for."""

MAX_DONOR_VALUES = 250_000
"""As much as one stored document may hold, with the longest texts."""

MAX_DONOR_VALUES_OF_DEPLOYMENT = 1_000_000


class TrainingForm(StrEnum):
    """The form in which training data were sent."""

    CSV = "csv"
    PARQUET = "parquet"
    DISTRIBUTION = "distribution"


class Cell(NamedTuple):
    """Records of one combination of values, in the order of the distribution's columns, and of a label; None
    is missing. `weight` is the sum of weights, `squares` of their squares; both None where records carry
    none.
    """

    values: tuple[GroupValue | None, ...]
    label: GroupValue | None
    records: int
    weight: float | None = None
    squares: float | None = None


@frozen
class Distribution:
    """Counts of values, and of the labels that occur with them. `note` says what is coarse or left out."""

    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    note: str | None = None


@frozen_by_name
class TrainingSummary:
    """`label` and `weight` name columns, `absent` lists those of the schema that were missing."""

    form: TrainingForm
    label: str
    weight: str | None
    records: int
    schema_version: int
    labels: Distribution
    absent: tuple[str, ...]
    processed_at: datetime
    processing_seconds: float


@frozen_by_name
class CountingBasis:
    """Basis of a count table: outcomes, groups (feature, monitored, reference), strata."""

    favourable: tuple[str, ...]
    unfavourable: tuple[str, ...]
    groups: tuple[tuple[str, tuple[str, ...], tuple[str, ...] | None], ...]
    strata: str | None

    @property
    def comparison(self) -> Comparison:
        return Comparison(tuple(feature for feature, _, _ in self.groups))


@frozen
class LabelTable:
    """A count table of labels, `cells` in its JSON form.

    `reason` says why there is no table (`cells` None), or why it has no strata though it should.
    """

    counted_by: CountingBasis
    cells: dict[str, Any] | None
    reason: str | None = None


class AssociationMeasure(StrEnum):
    """The measure of the association of two columns, from 0 to 1: by whether they are categories or
    quantities.
    """

    CRAMERS_V = "cramers_v"
    CORRELATION_RATIO = "correlation_ratio"
    ABSOLUTE_PEARSON = "absolute_pearson"


RECOMMENDED_ABOVE = 0.1
"""Strength above which a feature is recommended, if it is also above chance."""

NOT_CORRECTED = (
    "the training data were uploaded when strengths were not yet corrected for chance; upload them again"
)


@frozen_by_name
class Association:
    """The association of a feature with a meta field; without a strength, `reason` says why.

    `strength` is corrected for chance, and 95 of 100 shuffles stay below `chance_level` on its scale: both
    0 to 1. Earlier versions measured `uncorrected` alone. `records` have a value in both, `left_out` are
    the others.
    """

    feature: str
    measure: AssociationMeasure
    strength: float | None = None
    chance_level: float | None = None
    uncorrected: float | None = None
    records: int
    left_out: int
    reason: str | None = None

    @property
    def is_corrected(self) -> bool:
        return self.strength is not None or self.uncorrected is None

    @property
    def is_above_chance(self) -> bool:
        return (
            self.strength is not None and self.chance_level is not None and self.strength > self.chance_level
        )

    @property
    def is_within_chance(self) -> bool:
        return self.strength is not None and not self.is_above_chance

    def is_recommended(self, *, above: float = RECOMMENDED_ABOVE) -> bool:
        return self.strength is not None and self.strength > above and self.is_above_chance


@frozen
class Donor:
    """A training record's values, for `records` of them: of a rare value a larger part is kept."""

    value: Scalar
    records: float
    features: tuple[Scalar | None, ...]


@frozen
class Donors:
    """Donors of an attribute, and the names and types of the features they lend; `digest` is of both."""

    features: tuple[tuple[str, FieldType], ...]
    donors: tuple[Donor, ...]
    digest: str


@frozen
class AttributeAssociations:
    attribute: str
    associations: tuple[Association, ...]
    donors: Donors


@frozen
class TrainingData:
    summary: TrainingSummary
    distributions: tuple[Distribution, ...]
    tables: tuple[LabelTable, ...]
    correlated: tuple[AttributeAssociations, ...] = ()


def build_counting_basis(monitor: Monitor, attributes: tuple[MonitoredAttribute, ...]) -> CountingBasis:
    return CountingBasis(
        favourable=tuple(list_outcome_texts(monitor.outcomes.favourable)),
        unfavourable=tuple(list_outcome_texts(monitor.outcomes.unfavourable)),
        groups=tuple(
            (
                attribute.feature,
                tuple(sorted(map(name_value, attribute.monitored))),
                None if attribute.reference is None else tuple(sorted(map(name_value, attribute.reference))),
            )
            for attribute in attributes
        ),
        strata=monitor.strata,
    )


def list_compared_attributes(monitor: Monitor) -> list[tuple[MonitoredAttribute, ...]]:
    return [tuple(comparison.members(monitor)) for comparison in list_comparisons(monitor)]


def store_training_data(session: Session, deployment_no: int, data: TrainingData) -> None:
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
    return list_column_values(distribution) | {
        "cells": [cell[:3] if cell.weight is None else cell for cell in distribution.cells]
    }


def read_associations(
    session: Session, deployment_no: int, attributes: Collection[str]
) -> dict[str, tuple[Association, ...]]:
    rows = _read_correlated(session, deployment_no, attributes, TrainingCorrelationRow.associations)
    return {attribute: tuple(map(_read_association, stored)) for attribute, stored in rows}


def _read_correlated(
    session: Session,
    deployment_no: int,
    attributes: Collection[str] | None,
    *columns: InstrumentedAttribute[Any],
) -> Iterable[Any]:
    table = TrainingCorrelationRow
    rows = select(table.attribute, *columns).where(table.deployment_no == deployment_no)
    rows = rows if attributes is None else rows.where(table.attribute.in_(attributes))
    # As a list: `dict` would take a result, which has keys, for a mapping.
    return session.execute(rows).all()


def read_donor_features(session: Session, deployment_no: int) -> dict[str, dict[str, FieldType]]:
    rows = _read_correlated(session, deployment_no, None, TrainingCorrelationRow.donor_features)
    return {attribute: msgspec.convert(dict(features), dict[str, FieldType]) for attribute, features in rows}


def read_donor_digests(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, str]:
    return dict(_read_correlated(session, deployment_no, attributes, TrainingCorrelationRow.digest))


def read_donors(session: Session, deployment_no: int, attributes: Collection[str]) -> dict[str, Donors]:
    table = TrainingCorrelationRow
    columns = (table.donor_features, table.donors, table.digest)
    return {
        attribute: Donors(
            msgspec.convert(features, tuple[tuple[str, FieldType], ...]),
            tuple(Donor(value, records, tuple(features)) for value, records, *features in donors),
            digest,
        )
        for attribute, features, donors, digest in _read_correlated(
            session, deployment_no, attributes, *columns
        )
    }


def _read_association(stored: dict[str, Any] | list[Any]) -> Association:
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
