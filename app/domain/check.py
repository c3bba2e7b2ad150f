"""A check: the fairness of a deployment over one span of time, its measurements, and their details."""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from ..base.clock import HOUR, floor_to_hour
from ..base.strict_json import JsonObject
from ..base.values import frozen, frozen_by_name
from .monitor import Comparison

Side = Literal["monitored", "reference"]
SIDES: tuple[Side, Side] = ("monitored", "reference")

BLANK_GROUP = "(blank)"
"""Name of the group whose label is empty."""

Counts = Mapping[str, float | None]


@frozen_by_name
class Details:
    """Details of a measurement beyond its value; a field that is None is absent.

    A figure is about one `subject` (in JSON `"whom"`), or compares `monitored` with `reference`, the two
    furthest apart of `chosen_from` groups. `chosen_p_value` allows for the choice. `groups` to
    `value_without_small_groups` describe figures across all groups; `rate` to `subgroup_of_groups` compare a
    found subgroup with all records. `caution` continues "It …". `labels` counts the records with a label.
    `others` are members that this release does not know and that are not numbers.
    """

    formula: str | None = None
    subject: str | None = None
    monitored: str | None = None
    reference: str | None = None
    counts: Counts = field(default_factory=dict)
    monitored_counts: Counts = field(default_factory=dict)
    reference_counts: Counts = field(default_factory=dict)
    p_value: float | None = None
    chosen_p_value: float | None = None
    p_value_method: str | None = None
    shortfall: float | None = None
    chosen_from: int | None = None
    groups: int | None = None
    smallest_group: str | None = None
    small_groups: int | None = None
    records_of_small_groups: int | None = None
    value_without_small_groups: float | None = None
    strata: int | None = None
    homogeneity: JsonObject | None = None
    records_without_a_stratum: int | None = None
    draws: int | None = None
    neighbours: int | None = None
    unscored: int | None = None
    rate: float | None = None
    subgroup_rate: float | None = None
    subgroup_n: int | None = None
    subgroup_of_groups: Mapping[str, int] | None = None
    records_drawn_by_lot: int | None = None
    records_without_a_feature: int | None = None
    records_not_scored: int | None = None
    caution: str | None = None
    labels: JsonObject | None = None
    others: JsonObject = field(default_factory=dict)

    @classmethod
    def from_json(cls, members: JsonObject) -> "Details":
        """Reads details that `to_json` wrote, in any release; an unknown number becomes a count."""
        fields_by_name: JsonObject = {}
        counts: dict[str, dict[str, float | None]] = {"": {}, "monitored_": {}, "reference_": {}}
        other_members = {}
        for name, value in members.items():
            if name in _FIELDS and value is not None:
                fields_by_name[_FIELDS[name]] = value
            elif value is None or isinstance(value, int | float):
                prefix = next((f"{side}_" for side in SIDES if name.startswith(f"{side}_")), "")
                counts[prefix][name.removeprefix(prefix)] = value
            else:
                other_members[name] = value
        return cls(
            **fields_by_name,
            counts=counts[""],
            monitored_counts=counts["monitored_"],
            reference_counts=counts["reference_"],
            others=other_members,
        )

    def changed(self, **changes: Any) -> "Details":  # noqa: ANN401 - of any field
        return replace(self, **changes)

    def to_json(self) -> JsonObject:
        """Writes the members in the order in which Postgres keeps them."""
        members = {
            name: getattr(self, attribute)
            for name, attribute in _FIELDS.items()
            if getattr(self, attribute) is not None
        }
        members |= {**self.counts, **self.others}
        for side in SIDES:
            members |= {f"{side}_{name}": count for name, count in self.counts_of(side).items()}
        return _order_as_jsonb(members)

    def name_of(self, side: Side) -> str | None:
        """Returns the name of a side for sentences; None in details of the first releases."""
        name = self.monitored if side == "monitored" else self.reference
        return BLANK_GROUP if name == "" else name

    def counts_of(self, side: Side) -> Counts:
        return self.monitored_counts if side == "monitored" else self.reference_counts

    def records_of(self, side: Side) -> int | None:
        """Returns the number of records with an outcome, without copies; None if it is not stored."""
        counts = self.counts_of(side)
        numbers = (counts.get(name) for name in ("own_n", "original_n", "n"))
        return next((round(number) for number in numbers if number is not None), None)


_FIELDS = {
    "whom" if field.name == "subject" else field.name: field.name
    for field in fields(Details)
    if field.name not in {"counts", "monitored_counts", "reference_counts", "others"}
}


def _order_as_jsonb(members: Mapping[str, object]) -> JsonObject:
    # JSONB keeps shorter names first, then compares bytes.
    names = sorted(members, key=lambda name: (len(name.encode()), name.encode()))
    ordered: JsonObject = {}
    for name in names:
        member = members[name]
        ordered[name] = _order_as_jsonb(member) if isinstance(member, Mapping) else member
    return ordered


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
    scheduled check. The model: it had not scored the copies of an hour. A person or a program: for the
    present hour (`REQUEST`), or for a range of time or a batch (`RANGE`).
    """

    SCHEDULE = "schedule"
    REQUEST = "request"
    RANGE = "range"
    FILES = "files"
    MODEL = "model"


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
"""Names of version 0.1, which requests may still hold."""


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


@frozen
class Span:
    """Half-open span of time [start, end); aware, UTC."""

    start: datetime
    end: datetime

    @property
    def is_whole_hour(self) -> bool:
        return self.start == floor_to_hour(self.start) and self.end - self.start == HOUR


@frozen
class Progress:
    """Progress of a running check: `done` of `total` in a step."""

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
        counts = {name: count for name, count in (window or {}).items() if isinstance(count, int)}
        return cls(
            records=counts["records"] + counts.get("additional_records", 0) if "records" in counts else None,
            unclassified=counts.get("unclassified_records"),
            needed=counts.get("min_records"),
        )


@frozen_by_name
class CheckRun:
    """A check that is queued, running or ended. `span` is the hour, or the range that was asked for.

    `batch` is the partition whose records it is about; None: all records of the span. `lease_token` fences a
    worker: one with an older token may write nothing. `traceparent` (W3C Trace Context) is of the request.
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
    window: JsonObject | None
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
        origin = (self.window or {}).get("carried_from")
        return None if origin is None else str(origin)


PRESENT_TRIGGERS = (Trigger.SCHEDULE, Trigger.REQUEST, Trigger.FILES, Trigger.MODEL)
"""Triggers of checks whose figures are the present ones: all but requested ranges."""


@frozen_by_name
class FigureKey:
    """Key of a figure, the same in every check, in evidence and in pictures.

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
    """One value of a series. `value` is None exactly when `reason` says why.

    `comparison` without features is of everybody, `group` a label. `worst_of` marks the monitored group that
    is furthest out, of so many (0: none). From `chosen_lower` to `chosen_upper` is the interval that allows
    for the choice, unbounded if only one is set. `definition` is 2 where release 0.1 defined the metric
    otherwise on this data.
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
