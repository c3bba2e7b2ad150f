"""Facts about a model's training data; never a whole row."""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentKey, Int16, Int64, Row, TextKey

UploadKey: TypeAlias = Annotated[int, mapped_column(ForeignKey("training_data.deployment_no", ondelete="CASCADE"), primary_key=True)]


class TrainingDataRow(Row):
    """The upload that counts. `labels` is the distribution of the label by itself."""

    __tablename__ = "training_data"

    deployment_no: Mapped[DeploymentKey]
    form: Mapped[str]
    label: Mapped[str]
    weight: Mapped[str | None]
    records: Mapped[Int64]
    schema_version: Mapped[Int16]
    labels: Mapped[dict[str, Any]]
    absent: Mapped[list[Any]]
    processed_at: Mapped[datetime]
    processing_seconds: Mapped[float]


class TrainingDistributionRow(Row):
    __tablename__ = "training_distributions"

    deployment_no: Mapped[UploadKey]
    position: Mapped[int] = mapped_column(primary_key=True)
    distribution: Mapped[dict[str, Any]]


class TrainingTableRow(Row):
    """A count table of labels. `counted_by` holds its outcomes, groups and strata."""

    __tablename__ = "training_tables"

    deployment_no: Mapped[UploadKey]
    attribute: Mapped[TextKey]
    counted_by: Mapped[dict[str, Any]]
    cells: Mapped[dict[str, Any] | None]
    reason: Mapped[str | None]


class TrainingCorrelationRow(Row):
    """Associations of a meta field with each feature, and its donors: parts of rows, each [value, records it represents, *features]."""

    __tablename__ = "training_correlations"

    deployment_no: Mapped[UploadKey]
    attribute: Mapped[TextKey]
    associations: Mapped[list[Any]]
    donor_features: Mapped[list[Any]]
    donors: Mapped[list[Any]]
    digest: Mapped[str]
