"""Evidence over time, attributions of gaps, and scans for subgroups."""

from typing import Annotated

from sqlalchemy import BigInteger, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    AlertNo,
    Bool,
    Bytes,
    BytesKey,
    DeploymentNo,
    Int,
    Int64,
    IntKey,
    JsonList,
    MadeId,
    NotYet,
    OptionalAlertNo,
    OptionalInt,
    OptionalInt64,
    OptionalList,
    OptionalObject,
    OptionalText,
    OptionalTime,
    QueuedRow,
    Row,
    RowNo,
    StoredAt,
    Text,
    TextKey,
    Time,
    TimeKey,
    refers_to,
)

EraNo = Mapped[Annotated[int, refers_to("evidence_eras.no", BigInteger)]]
EraKey = Mapped[Annotated[int, refers_to("evidence_eras.no", BigInteger, primary_key=True)]]


class EvidenceEraRow(Row):
    """Evidence with one model revision, until another one or a monitor that changes every figure.

    `monitor_version` is the last one counted by. Hours count from `starts_at` on (NULL: all), are counted
    before `counted_until`, labels before `labels_until`, records left out from `left_out_from` on (NULL:
    all). `problem` says why nothing can be counted. `figures_due`: an update has not ended. `alerts_due` is
    set in the transaction that changes a state, and taken back in the one that decides its alerts. `divisors`
    are pairs of an hour's number and the divisor of evidence from then on, `persons` of such a number and the
    column that says whose record it is; `alarms` say that some group is unfair.
    """

    __tablename__ = "evidence_eras"
    __table_args__ = (
        UniqueConstraint("deployment_no", "monitor_version", "model_revision", name="evidence_eras_key"),
        Index("evidence_eras_alerts_due_idx", "deployment_no", postgresql_where=text("alerts_due")),
    )

    no: RowNo
    deployment_no: DeploymentNo
    monitor_version: Int
    model_revision: Text
    starts_at: OptionalTime
    counted_until: OptionalTime
    labels_until: OptionalTime
    left_out_from: OptionalTime
    problem: OptionalText
    figures_due: Bool = mapped_column(server_default=text("true"))
    alerts_due: Bool
    divisors: JsonList = mapped_column(default=[[0, 1]])
    persons: JsonList = mapped_column(default=[[0, None]], server_default=text("'[[0, null]]'"))
    alarms: JsonList = mapped_column(default=[])
    created_at: StoredAt


class EvidenceHourRow(Row):
    """Counts of one comparison on one data set; no row without records.

    `cells` are lists that begin with a group's label and role. `check_no`: of counterfactual data, the check
    of the table.
    """

    __tablename__ = "evidence_hours"

    era_no: EraKey
    data: TextKey
    attribute: TextKey
    hour: TimeKey
    cells: JsonList
    check_no: OptionalInt64


class EvidenceLateLabelRow(Row):
    __tablename__ = "evidence_late_labels"

    era_no: EraKey
    hour: TimeKey
    labels: Int64


class EvidenceFigureRow(Row):
    """State after the hours before `until`; `first_hour` is the first with records.

    `definition` is what it compares (NULL: unknown). Hours count from `starts_at` on (NULL: all); from
    `ended_at` on, the monitor compares something else. A stale state is to be computed again. `summary` has a
    `LimitSummary` of each limit.
    """

    __tablename__ = "evidence_figures"
    __table_args__ = (Index("evidence_figures_era_no_no_idx", "era_no", "no"),)

    no: RowNo
    id: MadeId
    era_no: EraNo
    data: Text
    attribute: Text
    group: Text
    metric: Text
    definition: OptionalObject
    starts_at: OptionalTime
    ended_at: OptionalTime
    first_hour: Time
    until: Time
    is_stale: NotYet
    state: Bytes = mapped_column(default=b"")
    summary: JsonList = mapped_column(default=[])


class EvidenceClosureRow(Row):
    """An alarm that a person closed: evidence on that side begins again with `hour`.

    Names the figure by its parts: the figure's row may be made again.
    """

    __tablename__ = "evidence_closures"

    no: RowNo
    era_no: EraNo = mapped_column(index=True)
    data: Text
    attribute: Text
    group: Text
    metric: Text
    direction: Text
    hour: Time
    alert_no: AlertNo = mapped_column(index=True)


class ChangedHourRow(Row):
    """Something was added after its end; several rows may be of one hour.

    `era_no` is NULL for the present era; another one counts the hour if its model revision is used again. No
    foreign key: a writer that locks a label first could wait for the deployment's deletion without end.
    """

    __tablename__ = "changed_hours"
    __table_args__ = (Index("changed_hours_deployment_no_no_idx", "deployment_no", "no"),)

    no: RowNo
    deployment_no: Int
    hour: Time
    era_no: OptionalInt64


class EvidencePersonRow(Row):
    __tablename__ = "evidence_people"

    era_no: EraKey
    person: BytesKey
    logged_at: Time
    record_no: Int64


class AttributionRow(QueuedRow):
    """`alert_no`: the change that it is about.

    The unique indexes queue one attribution a night and one for an alert, and let a model answer one at a
    time. `comparisons` are lists of columns; NULL: each attribute by itself. `planned_rows` is stored before
    the model is asked.
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

    deployment_no: DeploymentNo
    trigger: Text
    span_start: Time
    span_end: Time
    check_id: OptionalText
    alert_no: OptionalAlertNo
    pairs: OptionalInt
    max_rows: OptionalInt
    comparisons: OptionalList
    planned_rows: OptionalInt64
    planned_requests: OptionalInt64
    asked_rows: OptionalInt64
    result: OptionalObject
    problem: OptionalText
    cancel_requested: NotYet
    progress: OptionalObject
    created_by: Text
    created_at: StoredAt
    started_at: OptionalTime
    finished_at: OptionalTime


class AttributionAnswerRow(Row):
    __tablename__ = "attribution_answers"

    attribution_no: Int = refers_to("attributions.no", BigInteger, primary_key=True)
    part: IntKey
    question: Bytes
    outcomes: Bytes


class SubgroupScanRow(QueuedRow):
    """The unique index keeps one scan of a deployment open. `features` are those asked for, at the end those
    read; `bins` divide the searched ones. Scans of commit 7ba08965 lack the group in `result`.
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

    deployment_no: DeploymentNo
    features: OptionalList
    hours: Int
    direction: Text
    created_by: Text
    created_at: StoredAt
    finished_at: OptionalTime
    reason: OptionalText
    span_start: OptionalTime
    span_end: OptionalTime
    bins: OptionalList
    result: OptionalObject
