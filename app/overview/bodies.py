"""The overview as a body."""

from datetime import datetime

from pydantic import Field

from ..checks.advice.causes import Cause
from ..checks.views.measurement_bodies import DISADVANTAGED, DISADVANTAGED_GROUP, VERDICT
from ..domain.check import CheckState, DataSet
from ..domain.groups import GroupWords
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.state_words import FigureLabel, IntervalKind
from ..statistics.measures.worst_group import Disadvantaged, find_disadvantaged
from ..web.body import Out, example
from .fleet import DeploymentOverview, DeploymentState
from .judge import WorstGroup
from .queries import TrendPoint

_ENTRY = {
    "id": "credit-risk",
    "name": "Credit risk",
    "owner": "Retail credit, Ada Brandt",
    "state": "unfair",
    "cause": "measured",
    "reason": None,
    "next_step": None,
    "worst": {
        "metric": "disparate_impact",
        "data": "as_logged",
        "attribute": "Sex",
        "group": "female",
        "group_name": "women",
        "value": 0.61,
        "reason": None,
        "lower": 0.53,
        "upper": 0.7,
        "chosen_interval": [0.5, 0.74],
        "n": 412,
        "verdict": "unfair",
        "disadvantaged": "monitored",
        "disadvantaged_group": "female",
        "disadvantaged_name": "women",
        "lower_limit": 0.8,
        "upper_limit": 1.25,
        "measured_at": "2026-11-20T15:00:00Z",
        "carried_forward": False,
        "check_id": "6f1c2d3e-4b5a-4978-8c9d-0e1f2a3b4c5d",
    },
    "notes": [],
    "groups": 6,
    "judged_groups": 6,
    "trend": [
        {"at": "2026-11-20T15:00:00Z", "value": 0.61, "verdict": "unfair", "disadvantaged": "monitored"}
    ],
    "last_check": {
        "id": "6f1c2d3e-4b5a-4978-8c9d-0e1f2a3b4c5d",
        "state": "succeeded",
        "at": "2026-11-20T15:00:00Z",
        "finished_at": "2026-11-20T15:00:41.020874Z",
        "reason": None,
    },
    "records_last_hour": 412,
    "open_alerts": 1,
    "evidence": {
        "unfair": 1,
        "confirmed_fair": 5,
        "undecided": 6,
        "unfair_since": "2026-11-19T13:00:00Z",
        "counted_until": "2026-11-20T15:00:00Z",
        "leading": {
            "metric": "disparate_impact",
            "data": "as_logged",
            "attribute": "Sex",
            "group": "female",
            "state": "Unfair",
            "value": 0.61,
            "interval": [0.53, 0.7],
            "interval_kind": "since the onset",
        },
    },
}


CAUSES = (
    "Why it is so, for programs; `reason` and `next_step` say it in words. Of a deployment and of a check: "
    "`worker_silent` (none answers any more), `worker_never_seen`, `check_queued`, `check_running`, "
    "`too_few_records`, `scoring_failed`, `invalid_input`, `interrupted`, `timed_out`, `check_failed`, "
    "`measured` (nothing is missing). Of a check only: `cancelled`. Of a deployment only: `no_monitor`, "
    "`no_records`, `not_scheduled`, `check_due`, `records_stopped`, `all_unclassified`, "
    "`group_without_records`, `group_too_small`, `reference_never_favourable`, `not_computable`, "
    "`no_limits`, `monitor_changed`, `side_unwatched`, `interval_outside`."
)


class WorstOut(Out):
    """The group with the gravest verdict; of several, the one furthest out. `reason` says why `value` is
    null.
    """

    metric: str
    """`disparate_impact`; where the monitor does not measure it, the first metric it picks that has
    limits.
    """

    data: DataSet
    attribute: str
    group: str
    group_name: str
    """Display name of the group in the monitor; without one, the group itself."""

    value: float | None
    reason: str | None
    lower: float | None
    """Lower end of the 95 % interval."""

    upper: float | None
    """Upper end of the 95 % interval; null next to a value means unbounded."""

    chosen_interval: list[float | None] | None
    """Both ends of the interval that is valid although the figure was chosen among `judged_groups`, or
    among `groups` where none is judged; a null end is unbounded. Null where there was no choice."""

    n: int
    verdict: str | None = Field(description=VERDICT)
    disadvantaged: Disadvantaged | None = Field(description=DISADVANTAGED)
    disadvantaged_group: str | None = Field(description=DISADVANTAGED_GROUP)
    disadvantaged_name: str | None
    """Display name of that group; without one, the group itself."""

    lower_limit: float | None
    upper_limit: float | None
    measured_at: datetime
    """The end of the time the figure is about; of one carried forward, of the first one."""

    carried_forward: bool
    check_id: str

    @classmethod
    def of(cls, worst: WorstGroup, names: GroupWords) -> "WorstOut":
        disadvantaged = worst.disadvantaged_group
        other_name = None if disadvantaged is None else names.label(worst.attribute, disadvantaged)
        return cls.from_object(
            worst, group_name=names.label(worst.attribute, worst.group), disadvantaged_name=other_name
        )


