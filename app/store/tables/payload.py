"""Logged scoring records.

`payload_keys` holds every id once, because a partition's index contains the month. No foreign key points to the deployment (a quarter of
the write): the write locks its row, and its deletion deletes these rows first.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Identity, Index, Integer, PrimaryKeyConstraint, Sequence, SmallInteger, func, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Json, Row

RECORD_NO_BLOCK = 1000
"""Record numbers that one `nextval` reserves, from its number on."""

record_no_seq = Sequence("record_no_seq", increment=RECORD_NO_BLOCK, metadata=Row.metadata)


class PayloadKeyRow(Row):
    """Taken ids, and where each record is."""

    __tablename__ = "payload_keys"

    deployment_no: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    record_id: Mapped[str] = mapped_column(primary_key=True)
    record_no: Mapped[int] = mapped_column(BigInteger)
    logged_at: Mapped[datetime] = mapped_column(server_default=func.now())


class PayloadRecordRow(Row):
    """One scoring record. `features` and `meta` are arrays in the order of `schema_version`.

    `debiased` is the debiased endpoint's answer. It represents 1/`sample_rate` records; NULL: all are logged.
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
    """Payload records that one write added to one minute; several rows may be of one minute.

    Kept for hours; `store/records/counts.py` adds rows up. Inserted, never updated, so that no write waits. No foreign key, as in
    `payload_records`.
    """

    __tablename__ = "record_counts"

    minute: Mapped[datetime] = mapped_column(primary_key=True)
    deployment_no: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    records: Mapped[int]


class FeedbackRecordRow(Row):
    """One ground-truth label.

    `usable_at` is when both halves of the pair were there (NULL: no payload record yet). Without a payload record, `predicted*` hold what
    the model said of the features.
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
