"""Retention, legal holds, erasures, and their traces."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    BytesKey,
    DeploymentKey,
    DeploymentNo,
    Int64,
    JsonObject,
    Row,
    RowNo,
    ShortRowNo,
    StoredAt,
    TimeKey,
    refers_to,
)


class RetentionPolicyRow(Row):
    """Months for which records are kept; NULL keeps them. Answers to copies are erased up to
    `answers_until`.
    """

    __tablename__ = "retention_policies"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int]
    preset: Mapped[str | None]
    records_months: Mapped[int | None]
    feedback_months: Mapped[int | None]
    answers_months: Mapped[int | None]
    answers_until: Mapped[datetime | None]
    updated_at: Mapped[StoredAt]


class LegalHoldRow(Row):
    __tablename__ = "legal_holds"
    __table_args__ = (
        Index(
            "legal_holds_one_in_force_idx",
            "deployment_no",
            unique=True,
            postgresql_where=text("released_at IS NULL"),
        ),
        Index("legal_holds_deployment_no_no_idx", "deployment_no", "no"),
    )

    no: Mapped[ShortRowNo]
    deployment_no: Mapped[DeploymentNo]
    reason: Mapped[str]
    placed_by: Mapped[str]
    placed_at: Mapped[StoredAt]
    released_by: Mapped[str | None]
    released_at: Mapped[datetime | None]


class ErasureRow(Row):
    """One erasure, which outlives the deployment. `id` is unique within a deployment's id.

    `selector` names whose records go and is erased at the end; `scope` says it without a value of a
    person. `counts` is raised in the transaction that erases.
    """

    __tablename__ = "erasures"
    __table_args__ = (
        UniqueConstraint("deployment_id", "id", name="erasures_deployment_id_id_key"),
        Index("erasures_deployment_no_no_idx", "deployment_no", "no"),
        Index("erasures_open_idx", "no", postgresql_where=text("finished_at IS NULL")),
    )

    no: Mapped[RowNo]
    id: Mapped[str]
    deployment_no: Mapped[int | None] = refers_to("deployments.no", ondelete="SET NULL")
    deployment_id: Mapped[str]
    kind: Mapped[str]
    state: Mapped[str]
    selector: Mapped[JsonObject | None]
    scope: Mapped[JsonObject]
    request_hash: Mapped[str]
    counts: Mapped[JsonObject]
    requested_by: Mapped[str]
    requested_at: Mapped[StoredAt]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    hash: Mapped[str | None]


class ErasedIdRow(Row):
    """Digest of an erased record id: such a record is not stored again."""

    __tablename__ = "erased_ids"

    deployment_no: Mapped[DeploymentKey]
    digest: Mapped[BytesKey]


class ErasedHourRow(Row):
    """An hour from which so many records were erased, or only labels of them: its counts are not made
    again.
    """

    __tablename__ = "erased_hours"

    deployment_no: Mapped[DeploymentKey]
    hour: Mapped[TimeKey]
    records: Mapped[Int64] = mapped_column(server_default=text("0"))
