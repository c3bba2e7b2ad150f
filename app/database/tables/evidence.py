"""Evidence over time, attributions of gaps, and scans for subgroups."""

from datetime import datetime
from typing import Annotated

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    AlertNo,
    BytesKey,
    DeploymentNo,
    Int64,
    IntKey,
    JsonList,
    JsonObject,
    MadeId,
    NotYet,
    QueuedRow,
    Row,
    RowNo,
    StoredAt,
    TextKey,
    TimeKey,
)

EraNo = Annotated[int, mapped_column(BigInteger, ForeignKey("evidence_eras.no", ondelete="CASCADE"))]
EraKey = Annotated[
    int, mapped_column(BigInteger, ForeignKey("evidence_eras.no", ondelete="CASCADE"), primary_key=True)
]


class EvidenceEraRow(Row):
    """Evidence with one model revision, until another one or a monitor that changes every figure.

    `monitor_version` is the last one counted by. Hours count from `starts_at` on (NULL: all), are counted
    before `counted_until`, labels before `labels_until`, records left out from `left_out_from` on (NULL:
    all). `problem` says why nothing can be counted. `figures_due`: an update has not ended. `alerts_due`
    is set in the transaction that changes a state, and taken back in the one that decides its alerts.
    `divisors` are pairs of an hour's number and the divisor of evidence from then on; `alarms` say that some
    group is unfair.
    """

    __tablename__ = "evidence_eras"
    __table_args__ = (
        UniqueConstraint("deployment_no", "monitor_version", "model_revision", name="evidence_eras_key"),
        Index("evidence_eras_alerts_due_idx", "deployment_no", postgresql_where=text("alerts_due")),
    )

    no: Mapped[RowNo]
    deployment_no: Mapped[DeploymentNo]
    monitor_version: Mapped[int]
    model_revision: Mapped[str]
    starts_at: Mapped[datetime | None]
    counted_until: Mapped[datetime | None]
    labels_until: Mapped[datetime | None]
    left_out_from: Mapped[datetime | None]
    problem: Mapped[str | None]
    figures_due: Mapped[bool] = mapped_column(server_default=text("true"))
    alerts_due: Mapped[bool]
    divisors: Mapped[JsonList] = mapped_column(default=[])
    alarms: Mapped[JsonList] = mapped_column(default=[])
    created_at: Mapped[StoredAt]


class EvidenceHourRow(Row):
    """Counts of one hour's records, of one comparison on one data set; none without records.

    `cells` are lists that begin with a group's label and role. `check_no`: of counterfactual data, the check of
    the table.
    """

    __tablename__ = "evidence_hours"

    era_no: Mapped[EraKey]
    data: Mapped[TextKey]
    attribute: Mapped[TextKey]
    hour: Mapped[TimeKey]
    cells: Mapped[JsonList]
    check_no: Mapped[Int64 | None]


class EvidenceLateLabelRow(Row):
    """Labels of one hour's records that arrived after their horizon; hours without any have no row."""

    __tablename__ = "evidence_late_labels"

    era_no: Mapped[EraKey]
    hour: Mapped[TimeKey]
    labels: Mapped[Int64]


class EvidenceFigureRow(Row):
    """State of one figure after the hours before `until`; `first_hour` is its first with records.

    `definition` is what it compares (NULL: unknown). Hours count from `starts_at` on (NULL: all); from
    `ended_at` on, the monitor compares something else. A stale state is to be computed again. `summary`
    has a `LimitSummary` of each limit.
    """

    __tablename__ = "evidence_figures"
    __table_args__ = (Index("evidence_figures_era_no_no_idx", "era_no", "no"),)

    no: Mapped[RowNo]
    id: Mapped[MadeId]
    era_no: Mapped[EraNo]
    data: Mapped[str]
    attribute: Mapped[str]
    group: Mapped[str]
    metric: Mapped[str]
    definition: Mapped[JsonObject | None]
    starts_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    first_hour: Mapped[datetime]
    until: Mapped[datetime]
    is_stale: Mapped[NotYet]
    state: Mapped[bytes] = mapped_column(default=b"")
    summary: Mapped[JsonList] = mapped_column(default=[])


