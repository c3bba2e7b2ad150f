"""Deployments, their monitors, training data and listed files."""

from datetime import date, datetime
from typing import Annotated, Any, TypeAlias

from sqlalchemy import ForeignKey, Index, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentKey, Int16, Int64, Row, ShortRowNo, StoredAt, TextKey, UniqueText


class DeploymentRow(Row):
    """One watched model. `credentials`, the endpoint's secret, and `column_key`, of its protected columns, are encrypted.

    `record_tables` names the files of its records; NULL: they are logged. `earliest` is the first possible day of one.
    """

    __tablename__ = "deployments"

    no: Mapped[ShortRowNo]
    id: Mapped[UniqueText]
    name: Mapped[str]
    problem_type: Mapped[str]
    outputs: Mapped[dict[str, Any]]
    schema_version: Mapped[Int16]
    model_revision: Mapped[str]
    endpoint: Mapped[dict[str, Any] | None]
    credentials: Mapped[bytes | None]
    column_key: Mapped[bytes | None]
    owner: Mapped[str | None]
    purpose: Mapped[str | None]
    record_tables: Mapped[dict[str, Any] | None]
    earliest: Mapped[date | None]
    created_at: Mapped[StoredAt]
    updated_at: Mapped[StoredAt]


class EndpointFailureRow(Row):
    """Failures in a row of an endpoint. It is not called until `open_until`; NULL: the breaker never opened."""

    __tablename__ = "endpoint_failures"

    deployment_no: Mapped[DeploymentKey]
    failures: Mapped[int]
    reason: Mapped[str]
    failed_at: Mapped[StoredAt]
    open_until: Mapped[datetime | None]


class DeploymentSchemaRow(Row):
    """Columns of one schema version: lists of {name, type, kind}, and a protected column's `storage`."""

    __tablename__ = "deployment_schemas"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    features: Mapped[list[Any]]
    meta: Mapped[list[Any]]


class MonitorRow(Row):
    """One monitor; `schedule` is a column for the tick.

    Hours before `scheduled_since` are not checked. `attribution` is done every night since `nightly_since`; NULL: nothing is. No version
    counts them.
    """

    __tablename__ = "monitors"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int]
    schedule: Mapped[str]
    config: Mapped[dict[str, Any]]
    scheduled_since: Mapped[StoredAt]
    attribution: Mapped[dict[str, Any] | None]
    nightly_since: Mapped[datetime | None]
    created_at: Mapped[StoredAt]
    updated_at: Mapped[StoredAt]


class ListedFileRow(Row):
    """One file of a deployment's table; `side` is `payload` or `feedback`.

    `batch` is the partition in its path. Its rows lie from `oldest` to `newest`, both included. NULL: none.
    """

    __tablename__ = "listed_files"
    __table_args__ = (Index("listed_files_newest_idx", "deployment_no", "side", "newest"),)

    deployment_no: Mapped[DeploymentKey]
    side: Mapped[TextKey]
    path: Mapped[TextKey]
    bytes: Mapped[Int64]
    modified_ns: Mapped[Int64]
    batch: Mapped[str | None]
    oldest: Mapped[datetime | None]
    newest: Mapped[datetime | None]


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
