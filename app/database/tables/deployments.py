"""Deployments, their monitors, training data and listed files."""

from datetime import date
from typing import Annotated

from sqlalchemy import BigInteger, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    BoundDeploymentNo,
    CheckNo,
    DeploymentKey,
    Float,
    Int,
    Int16,
    Int64,
    IntKey,
    JsonList,
    JsonObject,
    OptionalBytes,
    OptionalFloat,
    OptionalObject,
    OptionalText,
    OptionalTime,
    Row,
    ShortRowNo,
    StoredAt,
    Text,
    TextKey,
    Time,
    UniqueText,
    refers_to,
)


class DeploymentRow(Row):
    """`credentials`, the endpoint's secret, and `column_key`, of its protected columns, are encrypted.

    `record_tables` names the files of its records; NULL: they are logged. `earliest` is the first possible
    day of one.
    """

    __tablename__ = "deployments"

    no: ShortRowNo
    id: UniqueText
    name: Text
    problem_type: Text
    outputs: JsonObject
    schema_version: Int16
    model_revision: Text
    endpoint: OptionalObject
    credentials: OptionalBytes
    column_key: OptionalBytes
    owner: OptionalText
    purpose: OptionalText
    record_tables: OptionalObject
    earliest: Mapped[date | None]
    created_at: StoredAt
    updated_at: StoredAt


class EndpointFailureRow(Row):
    __tablename__ = "endpoint_failures"

    deployment_no: DeploymentKey
    failures: Int
    reason: Text
    failed_at: StoredAt
    open_until: OptionalTime


class DeploymentSchemaRow(Row):
    __tablename__ = "deployment_schemas"

    deployment_no: DeploymentKey
    version: Int = mapped_column(SmallInteger, primary_key=True)
    features: JsonList
    meta: JsonList


class MonitorRow(Row):
    """`schedule` is a column for the tick.

    Hours before `scheduled_since` are not checked. `attribution` is done every night since `nightly_since`;
    NULL: nothing is. No version counts them.
    """

    __tablename__ = "monitors"

    deployment_no: DeploymentKey
    version: Int
    schedule: Text
    config: JsonObject
    scheduled_since: StoredAt
    attribution: OptionalObject
    nightly_since: OptionalTime
    created_at: StoredAt
    updated_at: StoredAt


class ListedFileRow(Row):
    """`side` is `payload` or `feedback`, `batch` the partition in its path. Rows lie from `oldest` to
    `newest`, both included. NULL: none.
    """

    __tablename__ = "listed_files"
    __table_args__ = (Index("listed_files_newest_idx", "deployment_no", "side", "newest"),)

    deployment_no: DeploymentKey
    side: TextKey
    path: TextKey
    bytes: Int64
    modified_ns: Int64
    batch: OptionalText
    oldest: OptionalTime
    newest: OptionalTime


UploadKey = Mapped[Annotated[int, refers_to("training_data.deployment_no", primary_key=True)]]


class TrainingDataRow(Row):
    __tablename__ = "training_data"

    deployment_no: DeploymentKey
    form: Text
    label: Text
    weight: OptionalText
    records: Int64
    schema_version: Int16
    labels: JsonObject
    absent: JsonList
    processed_at: Time
    processing_seconds: Float


class TrainingDistributionRow(Row):
    __tablename__ = "training_distributions"

    deployment_no: UploadKey
    position: IntKey
    distribution: JsonObject


class TrainingTableRow(Row):
    __tablename__ = "training_tables"

    deployment_no: UploadKey
    attribute: TextKey
    counted_by: JsonObject
    cells: OptionalObject
    reason: OptionalText


class TrainingCorrelationRow(Row):
    """Donors are parts of rows, each [value, records it represents, *features]."""

    __tablename__ = "training_correlations"

    deployment_no: UploadKey
    attribute: TextKey
    associations: JsonList
    donor_features: JsonList
    donors: JsonList
    digest: Text


class MitigationSettingsRow(Row):
    __tablename__ = "mitigation_settings"

    deployment_no: DeploymentKey
    version: Int
    settings: JsonObject
    updated_at: StoredAt


class MitigationProfileRow(Row):
    __tablename__ = "mitigation_profiles"

    deployment_no: DeploymentKey
    version: IntKey
    basis: Text
    fitted_at: Time
    profile: JsonObject


class BiasDetectorRow(Row):
    """`attribute` is empty for all together.

    Either `model` and its `quality` on held-out records, or the `reason` why none was trained.
    """

    __tablename__ = "bias_detectors"
    deployment_no: DeploymentKey
    version: IntKey
    attribute: TextKey
    check_no: CheckNo
    basis: Text
    trained_at: Time
    training: JsonObject
    quality: OptionalObject
    reason: OptionalText
    model: OptionalBytes


class FlaggedRecordRow(Row):
    """Its outcome would be another with a reference value of the attribute (`kind` changed), or probably
    (likely).

    Scores are probabilities of the favourable outcome: its own, and as a reference record; `gap` is their
    distance, or 0.
    """

    __tablename__ = "flagged_records"
    __table_args__ = (
        Index("flagged_records_gap_idx", "deployment_no", text("gap DESC"), "record_no", "attribute"),
    )

    deployment_no: DeploymentKey
    record_no: Int = mapped_column(BigInteger, primary_key=True)
    attribute: TextKey
    logged_at: Time
    model_revision: Text
    group: Text
    kind: Text
    direction: Text
    own_score: OptionalFloat
    reference_score: OptionalFloat
    gap: Float
    bias_score: OptionalFloat
    check_no: CheckNo


class OpenScaleFactRow(Row):
    """A service provider, or what a subscription knows and its deployment does not.

    `secrets` are a provider's credentials and headers, encrypted. Here because key rotation, backups and
    erasure know every table, also without the face.
    """

    __tablename__ = "openscale_facts"

    kind: TextKey
    id: TextKey
    deployment_no: BoundDeploymentNo
    entity: JsonObject
    secrets: OptionalBytes
    created_at: StoredAt
    created_by: Text
    modified_at: StoredAt
