"""Logged scoring records, labels, answers to copies, and counts of what arrived.

`payload_keys` holds every id once, because a partition's index contains the month. No foreign key points to
the deployment (a quarter of the write): the write locks its row, and its deletion deletes these rows first.
"""

from sqlalchemy import (
    BigInteger,
    Identity,
    Index,
    PrimaryKeyConstraint,
    Sequence,
    SmallInteger,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import mapped_column

from .base import (
    Bytes,
    DeploymentKey,
    DeploymentNo,
    Float,
    Int,
    Int16,
    Int64,
    IntKey,
    JsonList,
    JsonValue,
    OptionalFloat,
    OptionalInt64,
    OptionalList,
    OptionalObject,
    OptionalText,
    OptionalTime,
    OptionalValue,
    Row,
    RowNo,
    StoredAt,
    Text,
    TextKey,
    Time,
    TimeKey,
)

RECORD_NO_BLOCK = 1000

record_no_seq = Sequence("record_no_seq", increment=RECORD_NO_BLOCK, metadata=Row.metadata)


class PayloadKeyRow(Row):
    __tablename__ = "payload_keys"

    deployment_no: IntKey
    record_id: TextKey
    record_no: Int64
    logged_at: StoredAt


class PayloadRecordRow(Row):
    """`features` and `meta` are arrays in the order of `schema_version`.

    `mitigated` is the mitigated answer. It represents 1/`sample_rate` records; NULL: all are logged.
    """

    __tablename__ = "payload_records"
    __table_args__ = (
        PrimaryKeyConstraint("deployment_no", "logged_at", "record_no"),
        {"postgresql_partition_by": "RANGE (logged_at)"},
    )

    deployment_no: Int
    logged_at: StoredAt
    record_no: Int64
    record_id: Text
    schema_version: Int16
    model_revision: Text
    scored_at: Time
    features: JsonList
    meta: OptionalList
    prediction: JsonValue
    probability: OptionalValue
    label: OptionalValue
    mitigated: OptionalObject
    sample_rate: OptionalFloat


class RecordCountRow(Row):
    """Rows of one write; several may be of one minute.

    Kept for hours; added up by `sources/stored/window_queries.py`. Inserted, never updated, so that no write
    waits. No foreign key, as in `payload_records`.
    """

    __tablename__ = "record_counts"

    minute: TimeKey
    deployment_no: IntKey
    no: RowNo
    records: Int


class FeedbackRecordRow(Row):
    """`usable_at` is when both halves of the pair were there (NULL: no payload record yet). Without a payload
    record, `predicted*` hold what the model said of the features.
    """

    __tablename__ = "feedback_records"
    __table_args__ = (
        Index(
            "feedback_records_deployment_no_usable_at_feedback_no_idx",
            "deployment_no",
            "usable_at",
            "feedback_no",
        ),
        Index(
            "feedback_records_pending_idx",
            "deployment_no",
            "feedback_no",
            postgresql_where=text("usable_at IS NULL"),
        ),
    )

    deployment_no: IntKey
    feedback_id: TextKey
    feedback_no: Int64
    logged_at: StoredAt
    schema_version: Int16
    features: OptionalList
    meta: OptionalList
    label: JsonValue
    record_no: OptionalInt64
    record_logged_at: OptionalTime
    usable_at: OptionalTime
    predicted: OptionalValue
    predicted_label: OptionalValue
    predicted_probability: OptionalValue
    predicted_revision: OptionalText


class CorrectionRow(Row):
    """Those of one value are numbered from 1. An erasure empties both ids, both values and the reason.

    `previous_at` is when the value was corrected before, `logged_at` of the record (NULL: none is stored),
    `usable_at` of its label.
    """

    __tablename__ = "corrections"
    __table_args__ = (
        UniqueConstraint("deployment_no", "id"),
        UniqueConstraint("deployment_no", "record_id", "what", "number"),
        Index("corrections_deployment_no_made_at_idx", "deployment_no", "made_at"),
    )

    no: RowNo
    deployment_no: DeploymentNo
    id: OptionalText
    record_id: OptionalText
    what: Text
    number: Int
    old: OptionalValue
    new: OptionalValue
    reason: OptionalText
    made_by: Text
    made_at: StoredAt
    previous_at: OptionalTime
    logged_at: OptionalTime
    usable_at: OptionalTime


class CopyTargetRow(Row):
    """`feature` set to `target`, scored by `model_revision`.

    `target` is a value's canonical text, or `[lo, hi]` with `draws` and `seed`. Its number is taken before
    the model is asked.
    """

    __tablename__ = "copy_targets"
    __table_args__ = (
        UniqueConstraint(
            "deployment_no",
            "model_revision",
            "schema_version",
            "feature",
            "target",
            "draws",
            "seed",
            name="copy_targets_key",
        ),
    )

    no: Int = mapped_column(Identity(), primary_key=True)
    deployment_no: DeploymentNo
    model_revision: Text
    schema_version: Int16
    feature: Text
    target: Text
    draws: Int16
    seed: Int64


class CounterfactualRow(Row):
    __tablename__ = "counterfactuals"

    target_no: IntKey
    record_no: Int = mapped_column(BigInteger, primary_key=True)
    draw: Int = mapped_column(SmallInteger, primary_key=True)
    prediction: JsonValue
    probability: OptionalValue
    label: OptionalValue


class ArrivalRow(Row):
    """Rows of one write.

    Inserted, never updated, so that no write waits; added up by `intake/volume/arrival_queries.py`. No
    foreign key, as in `payload_records`.
    """

    __tablename__ = "arrivals"

    deployment_no: IntKey
    hour: TimeKey
    no: RowNo
    source: Text
    kind: Text
    records: Int64


class RejectionCountRow(Row):
    __tablename__ = "rejection_counts"

    deployment_no: DeploymentKey
    hour: TimeKey
    source: TextKey
    kind: TextKey
    reason: TextKey
    field: TextKey
    records: Int64


class MissingRecordRow(Row):
    """Hours are by the sender's clock; those without missing records have no row."""

    __tablename__ = "missing_records"

    deployment_no: DeploymentKey
    hour: TimeKey
    sender: TextKey
    not_received: Int64
    left_out: Int64
    sample_rate: Float


class CallHalfRow(Row):
    __tablename__ = "call_halves"

    deployment_no: DeploymentKey
    call_id: TextKey
    side: TextKey
    source: Text
    received_at: Time
    stated_at: OptionalTime
    content_type: Text
    encoding: Text
    body: Bytes


class IntakeCountRow(Row):
    """Records (of unpaired and ignored ones: events) of one hour and outcome, and the last reason."""

    __tablename__ = "intake_counts"

    deployment_no: DeploymentKey
    hour: TimeKey
    source: TextKey
    outcome: TextKey
    count: Int64
    reason: OptionalText