class EvidenceClosureRow(Row):
    """An alarm that a person closed: evidence on that side begins again with `hour`.

    It names the figure by its parts: the figure's row may be made again.
    """

    __tablename__ = "evidence_closures"

    no: Mapped[RowNo]
    era_no: Mapped[EraNo] = mapped_column(index=True)
    data: Mapped[str]
    attribute: Mapped[str]
    group: Mapped[str]
    metric: Mapped[str]
    direction: Mapped[str]
    hour: Mapped[datetime]
    alert_no: Mapped[AlertNo] = mapped_column(index=True)


class ChangedHourRow(Row):
    """An hour to which something was added after its end; several rows may be of one hour.

    `era_no` is NULL for the present era; another one counts the hour if its model revision is used again.
    No foreign key to the deployment: a writer that locks a label first could wait for its deletion without
    end.
    """

    __tablename__ = "changed_hours"
    __table_args__ = (Index("changed_hours_deployment_no_no_idx", "deployment_no", "no"),)

    no: Mapped[RowNo]
    deployment_no: Mapped[int]
    hour: Mapped[datetime]
    era_no: Mapped[Int64 | None]


class EvidencePersonRow(Row):
    """First record of a person in an era. `person` is a digest."""

    __tablename__ = "evidence_people"

    era_no: Mapped[EraKey]
    person: Mapped[BytesKey]
    logged_at: Mapped[datetime]
    record_no: Mapped[Int64]


class AttributionRow(QueuedRow):
    """One attribution of a window's gaps, or of the change that an alert is about (`alert_no`).

    The unique indexes queue one attribution a night and one for an alert, and let a model answer one at a
    time. `comparisons` are lists of columns; NULL: each attribute by itself. `planned_rows` is stored
    before the model is asked.
    """

    __tablename__ = "attributions"
    __table_args__ = (
        Index(
            "attributions_one_per_night_idx",
            "deployment_no",
            "span_end",
            unique=True,
            postgresql_where=text("trigger = 'nightly'"),
        ),
        Index("attributions_one_per_alert_idx", "alert_no", unique=True),
        Index(
            "attributions_one_running_idx",
            "deployment_no",
            unique=True,
            postgresql_where=text("state = 'running' AND trigger <> 'alert'"),
        ),
        Index(
            "attributions_claimable_idx", "claimable_at", postgresql_where=text("claimable_at IS NOT NULL")
        ),
        Index("attributions_deployment_no_no_idx", "deployment_no", "no"),
    )

    deployment_no: Mapped[DeploymentNo]
    trigger: Mapped[str]
    span_start: Mapped[datetime]
    span_end: Mapped[datetime]
    check_id: Mapped[str | None]
    alert_no: Mapped[AlertNo | None]
    pairs: Mapped[int | None]
    max_rows: Mapped[int | None]
    comparisons: Mapped[JsonList | None]
    planned_rows: Mapped[Int64 | None]
    planned_requests: Mapped[Int64 | None]
    asked_rows: Mapped[Int64 | None]
    result: Mapped[JsonObject | None]
    problem: Mapped[str | None]
    cancel_requested: Mapped[NotYet]
    progress: Mapped[JsonObject | None]
    created_by: Mapped[str]
    created_at: Mapped[StoredAt]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class AttributionAnswerRow(Row):
    """Outcomes of one part, one byte each, kept until the attribution is over. `question` is a hash."""

    __tablename__ = "attribution_answers"

    attribution_no: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("attributions.no", ondelete="CASCADE"), primary_key=True
    )
    part: Mapped[IntKey]
    question: Mapped[bytes]
    outcomes: Mapped[bytes]


class SubgroupScanRow(QueuedRow):
    """One scan.

    The unique index keeps one scan of a deployment open. `bins` divide the features; scans of commit
    7ba08965 lack the group in `result`.
    """

    __tablename__ = "subgroup_scans"
    __table_args__ = (
        Index("subgroup_scans_deployment_no_no_idx", "deployment_no", "no"),
        Index(
            "subgroup_scans_one_open_idx",
            "deployment_no",
            unique=True,
            postgresql_where=text("claimable_at IS NOT NULL"),
        ),
    )

    deployment_no: Mapped[DeploymentNo]
    features: Mapped[JsonList | None]
    hours: Mapped[int]
    direction: Mapped[str]
    created_by: Mapped[str]
    created_at: Mapped[StoredAt]
    finished_at: Mapped[datetime | None]
    reason: Mapped[str | None]
    span_start: Mapped[datetime | None]
    span_end: Mapped[datetime | None]
    bins: Mapped[JsonList | None]
    result: Mapped[JsonObject | None]