class TrendPointOut(Out):
    """One point of that group's series."""

    at: datetime
    value: float | None
    verdict: str | None
    disadvantaged: Disadvantaged | None = Field(description=DISADVANTAGED)

    @classmethod
    def of(cls, point: TrendPoint, metric: str) -> "TrendPointOut":
        by = find_disadvantaged(
            CATALOGUE[metric], point.value, (point.lower_limit, point.upper_limit), point.verdict
        )
        return cls.from_object(point, disadvantaged=by)


class LastCheckOut(Out):
    """The newest check that ended. `at` is the end of its span; `reason` says why it has no figures, where
    it has none.
    """

    id: str
    state: CheckState
    at: datetime
    finished_at: datetime | None
    reason: str | None


class LeadingFigureOut(Out):
    """State of one figure, as `…/evidence` says it, with its leading interval."""

    metric: str
    data: DataSet
    attribute: str
    group: str
    state: FigureLabel
    value: float | None
    interval: tuple[float | None, float | None] | None
    interval_kind: IntervalKind | None


class EvidenceCountsOut(Out):
    """Evidence over the hours: the number of figures with records that are unfair, confirmed fair, or
    neither. `…/evidence` has each of them.
    """

    unfair: int
    confirmed_fair: int
    undecided: int
    unfair_since: datetime | None
    """The earliest most likely start of those that are unfair; null if none is."""

    counted_until: datetime | None
    """The end of the last hour whose records are counted."""

    leading: LeadingFigureOut | None
    """The gravest figure, which `worst` shows: of those that are not unfair, one of disparate impact."""


class OverviewEntryOut(Out):
    """One deployment."""

    model_config = example(_ENTRY)

    id: str
    name: str
    owner: str | None
    """The person or team that answers for the model; null: nobody is named."""

    state: DeploymentState
    """`unfair`, `suspected`, `unwatched`, `fair`: the gravest verdict on a group; `unwatched` is beyond a
    side that has no limit. Once evidence has begun, it decides. `undecided`: that verdict is, or no group can
    be judged. `failing`: the last
    check failed. `stale`: nothing new was measured for a day. `waiting`: too few records yet.
    `no_monitor`: none is set."""

    cause: Cause = Field(description=CAUSES)
    reason: str | None
    """The cause in words, where the figures do not say it."""

    next_step: str | None
    """The step to take next, where something is missing."""

    worst: WorstOut | None
    """Null where nothing was measured yet. Once evidence has begun, the value, interval and verdict of its
    leading figure, with the interval of its records; before, of the newest check that measured."""

    notes: list[str]
    """Values of the last measured records that look like another one, in words."""

    groups: int
    """Figures of groups. Among those that have a verdict, if any, `worst` was chosen."""

    judged_groups: int = Field(validation_alias="judged")
    """Those of them that have a verdict on fairness; the others are too small."""

    trend: list[TrendPointOut]
    """The newest points of the series of `worst`, oldest first."""

    last_check: LastCheckOut | None
    records_last_hour: int = Field(validation_alias="records")
    """Payload records of this minute and the 60 before it."""

    open_alerts: int
    evidence: EvidenceCountsOut | None
    """Evidence under the present monitor version and model revision; null before it has begun. Its leading
    figure decides `state`, unless the newest check failed or is old."""

    @classmethod
    def of(cls, entry: DeploymentOverview) -> "OverviewEntryOut":
        trend = (
            []
            if entry.worst is None
            else [TrendPointOut.of(point, entry.worst.metric) for point in entry.trend]
        )
        worst = entry.worst and WorstOut.of(entry.worst, entry.words)
        return cls.from_object(entry, trend=trend, worst=worst)


class OverviewOut(Out):
    """A page of deployments."""

    model_config = example(
        {"deployments": [_ENTRY], "states": {"unfair": 1}, "next_step": None, "next_cursor": None}
    )

    deployments: list[OverviewEntryOut]
    states: dict[str, int]
    """Number of deployments by state, before any filter."""

    next_step: str | None
    """The step to take where none is listed."""

    next_cursor: str | None
