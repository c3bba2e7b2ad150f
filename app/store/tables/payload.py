"""Logged scoring records.

Two tables, because a record id must be unique permanently while records live in monthly partitions, which only an
index containing the month could enforce: `payload_keys` holds every id once and says where its record is.
No foreign key points to the deployment (a check per copied row would cost a quarter of the write); the write
itself locks the deployment's row, and deleting a deployment deletes these rows first.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Identity, Index, Integer, PrimaryKeyConstraint, Sequence, SmallInteger, func, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Json, Row

RECORD_NO_BLOCK = 1000
"""Record numbers that one `nextval` reserves: the number it returns and the following ones."""

record_no_seq = Sequence("record_no_seq", increment=RECORD_NO_BLOCK, metadata=Row.metadata)


class PayloadKeyRow(Row):
    """The ids that are taken, and where each record is."""

    __tablename__ = "payload_keys"

    deployment_no: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    record_id: Mapped[str] = mapped_column(primary_key=True)
    record_no: Mapped[int] = mapped_column(BigInteger)
    logged_at: Mapped[datetime] = mapped_column(server_default=func.now())


class PayloadRecordRow(Row):
    """One scoring record. `features` and `meta` are JSON arrays in the order of `schema_version`.

    `debiased` is the debiased endpoint's version of the model's answer; NULL for records that did not come through it. `sample_rate` is the
    share of records that is logged where this one comes from: it represents 1/sample_rate records. NULL where every record is logged.
    """

    __tablename__ = "payload_records"
    __table_args__ = (
        PrimaryKeyConstraint("deployment_no", "logged_at", "record_no"),
        {"postgresql_partition_by": "RANGE (logged_at)"},
    )

    deployment_no: Mapped[int]
    logged_at: Mapped[datetime] = mapped_column(server_default=func.now())
    record_no: Mapped[int] = mapped_column(BigInteger)
    record_id: Mapped[str]
    schema_version: Mapped[int] = mapped_column(SmallInteger)
    model_revision: Mapped[str]
    scored_at: Mapped[datetime]
    features: Mapped[list[Any]]
    meta: Mapped[list[Any] | None]
    prediction: Mapped[Any] = mapped_column(Json)
    probability: Mapped[Any | None] = mapped_column(Json)
    label: Mapped[Any | None] = mapped_column(Json)
    debiased: Mapped[dict[str, Any] | None]
    sample_rate: Mapped[float | None]


class RecordCountRow(Row):
    """Number of payload records that one write added to one minute; written in its transaction. Several rows may be of one minute.

    Only the minutes of the last hours are kept: `store/records/counts.py` says how many, and adds rows up. Inserted, never updated, so
    that no write waits for another. No foreign key, as in `payload_records`.
    """

    __tablename__ = "record_counts"

    minute: Mapped[datetime] = mapped_column(primary_key=True)
    deployment_no: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    records: Mapped[int]


class FeedbackRecordRow(Row):
    """One ground-truth label.

    `usable_at` is when both halves of the pair were there (NULL: the payload record has not arrived); windows of
    feedback are read on it. `record_no` and `record_logged_at` point to the payload record, where there is one.
    Without one, `predicted*` hold what the model said of the features, once a check has asked.
    """

    __tablename__ = "feedback_records"
    __table_args__ = (
        Index("feedback_records_deployment_no_usable_at_feedback_no_idx", "deployment_no", "usable_at", "feedback_no"),
        Index("feedback_records_pending_idx", "deployment_no", "feedback_no", postgresql_where=text("usable_at IS NULL")),
    )

    deployment_no: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    feedback_id: Mapped[str] = mapped_column(primary_key=True)
    feedback_no: Mapped[int] = mapped_column(BigInteger)
    logged_at: Mapped[datetime] = mapped_column(server_default=func.now())
    schema_version: Mapped[int] = mapped_column(SmallInteger)
    features: Mapped[list[Any] | None]
    meta: Mapped[list[Any] | None]
    label: Mapped[Any] = mapped_column(Json)
    record_no: Mapped[int | None] = mapped_column(BigInteger)
    record_logged_at: Mapped[datetime | None]
    usable_at: Mapped[datetime | None]
    predicted: Mapped[Any | None] = mapped_column(Json)
    predicted_label: Mapped[Any | None] = mapped_column(Json)
    predicted_probability: Mapped[Any | None] = mapped_column(Json)
    predicted_revision: Mapped[str | None]
