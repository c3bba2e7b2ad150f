"""Checks as bodies."""

from datetime import UTC, datetime
from typing import Any, Self

from pydantic import Field, model_validator

from ..domain.check import CheckRun, CheckState, DataSet, Span, Trigger
from ..web.body import In, Out, PageOut, example, read_from
from ..web.route_declarations import Timestamp
from .advice.advice import advise_on_check
from .advice.causes import Cause, Outlook
from .counting.left_out_of_check import LEFT_OUT
from .result_queries import CorrectedCount
from .views.measurement_bodies import MEASUREMENT, RECORDS, RECORDS_MEANING, MeasurementOut

_WINDOW = {
    "records": 412,
    "additional_records": 0,
    "perturbed_records": {"Sex": 412, "Age": 824},
    "oldest_record_at": "2026-03-01T09:00:02.104512Z",
    "newest_record_at": "2026-03-01T09:59:58.730011Z",
}
_CHECK = {
    "id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11",
    "deployment_id": "credit-risk",
    "trigger": "schedule",
    "state": "succeeded",
    "from": "2026-03-01T09:00:00Z",
    "to": "2026-03-01T10:00:00Z",
    "batch": None,
    "attempts": 1,
    "cancel_requested": False,
    "progress": {"step": "storing the result", "done": 0, "total": 0},
    "cause": "measured",
    "reason": None,
    "waits_for": None,
    "next_step": None,
    "next_attempt_at": None,
    "window": _WINDOW,
    "monitor_version": 1,
    "model_revision": "2026-02",
    "requested_by": "schedule",
    "created_at": "2026-03-01T10:00:35.411290Z",
    "started_at": "2026-03-01T10:00:35.902113Z",
    "finished_at": "2026-03-01T10:00:41.020874Z",
}
_TABLE = {
    "data": "as_logged",
    "attribute": "Sex",
    "part": "span",
    "cells": {
        "groups": [["female", "monitored"], ["male", "reference"]],
        "counts": [[80, 120], [50, 150]],
        "unclassified": [2, 1],
        "other": 9,
    },
}

_HEADLINE = {"attribute": "Sex", "figures": [MEASUREMENT], "reading": None, "notes": []}


class RangeIn(In):
    """A range of logging times, or none."""

    from_: Timestamp | None = Field(default=None, alias="from")
    """The beginning of the range of logging times; comes with `to`."""

    to: Timestamp | None = None
    """Its end, exclusive; not in the future."""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.from_ is None) != (self.to is None):
            raise ValueError("`from` and `to` must be sent together")
        return self

    def span(self) -> Span | None:
        return None if self.from_ is None or self.to is None else Span(_utc(self.from_), _utc(self.to))


class CheckIn(RangeIn):
    """The records to check: those of a range or of a batch. Without these: the present hour up to now."""

    model_config = example({"from": "2026-03-01T09:00:00Z", "to": "2026-03-01T10:00:00Z"})

    batch: str | None = Field(default=None, max_length=1000)
    """A value of the payload table's `partition_by`, where records lie in files: its records are checked
    as a whole."""

    @model_validator(mode="after")
    def _range_or_batch(self) -> Self:
        if self.batch is not None and self.from_ is not None:
            raise ValueError("`batch` cannot be sent together with `from` and `to`")
        return self


class ProgressOut(Out):
    """The progress of a check or an attribution: rows scored of rows to score, where `total` is not 0, and
    the step in words.
    """

    step: str
    done: int
    total: int


class CheckOut(Out):
    """One check. All states but `queued` and `running` are final; `failed` unless `next_attempt_at` says
    when it is tried again.
    """

    model_config = example(_CHECK)

    id: str
    deployment_id: str
    trigger: Trigger
    state: CheckState
    from_: datetime = read_from("span.start", serialization_alias="from")
    """The beginning of the range of logging times."""

    to: datetime = read_from("span.end")
    """Its end, exclusive."""

    batch: str | None
    """The partition of files that it is of; null: all records of the range."""

    attempts: int
    """How often a worker has begun it."""

    cancel_requested: bool
    """True on a running check that is about to stop, too."""

    progress: ProgressOut | None
    cause: Cause
    """Why it is where it is, for programs: `check_queued`, `check_running`, `worker_silent` (none answers
    any more), `worker_never_seen`, `too_few_records`, `scoring_failed`, `invalid_input`, `interrupted`,
    `timed_out`, `check_failed`, `cancelled`, `measured`."""

    reason: str | None
    """Why it failed, was cancelled or has insufficient data."""

    waits_for: str | None
    """The reason why it waits, in words; null where a worker runs it, and once it is over."""

    next_step: str | None
    """The step to take; null where nothing is missing."""

    next_attempt_at: datetime | None
    window: dict[str, Any] | None
    """The records that were read: counts, the oldest and newest timestamp, and a fingerprint."""

    monitor_version: int | None
    model_revision: str | None
    requested_by: str = read_from("created_by")
    """`schedule` (also for late files), or the id of the API key."""

    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, check: CheckRun, outlook: Outlook, **members: object) -> Self:
        advice = advise_on_check(check, outlook)
        waits = (
            check.state in {CheckState.QUEUED, CheckState.RUNNING} and advice.cause is not Cause.CHECK_RUNNING
        )
        window = (
            None
            if check.window is None
            else {name: member for name, member in check.window.items() if name != LEFT_OUT}
        )
        return cls.from_object(
            check,
            cause=advice.cause,
            waits_for=advice.reason if waits else None,
            next_step=advice.next_step,
            window=window,
            **members,
        )


class TableOut(Out):
    """One count table. `part` is `span`, or `additional` for the records of earlier hours that topped the
    window up.
    """

    model_config = example(_TABLE)

    data: DataSet
    attribute: str
    """The attribute, or several joined by ` × `; empty for the table of all labelled records."""

    part: str
    cells: dict[str, Any]
    """Counts by group and outcome (unfavourable, favourable), in the order of `groups`."""


class TablesOut(Out):
    """The count tables of a check."""

    model_config = example({"tables": [_TABLE]})

    tables: list[TableOut]


class HeadlineOut(Out):
    """Headline of one attribute, or of several together: the monitored group furthest out, as logged and
    counterfactual.
    """

    model_config = example(_HEADLINE)

    attribute: str
    figures: list[MeasurementOut]
    """Of each data set the disparate impact, or the first metric with a limit where the monitor does not
    pick it."""

    reading: str | None
    """The meaning of the two figures together; null where one is missing or the model does not see the
    attribute."""

    notes: list[str]
    """The meaning of the counterfactual figure where the model does not see the attribute."""


class CheckDetailsOut(CheckOut):
    """One check with its headline figures."""

    model_config = example(
        {
            **_CHECK,
            "headlines": [_HEADLINE],
            "records": {"as_logged": {"Sex": RECORDS}},
            "corrected_since": [],
            "model_answer": None,
        }
    )

    headlines: list[HeadlineOut]
    """Attributes in the order of the monitor, intersections last; empty until it has succeeded."""

    records: dict[str, dict[str, dict[str, Any]]] = Field(
        description=f"By data set and attribute. {RECORDS_MEANING}"
    )
    corrected_since: list[CorrectedCount]
    """How many values that the check read were corrected since; its figures are of the earlier ones."""

    model_answer: str | None
    """How the model's answer began that could not be used. It may repeat a record: null for roles that see
    figures only.
    """


class CheckPage(PageOut):
    """A page of checks."""

    checks: list[CheckOut]
    next_cursor: str | None


def _utc(moment: datetime) -> datetime:
    """A moment at the edge of the calendar stays as it is and is refused for being there."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment
