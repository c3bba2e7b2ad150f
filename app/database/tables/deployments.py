"""Deployments, their monitors, training data and listed files."""

from datetime import date, datetime
from typing import Annotated

from sqlalchemy import BigInteger, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    BoundDeploymentNo,
    CheckNo,
    DeploymentKey,
    Int16,
    Int64,
    IntKey,
    JsonList,
    JsonObject,
    Row,
    ShortRowNo,
    StoredAt,
    TextKey,
    UniqueText,
    refers_to,
)


class DeploymentRow(Row):
    """One watched model. `credentials`, the endpoint's secret, and `column_key`, of its protected columns,
    are encrypted.

    `record_tables` names the files of its records; NULL: they are logged. `earliest` is the first possible
    day of one.
    """

    __tablename__ = "deployments"

    no: Mapped[ShortRowNo]
    id: Mapped[UniqueText]
    name: Mapped[str]
    problem_type: Mapped[str]
    outputs: Mapped[JsonObject]
    schema_version: Mapped[Int16]
    model_revision: Mapped[str]
    endpoint: Mapped[JsonObject | None]
    credentials: Mapped[bytes | None]
    column_key: Mapped[bytes | None]
    owner: Mapped[str | None]
    purpose: Mapped[str | None]
    record_tables: Mapped[JsonObject | None]
    earliest: Mapped[date | None]
    created_at: Mapped[StoredAt]
    updated_at: Mapped[StoredAt]


class EndpointFailureRow(Row):
    """Failures in a row of an endpoint. It is not called until `open_until`; NULL: the breaker never
    opened.
    """

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
    features: Mapped[JsonList]
    meta: Mapped[JsonList]


class MonitorRow(Row):
    """One monitor; `schedule` is a column for the tick.

    Hours before `scheduled_since` are not checked. `attribution` is done every night since
    `nightly_since`; NULL: nothing is. No version counts them.
    """

    __tablename__ = "monitors"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int]
    schedule: Mapped[str]
    config: Mapped[JsonObject]
    scheduled_since: Mapped[StoredAt]
    attribution: Mapped[JsonObject | None]
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


UploadKey = Annotated[int, refers_to("training_data.deployment_no", primary_key=True)]


class TrainingDataRow(Row):
    """The upload that counts. `labels` is the distribution of the label by itself."""

    __tablename__ = "training_data"

    deployment_no: Mapped[DeploymentKey]
    form: Mapped[str]
    label: Mapped[str]
    weight: Mapped[str | None]
    records: Mapped[Int64]
    schema_version: Mapped[Int16]
    labels: Mapped[JsonObject]
    absent: Mapped[JsonList]
    processed_at: Mapped[datetime]
    processing_seconds: Mapped[float]


class TrainingDistributionRow(Row):
    __tablename__ = "training_distributions"

    deployment_no: Mapped[UploadKey]
    position: Mapped[IntKey]
    distribution: Mapped[JsonObject]


class TrainingTableRow(Row):
    """A count table of labels. `counted_by` holds its outcomes, groups and strata."""

    __tablename__ = "training_tables"

    deployment_no: Mapped[UploadKey]
    attribute: Mapped[TextKey]
    counted_by: Mapped[JsonObject]
    cells: Mapped[JsonObject | None]
    reason: Mapped[str | None]


class TrainingCorrelationRow(Row):
    """Associations of a meta field with each feature, and its donors: parts of rows, each [value, records
    it represents, *features].
    """

    __tablename__ = "training_correlations"

    deployment_no: Mapped[UploadKey]
    attribute: Mapped[TextKey]
    associations: Mapped[JsonList]
    donor_features: Mapped[JsonList]
    donors: Mapped[JsonList]
    digest: Mapped[str]


class MitigationSettingsRow(Row):
    """Settings of one deployment; without a row, the defaults."""

    __tablename__ = "mitigation_settings"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int]
    settings: Mapped[JsonObject]
    updated_at: Mapped[StoredAt]


class MitigationProfileRow(Row):
    """One version of what was fitted to payload. `basis` is a digest of its purpose."""

    __tablename__ = "mitigation_profiles"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[IntKey]
    basis: Mapped[str]
    fitted_at: Mapped[datetime]
    profile: Mapped[JsonObject]


class BiasDetectorRow(Row):
    """One version of an attribute's bias detector; of all together, `attribute` is empty.

    Either `model` and its `quality` on held-out records, or the `reason` why none was trained.
    """

    __tablename__ = "bias_detectors"
    deployment_no: Mapped[DeploymentKey]
    version: Mapped[IntKey]
    attribute: Mapped[TextKey]
    check_no: Mapped[CheckNo]
    basis: Mapped[str]
    trained_at: Mapped[datetime]
    training: Mapped[JsonObject]
    quality: Mapped[JsonObject | None]
    reason: Mapped[str | None]
    model: Mapped[bytes | None]


class FlaggedRecordRow(Row):
    """A payload record whose outcome would be another with a reference value of the attribute (`kind`
    changed), or probably (likely).

    Scores are probabilities of the favourable outcome: its own, and as a reference record; `gap` is their
    distance, or 0.
    """

    __tablename__ = "flagged_records"
    __table_args__ = (
        Index("flagged_records_gap_idx", "deployment_no", text("gap DESC"), "record_no", "attribute"),
    )

    deployment_no: Mapped[DeploymentKey]
    record_no: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    attribute: Mapped[TextKey]
    logged_at: Mapped[datetime]
    model_revision: Mapped[str]
    group: Mapped[str]
    kind: Mapped[str]
    direction: Mapped[str]
    own_score: Mapped[float | None]
    reference_score: Mapped[float | None]
    gap: Mapped[float]
    bias_score: Mapped[float | None]
    check_no: Mapped[CheckNo]


class OpenScaleFactRow(Row):
    """A service provider, or what a subscription knows and its deployment does not.

    `secrets` are a provider's credentials and headers, encrypted. Here because key rotation, backups and
    erasure know every table, also without the face.
    """

    __tablename__ = "openscale_facts"

    kind: Mapped[TextKey]
    id: Mapped[TextKey]
    deployment_no: Mapped[BoundDeploymentNo]
    entity: Mapped[JsonObject]
    secrets: Mapped[bytes | None]
    created_at: Mapped[StoredAt]
    created_by: Mapped[str]
    modified_at: Mapped[StoredAt]
