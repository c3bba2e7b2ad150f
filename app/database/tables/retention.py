"""Retention, legal holds, erasures, and their traces."""

from sqlalchemy import Index, UniqueConstraint, text
from sqlalchemy.orm import mapped_column

from .base import (
    BytesKey,
    DeploymentKey,
    DeploymentNo,
    Int,
    Int64,
    JsonObject,
    OptionalInt,
    OptionalObject,
    OptionalText,
    OptionalTime,
    Row,
    RowNo,
    ShortRowNo,
    StoredAt,
    Text,
    TimeKey,
    refers_to,
)


class RetentionPolicyRow(Row):
    """NULL keeps records; else months. Answers to copies are erased up to `answers_until`."""

    __tablename__ = "retention_policies"

    deployment_no: DeploymentKey
    version: Int
    preset: OptionalText
    records_months: OptionalInt
    feedback_months: OptionalInt
    answers_months: OptionalInt
    answers_until: OptionalTime
    updated_at: StoredAt


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

    no: ShortRowNo
    deployment_no: DeploymentNo
    reason: Text
    placed_by: Text
    placed_at: StoredAt
    released_by: OptionalText
    released_at: OptionalTime


class ErasureRow(Row):
    """Outlives the deployment. `id` is unique within a deployment's id.

    `selector` names whose records go and is erased at the end; `scope` says it without a value of a person.
    `counts` is raised in the transaction that erases.
    """

    __tablename__ = "erasures"
    __table_args__ = (
        UniqueConstraint("deployment_id", "id"),
        Index("erasures_deployment_no_no_idx", "deployment_no", "no"),
        Index("erasures_open_idx", "no", postgresql_where=text("finished_at IS NULL")),
    )

    no: RowNo
    id: Text
    deployment_no: OptionalInt = refers_to("deployments.no", ondelete="SET NULL")
    deployment_id: Text
    kind: Text
    state: Text
    selector: OptionalObject
    scope: JsonObject
    request_hash: Text
    counts: JsonObject
    requested_by: Text
    requested_at: StoredAt
    started_at: OptionalTime
    finished_at: OptionalTime
    hash: OptionalText


class ErasedIdRow(Row):
    __tablename__ = "erased_ids"

    deployment_no: DeploymentKey
    digest: BytesKey


class ErasedHourRow(Row):
    """So many records were erased, or only labels of them: its counts are not made again."""

    __tablename__ = "erased_hours"

    deployment_no: DeploymentKey
    hour: TimeKey
    records: Int64 = mapped_column(server_default=text("0"))
