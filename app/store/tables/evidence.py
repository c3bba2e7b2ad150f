"""Evidence over time: counts of whole hours, the state of each figure, and the hours whose counts are to be made again."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, LargeBinary, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Json, Row


class EvidenceEraRow(Row):
    """Evidence with one model revision: it begins again with another one, and with a version of the monitor that changes every figure.

    `monitor_version` is the last one that was counted by. `starts_at` is the first hour that counts; NULL: every hour does. Hours before
    `counted_until` are counted, and of those before `labels_until` the labels. `problem` says why nothing can be counted.
    `figures_due` says that an update has begun and not ended: figures may lack counted hours, or be stale.
    `alerts_due` is set in the transaction that changes a state, and taken back in the one that decides its alerts.
    """

    __tablename__ = "evidence_eras"
    __table_args__ = (
        UniqueConstraint("deployment_no", "monitor_version", "model_revision", name="evidence_eras_key"),
        Index("evidence_eras_alerts_due_idx", "deployment_no", postgresql_where=text("alerts_due")),
    )

    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"))
    monitor_version: Mapped[int]
    model_revision: Mapped[str]
    starts_at: Mapped[datetime | None]
    counted_until: Mapped[datetime | None]
    labels_until: Mapped[datetime | None]
    problem: Mapped[str | None]
    figures_due: Mapped[bool] = mapped_column(server_default=text("true"))
    alerts_due: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class EvidenceHourRow(Row):
    """Counts of one hour's own records, of one comparison on one data set; hours without records have no row.

    `cells` are lists that begin with a group's label and role. `check_no` is the check whose count table they are from, of balanced data.
    """

    __tablename__ = "evidence_hours"

    era_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("evidence_eras.no", ondelete="CASCADE"), primary_key=True)
    data: Mapped[str] = mapped_column(primary_key=True)
    attribute: Mapped[str] = mapped_column(primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    cells: Mapped[list[Any]] = mapped_column(Json)
    check_no: Mapped[int | None] = mapped_column(BigInteger)


class EvidenceLateLabelRow(Row):
    """Number of labels of one hour's records that arrived after their horizon and were left out; hours without any have no row."""

    __tablename__ = "evidence_late_labels"

    era_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("evidence_eras.no", ondelete="CASCADE"), primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    labels: Mapped[int] = mapped_column(BigInteger)


class EvidenceFigureRow(Row):
    """State of one figure of one group after the hours before `until`; `first_hour` is its first hour with records.

    `definition` is what it compares, NULL if it was stored before definitions were. `starts_at` is the first hour that may count, NULL if
    every hour may; from `ended_at` on, the monitor compares something else.
    A stale state is to be computed again from the first hour, because one of its hours has changed. `summary` says of each limit what
    `app.store.evidence.summaries.LimitSummary` has; it is empty before the first hour.
    """

    __tablename__ = "evidence_figures"
    __table_args__ = (Index("evidence_figures_era_no_no_idx", "era_no", "no"),)

    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    era_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("evidence_eras.no", ondelete="CASCADE"))
    data: Mapped[str]
    attribute: Mapped[str]
    group: Mapped[str]
    metric: Mapped[str]
    definition: Mapped[dict[str, Any] | None] = mapped_column(Json)
    starts_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    first_hour: Mapped[datetime]
    until: Mapped[datetime]
    is_stale: Mapped[bool]
    state: Mapped[bytes] = mapped_column(LargeBinary)
    summary: Mapped[list[Any]] = mapped_column(Json)


class EvidenceClosureRow(Row):
    """One alarm that a person closed: the evidence on that side of the figure begins again with `hour`.

    It names the figure by its parts: the figure's row may be deleted and made again while the past is counted again.
    """

    __tablename__ = "evidence_closures"

    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    era_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("evidence_eras.no", ondelete="CASCADE"), index=True)
    data: Mapped[str]
    attribute: Mapped[str]
    group: Mapped[str]
    metric: Mapped[str]
    direction: Mapped[str]
    hour: Mapped[datetime]
    alert_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("alerts.no", ondelete="CASCADE"), index=True)


class ChangedHourRow(Row):
    """One hour to which something was added after its end; written in the transaction that adds it. Several rows may be of one hour.

    `era_no` is NULL for the present era; another era counts the hour if its model revision is used again.

    No foreign key points to the deployment: a writer that locks a label first, and then the deployment, could wait for its deletion without
    end. Deleting a deployment deletes these rows, too.
    """

    __tablename__ = "changed_hours"
    __table_args__ = (Index("changed_hours_deployment_no_no_idx", "deployment_no", "no"),)

    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    deployment_no: Mapped[int]
    hour: Mapped[datetime]
    era_no: Mapped[int | None] = mapped_column(BigInteger)


class EvidencePersonRow(Row):
    """The first record of a person in an era. `person` is a digest."""

    __tablename__ = "evidence_people"

    era_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("evidence_eras.no", ondelete="CASCADE"), primary_key=True)
    person: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    logged_at: Mapped[datetime]
    record_no: Mapped[int] = mapped_column(BigInteger)
