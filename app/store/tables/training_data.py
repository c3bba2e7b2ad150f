"""Facts about a model's training data; never a whole row."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Integer, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class TrainingDataRow(Row):
    """The upload that counts. `labels` is the distribution of the label by itself."""

    __tablename__ = "training_data"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True, autoincrement=False)
    form: Mapped[str]
    label: Mapped[str]
    weight: Mapped[str | None]
    records: Mapped[int] = mapped_column(BigInteger)
    schema_version: Mapped[int] = mapped_column(SmallInteger)
    labels: Mapped[dict[str, Any]]
    absent: Mapped[list[Any]]
    processed_at: Mapped[datetime]
    processing_seconds: Mapped[float]


class TrainingDistributionRow(Row):
    """Counts of a column's values, or several together, with labels."""

    __tablename__ = "training_distributions"

    deployment_no: Mapped[int] = mapped_column(
        ForeignKey("training_data.deployment_no", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    distribution: Mapped[dict[str, Any]]


class TrainingTableRow(Row):
    """A count table of labels. `counted_by` holds its outcomes, groups and strata."""

    __tablename__ = "training_tables"

    deployment_no: Mapped[int] = mapped_column(
        ForeignKey("training_data.deployment_no", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    attribute: Mapped[str] = mapped_column(primary_key=True)
    counted_by: Mapped[dict[str, Any]]
    cells: Mapped[dict[str, Any] | None]
    reason: Mapped[str | None]


class TrainingCorrelationRow(Row):
    """Associations of a meta field with each feature, and its donors: parts of rows, each [value, records it represents, *features]."""

    __tablename__ = "training_correlations"

    deployment_no: Mapped[int] = mapped_column(
        ForeignKey("training_data.deployment_no", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    attribute: Mapped[str] = mapped_column(primary_key=True)
    associations: Mapped[list[Any]]
    donor_features: Mapped[list[Any]]
    donors: Mapped[list[Any]]
    digest: Mapped[str]
