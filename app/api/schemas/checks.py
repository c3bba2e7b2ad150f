"""Checks as bodies."""

from datetime import UTC, datetime
from typing import Any

from pydantic import Field, model_validator

from app.api.schemas.base import In, Out, example
from app.api.schemas.verdicts import BEYOND_LIMIT, DISADVANTAGED, DISADVANTAGED_GROUP, GAP, VERDICT, members_told
from app.domain.checks import CheckRun, CheckState, DataSet, Measurement, Scope, Span, Trigger
from app.metrics.sides import Disadvantaged
from app.store.results import StoredTable
from app.views.causes import Cause, Outlook
from app.views.check_advice import advice_on_check
from app.web.texts import Timestamp

_WINDOW: dict[str, Any] = {
    "records": 412,
    "additional_records": 0,
    "unclassified_records": 3,
    "perturbed_records": {"Sex": 412, "Age": 824},
    "oldest_record_at": "2026-03-01T09:00:02.104512Z",
    "newest_record_at": "2026-03-01T09:59:58.730011Z",
}
_CHECK: dict[str, Any] = {
    "id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11",
    "deployment_id": "credit-risk",
    "trigger": "schedule",
    "state": "succeeded",
    "from": "2026-03-01T09:00:00Z",
    "to": "2026-03-01T10:00:00Z",
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
_TABLE: dict[str, Any] = {
    "data": "payload",
    "attribute": "Sex",
    "part": "span",
    "cells": {
        "groups": [["female", "monitored"], ["male", "reference"]],
        "counts": [[80, 120], [50, 150]],
        "unclassified": [2, 1],
        "other": 9,
    },
}
_MEASUREMENT: dict[str, Any] = {
    "metric": "disparate_impact",
    "data": "payload",
    "scope": "group",
    "attribute": "Sex",
    "group": "female",
    "at": "2026-03-01T10:00:00Z",
    "value": 0.8,
    "reason": None,
    "lower": 0.701,
    "upper": 0.913,
    "interval_method": "log_ratio",
    "n": 400,
    "verdict": "suspected",
    "disadvantaged": "monitored",
    "disadvantaged_group": "female",
    "lower_limit": 0.9,
    "upper_limit": 1.1111111111111112,
    "carried_forward": False,
    "definition": 1,
    "sentence": "Of 100 records of female, 60 were predicted favourable; of 100 of male, 75: a ratio of 0.80 (95 %: 0.70 to 0.91).",
    "gap": "The gap is larger than chance explains (p = 0.0013).",
    "beyond_limit": "Whether it is beyond the limit of 0.9 is not certain: its interval reaches 0.91.",
    "details": {"monitored": "female", "reference": "male"},
}


class CheckIn(In):
    """What to check. Without a range: the present hour up to now."""

    model_config = example({"from": "2026-03-01T09:00:00Z", "to": "2026-03-01T10:00:00Z"})

    from_: Timestamp | None = Field(default=None, alias="from", description="The beginning of the range of logging times; comes with `to`.")
    to: Timestamp | None = Field(default=None, description="Its end, exclusive; not in the future.")

    @model_validator(mode="after")
    def _both_or_none(self) -> "CheckIn":
        if (self.from_ is None) != (self.to is None):
            raise ValueError("`from` and `to` must be sent together")
        return self

    def span(self) -> Span | None:
        """The range, if one was sent; not yet checked."""
        if self.from_ is None or self.to is None:
            return None
        return Span(start=_utc(self.from_), end=_utc(self.to))


class ProgressOut(Out):
    """How far a check is: copies scored of copies to score, where `total` is not 0, and the step in words."""

    step: str
    done: int
    total: int


class CheckOut(Out):
    """One check. All states but `queued` and `running` are final; `failed` unless `next_attempt_at` says when it is tried again."""

    model_config = example(_CHECK)

    id: str
    deployment_id: str
    trigger: Trigger
    state: CheckState
    from_: datetime = Field(serialization_alias="from", description="The beginning of the range of logging times.")
    to: datetime = Field(description="Its end, exclusive.")
    attempts: int = Field(description="How often a worker has begun it.")
    cancel_requested: bool = Field(description="True on a running check that is about to stop, too.")
    progress: ProgressOut | None
    cause: Cause = Field(
        description="Why it is where it is, for programs: `check_queued`, `check_running`, `worker_silent` (none answers any more),"
        " `worker_never_seen`, `too_few_records`, `scoring_failed`, `invalid_input`, `interrupted`, `check_failed`, `cancelled`,"
        " `measured`."
    )
    reason: str | None = Field(description="Why it failed, was cancelled or has insufficient data.")
    waits_for: str | None = Field(description="What it waits for, in words; null where a worker runs it, and once it is over.")
    next_step: str | None = Field(description="What to do about it; null where nothing is missing.")
    next_attempt_at: datetime | None
    window: dict[str, Any] | None = Field(
        description="Which records were read: counts, the oldest and newest timestamp, and a fingerprint."
    )
    monitor_version: int | None
    model_revision: str | None
    requested_by: str = Field(description="`schedule`, or the id of the API key.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, check: CheckRun, outlook: Outlook) -> "CheckOut":
        """Returns the body of a stored check."""
        return cls(**_members(check, outlook))


class TableOut(Out):
    """One count table. `part` is `span`, or `additional` for the records of earlier hours that topped the window up."""

    model_config = example(_TABLE)

    data: DataSet
    attribute: str = Field(description="The attribute, or several joined by ` × `; empty for the table of all labelled records.")
    part: str
    cells: dict[str, Any] = Field(description="Counts by group and outcome (unfavourable, favourable), in the order of `groups`.")


class MeasurementOut(Out):
    """One measured value; where it is null, `reason` says why."""

    model_config = example(_MEASUREMENT)

    metric: str
    data: DataSet
    scope: Scope
    attribute: str | None
    group: str | None
    at: datetime
    value: float | None
    reason: str | None
    lower: float | None = Field(description="The lower end of the 95 % interval.")
    upper: float | None = Field(description="Its upper end; null where it is unbounded.")
    interval_method: str | None
    n: int
    verdict: str | None = Field(description=VERDICT)
    disadvantaged: Disadvantaged | None = Field(description=DISADVANTAGED)
    disadvantaged_group: str | None = Field(description=DISADVANTAGED_GROUP)
    lower_limit: float | None
    upper_limit: float | None
    carried_forward: bool
    definition: int = Field(description="Number of the metric's definition on this data; 1 where release 0.1 had the same or measured it.")
    sentence: str = Field(
        description="What the value says, in words; where the reference is at a disadvantage, also as seen from its side."
    )
    gap: str | None = Field(description=GAP)
    beyond_limit: str = Field(description=BEYOND_LIMIT)
    details: dict[str, Any]

    @classmethod
    def of(cls, measurement: Measurement) -> "MeasurementOut":
        """The body of a stored measurement."""
        fields = {name: getattr(measurement, name) for name in Measurement.__dataclass_fields__}
        return cls(**fields, **members_told(measurement))


class CheckDetailsOut(CheckOut):
    """One check with all it has stored."""

    model_config = example({**_CHECK, "tables": [_TABLE], "measurements": [_MEASUREMENT]})

    tables: list[TableOut]
    measurements: list[MeasurementOut]

    @classmethod
    def with_results(
        cls, check: CheckRun, outlook: Outlook, *, tables: list[StoredTable], measurements: list[Measurement]
    ) -> "CheckDetailsOut":
        """Returns the body of a stored check with its results."""
        return cls(
            **_members(check, outlook),
            tables=[TableOut(data=table.data, attribute=table.attribute, part=table.part, cells=table.cells) for table in tables],
            measurements=[MeasurementOut.of(measurement) for measurement in measurements],
        )


class CheckPage(Out):
    """A page of checks."""

    model_config = example({"checks": [_CHECK], "next_cursor": None})

    checks: list[CheckOut]
    next_cursor: str | None


def _members(check: CheckRun, outlook: Outlook) -> dict[str, Any]:
    progress, advice = check.progress, advice_on_check(check, outlook)
    waits = check.state in {CheckState.QUEUED, CheckState.RUNNING} and advice.cause is not Cause.CHECK_RUNNING
    return {
        "id": check.id,
        "deployment_id": check.deployment_id,
        "trigger": check.trigger,
        "state": check.state,
        "from_": check.span.start,
        "to": check.span.end,
        "attempts": check.attempts,
        "cancel_requested": check.cancel_requested,
        "progress": progress and ProgressOut(step=progress.step, done=progress.done, total=progress.total),
        "cause": advice.cause,
        "reason": check.reason,
        "waits_for": advice.reason if waits else None,
        "next_step": advice.next_step,
        "next_attempt_at": check.next_attempt_at,
        "window": check.window,
        "monitor_version": check.monitor_version,
        "model_revision": check.model_revision,
        "requested_by": check.created_by,
        "created_at": check.created_at,
        "started_at": check.started_at,
        "finished_at": check.finished_at,
    }


def _utc(moment: datetime) -> datetime:
    """In UTC; a moment at the edge of the calendar, which has none, stays as it is and is refused for being there."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment
