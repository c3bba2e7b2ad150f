"""Logged scoring records, labels, answers to copies, and counts of what arrived.

`payload_keys` holds every id once, because a partition's index contains the month. No foreign key points
to the deployment (a quarter of the write): the write locks its row, and its deletion deletes these rows
first.
"""

from datetime import datetime

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
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    DeploymentKey,
    DeploymentNo,
    Int16,
    Int64,
    IntKey,
    JsonList,
    JsonObject,
    JsonValue,
    Row,
    RowNo,
    StoredAt,
    TextKey,
    TimeKey,
)

RECORD_NO_BLOCK = 1000
"""Record numbers that one `nextval` reserves, from its number on."""

record_no_seq = Sequence("record_no_seq", increment=RECORD_NO_BLOCK, metadata=Row.metadata)


class PayloadKeyRow(Row):
    """Taken ids, and where each record is."""

    __tablename__ = "payload_keys"

    deployment_no: Mapped[IntKey]
    record_id: Mapped[TextKey]
    record_no: Mapped[Int64]
    logged_at: Mapped[StoredAt]


class PayloadRecordRow(Row):
    """One scoring record. `features` and `meta` are arrays in the order of `schema_version`.

    `mitigated` is the mitigated answer. It represents 1/`sample_rate` records; NULL: all are logged.
    """

    __tablename__ = "payload_records"
    __table_args__ = (
        PrimaryKeyConstraint("deployment_no", "logged_at", "record_no"),
        {"postgresql_partition_by": "RANGE (logged_at)"},
    )

    deployment_no: Mapped[int]
    logged_at: Mapped[StoredAt]
    record_no: Mapped[Int64]
    record_id: Mapped[str]
    schema_version: Mapped[Int16]
    model_revision: Mapped[str]
    scored_at: Mapped[datetime]
    features: Mapped[JsonList]
    meta: Mapped[JsonList | None]
    prediction: Mapped[JsonValue]
    probability: Mapped[JsonValue | None]
    label: Mapped[JsonValue | None]
    mitigated: Mapped[JsonObject | None]
    sample_rate: Mapped[float | None]


class RecordCountRow(Row):
    """Payload records that one write added to one minute; several rows may be of one minute.

    Kept for hours; `store/records/counts.py` adds rows up. Inserted, never updated, so that no write
    waits. No foreign key, as in `payload_records`.
    """

    __tablename__ = "record_counts"

    minute: Mapped[TimeKey]
    deployment_no: Mapped[IntKey]
    no: Mapped[RowNo]
    records: Mapped[int]


class FeedbackRecordRow(Row):
    """One ground-truth label.

    `usable_at` is when both halves of the pair were there (NULL: no payload record yet). Without a payload
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

    deployment_no: Mapped[IntKey]
    feedback_id: Mapped[TextKey]
    feedback_no: Mapped[Int64]
    logged_at: Mapped[StoredAt]
    schema_version: Mapped[Int16]
    features: Mapped[JsonList | None]
    meta: Mapped[JsonList | None]
    label: Mapped[JsonValue]
    record_no: Mapped[Int64 | None]
    record_logged_at: Mapped[datetime | None]
    usable_at: Mapped[datetime | None]
    predicted: Mapped[JsonValue | None]
    predicted_label: Mapped[JsonValue | None]
    predicted_probability: Mapped[JsonValue | None]
    predicted_revision: Mapped[str | None]


class CorrectionRow(Row):
    """One correction; those of one value are numbered from 1. An erasure empties both ids, both values and
    the reason.

    `previous_at` is when the value was corrected before, `logged_at` of the record (NULL: none is stored),
    `usable_at` of its label.
    """

    __tablename__ = "corrections"
    __table_args__ = (
        UniqueConstraint("deployment_no", "id"),
        UniqueConstraint("deployment_no", "record_id", "what", "number"),
        Index("corrections_deployment_no_made_at_idx", "deployment_no", "made_at"),
    )

    no: Mapped[RowNo]
    deployment_no: Mapped[DeploymentNo]
    id: Mapped[str | None]
    record_id: Mapped[str | None]
    what: Mapped[str]
    number: Mapped[int]
    old: Mapped[JsonValue | None]
    new: Mapped[JsonValue | None]
    reason: Mapped[str | None]
    made_by: Mapped[str]
    made_at: Mapped[StoredAt]
    previous_at: Mapped[datetime | None]
    logged_at: Mapped[datetime | None]
    usable_at: Mapped[datetime | None]


class CopyTargetRow(Row):
    """One kind of copy: `feature` set to `target`, scored by `model_revision`.

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

    no: Mapped[int] = mapped_column(Identity(), primary_key=True)
    deployment_no: Mapped[DeploymentNo]
    model_revision: Mapped[str]
    schema_version: Mapped[Int16]
    feature: Mapped[str]
    target: Mapped[str]
    draws: Mapped[Int16]
    seed: Mapped[Int64]


class CounterfactualRow(Row):
    __tablename__ = "counterfactuals"

    target_no: Mapped[IntKey]
    record_no: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    draw: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    prediction: Mapped[JsonValue]
    probability: Mapped[JsonValue | None]
    label: Mapped[JsonValue | None]


class ArrivalRow(Row):
    """Records of one kind that one write stored, by its hour and source.

    Inserted, never updated, so that no write waits; `store/records/arrivals.py` adds rows up. No foreign
    key, as in `payload_records`.
    """

    __tablename__ = "arrivals"

    deployment_no: Mapped[IntKey]
    hour: Mapped[TimeKey]
    no: Mapped[RowNo]
    source: Mapped[str]
    kind: Mapped[str]
    records: Mapped[Int64]


class RejectionCountRow(Row):
    """Records of one hour that were not stored. Holds no value of any record."""

    __tablename__ = "rejection_counts"

    deployment_no: Mapped[DeploymentKey]
    hour: Mapped[TimeKey]
    source: Mapped[TextKey]
    kind: Mapped[TextKey]
    reason: Mapped[TextKey]
    field: Mapped[TextKey]
    records: Mapped[Int64]


class MissingRecordRow(Row):
    """Totals of one sender for one hour of its clock; hours without missing records have no row."""

    __tablename__ = "missing_records"

    deployment_no: Mapped[DeploymentKey]
    hour: Mapped[TimeKey]
    sender: Mapped[TextKey]
    not_received: Mapped[Int64]
    left_out: Mapped[Int64]
    sample_rate: Mapped[float]


class CallHalfRow(Row):
    __tablename__ = "call_halves"

    deployment_no: Mapped[DeploymentKey]
    call_id: Mapped[TextKey]
    side: Mapped[TextKey]
    source: Mapped[str]
    received_at: Mapped[datetime]
    stated_at: Mapped[datetime | None]
    content_type: Mapped[str]
    encoding: Mapped[str]
    body: Mapped[bytes]


class IntakeCountRow(Row):
    """Records (of unpaired and ignored ones: events) of one hour and outcome, and the last reason."""

    __tablename__ = "intake_counts"

    deployment_no: Mapped[DeploymentKey]
    hour: Mapped[TimeKey]
    source: Mapped[TextKey]
    outcome: Mapped[TextKey]
    count: Mapped[Int64]
    reason: Mapped[str | None]
