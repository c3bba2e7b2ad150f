"""A check: the fairness of a deployment over one span of time, and its measurements."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from ..base.clock import HOUR, floor_to_hour
from ..base.frozen import frozen_by_name
from .figure_details import Details
from .monitor import Comparison


class CheckState(StrEnum):
    """The state of a check. The last four are final, but a failed hourly check is tried again while
    attempts remain.
    """

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    INSUFFICIENT_DATA = "insufficient_data"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Failure(StrEnum):
    """The cause of a failed check: the model's endpoint, a monitor that cannot be applied, dead workers,
    its time limit, or another one.
    """

    SCORING_FAILED = "scoring-failed"
    INVALID_INPUT = "invalid-input"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed-out"
    OTHER = "other"


class Trigger(StrEnum):
    """The origin of a check.

    The schedule: one check for each deployment and hour. Files: their rows came or changed after the
    scheduled check. A person or a program: for the present hour (`REQUEST`), or for a range of time or a
    batch (`RANGE`).
    """

    SCHEDULE = "schedule"
    REQUEST = "request"
    RANGE = "range"
    FILES = "files"


class DataSet(StrEnum):
    """Records that a measurement was computed on.

    `OPENSCALE` counts every copy like a record, as OpenScale does; on `COUNTERFACTUAL` every record is
    once on each side.
    """

    AS_LOGGED = "as_logged"
    OPENSCALE = "openscale"
    COUNTERFACTUAL = "counterfactual"
    LABELLED = "labelled"
    TRAINING = "training"
    MITIGATED = "mitigated"
    MITIGATED_LABELLED = "mitigated_labelled"


RENAMED_DATA = {
    "payload": DataSet.AS_LOGGED,
    "payload_perturbed": DataSet.OPENSCALE,
    "balanced": DataSet.COUNTERFACTUAL,
    "feedback": DataSet.LABELLED,
    "debiased": DataSet.MITIGATED,
    "debiased_feedback": DataSet.MITIGATED_LABELLED,
}
"""Words of version 0.1, which requests may still hold."""


class Scope(StrEnum):
    """Group or groups that a measurement is about.

    `worst` asks for the monitored one that is furthest out, favoured or not: a mark on the measurement of
    a group, whose scope is `group`.
    """

    GROUP = "group"
    WORST = "worst"
    POOLED = "pooled"
    WORST_PAIR = "worst_pair"
    REFERENCE = "reference"
    ATTRIBUTE = "attribute"
    OVERALL = "overall"


@frozen_by_name
class Span:
    """A half-open time range [start, end) on the clock on which records are logged; aware, UTC."""

    start: datetime
    end: datetime

    @property
    def is_whole_hour(self) -> bool:
        return self.start == floor_to_hour(self.start) and self.end - self.start == HOUR


@frozen_by_name
class Progress:
    step: str
    done: int = 0
    total: int = 0


@frozen_by_name
class WindowCounts:
    """Records of a check's window; None where the check ended before it read one.

    `records` include those of earlier hours; `unclassified` are in neither outcome list; `needed` is the
    monitor's `min_records` then.
    """

    records: int | None
    unclassified: int | None
    needed: int | None

    @classmethod
    def of(cls, window: Mapping[str, object] | None) -> "WindowCounts":
        stored = {name: count for name, count in (window or {}).items() if isinstance(count, int)}
        return cls(
            records=stored["records"] + stored.get("additional_records", 0) if "records" in stored else None,
            unclassified=stored.get("unclassified_records"),
            needed=stored.get("min_records"),
        )


@frozen_by_name
class CheckRun:
    """One queued, running or ended check. `span` is the hour, or the range that was asked for.

    `batch` is the partition whose records it is about; None: all records of the span. `lease_token` fences
    a worker: one with an older token may write nothing. `traceparent` (W3C Trace Context) is of the
    request that asked for it.
    """

    no: int
    id: str
    deployment_no: int
    deployment_id: str
    trigger: Trigger
    state: CheckState
    span: Span
    attempts: int
    lease_token: str | None
    progress: Progress | None
    reason: str | None
    window: dict[str, Any] | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    next_attempt_at: datetime | None
    cancel_requested: bool = False
    created_by: str = ""
    monitor_version: int | None = None
    model_revision: str | None = None
    failure: Failure | None = None
    batch: str | None = None
    traceparent: str | None = None

    @property
    def carried_from(self) -> str | None:
        """Id of the earlier check whose values this one has, as nothing has changed since."""
        origin = (self.window or {}).get("carried_from")
        return None if origin is None else str(origin)


PRESENT_TRIGGERS = (Trigger.SCHEDULE, Trigger.REQUEST, Trigger.FILES)


@frozen_by_name
class FigureKey:
    """Names a figure: the same one has the same key in every check, in evidence and in pictures.

    `group` is there in the scope `group` only, and may be empty: values may be blank. `attribute` None: of
    all records.
    """

    metric: str
    data: DataSet
    scope: Scope = Scope.GROUP
    attribute: str | None
    group: str | None


@frozen_by_name
class Measurement:
    """One value of a series, with everything needed to trace it.

    `value` is None exactly when `reason` says why. `details` hold the counts and the formula. `comparison`
    without features is of everybody, `group` a label. `worst_of` marks the monitored group that is
    furthest out, of so many that could be chosen (0: none). From `chosen_lower` to `chosen_upper` is the
    interval that allows for the choice among several groups, unbounded if only one is set. `definition` is
    2 where release 0.1 defined the metric otherwise on this data.
    """

    metric: str
    data: DataSet
    scope: Scope
    comparison: Comparison
    group: str | None
    at: datetime
    value: float | None
    reason: str | None
    lower: float | None
    upper: float | None
    interval_method: str | None
    n: int
    verdict: str | None
    lower_limit: float | None
    upper_limit: float | None
    carried_forward: bool = False
    definition: int = 1
    worst_of: int | None = None
    chosen_lower: float | None = None
    chosen_upper: float | None = None
    details: Details = Details()

    @property
    def attribute(self) -> str | None:
        return self.comparison.label or None

    @property
    def key(self) -> FigureKey:
        return FigureKey(
            metric=self.metric, data=self.data, scope=self.scope, attribute=self.attribute, group=self.group
        )

    def is_of(self, scope: Scope) -> bool:
        return self.worst_of is not None if scope is Scope.WORST else self.scope is scope
