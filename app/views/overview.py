"""Overview of the states of all deployments, with the gravest figure of each. Reads in a constant number of statements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy.orm import Session

from ..details import Details
from ..domain.checks import CheckState, DataSet
from ..metrics.catalogue import CATALOGUE
from ..metrics.catalogue.metric import Compared as ComparedRates
from ..metrics.choice import interval_for_choice
from ..metrics.intervals import Interval
from ..metrics.sides import Disadvantaged
from ..metrics.statements import JudgedFigure, other_side
from ..metrics.verdicts import GRAVEST, Verdict
from ..metrics.worst import how_far_out
from ..store.checks.workers import workers_seen
from ..store.evidence.summaries import EvidenceCounts, evidence_counts
from ..store.overviews.overview import (
    Compared,
    EndedCheck,
    GroupFigure,
    GroupKey,
    OverviewEntry,
    Success,
    TrendPoint,
    group_figures,
    overview_entries,
    trends,
)
from .advice import advice_of
from .causes import (
    Because,
    Cause,
    Outlook,
    Unjudged,
    next_due,
    of_ended_check,
    of_figures,
    of_first_check,
    of_stale_figures,
)

HEADLINE = "disparate_impact"
"""Metric that deployments are judged by here, on payload and balanced data."""

TREND_POINTS = 30

STALE_AFTER = timedelta(hours=24)
"""Age at which a figure is stale: the time since the end of the span on which it was measured, before any carrying forward."""

FURTHEST = 1e6
"""Max distance beyond the limits that is used for sorting: a ratio of 0 is infinitely far, which a cursor cannot hold."""

_HEADLINE_DATA = (DataSet.PAYLOAD, DataSet.BALANCED)


class DeploymentState(StrEnum):
    """State of a deployment, most urgent first."""

    UNFAIR = "unfair"
    FAILING = "failing"
    SUSPECTED = "suspected"
    UNWATCHED = "unwatched"
    STALE = "stale"
    UNDECIDED = "undecided"
    WAITING = "waiting"
    NO_MONITOR = "no_monitor"
    FAIR = "fair"


_JUDGED: Mapping[Verdict | None, DeploymentState] = {
    Verdict.UNFAIR: DeploymentState.UNFAIR,
    Verdict.SUSPECTED: DeploymentState.SUSPECTED,
    Verdict.UNWATCHED: DeploymentState.UNWATCHED,
    Verdict.FAIR: DeploymentState.FAIR,
}
"""State for each verdict on fairness."""


class OverviewSort(StrEnum):
    """Order of an overview: the most urgent first, the alphabet, or the deployment that was checked last first."""

    SEVERITY = "severity"
    NAME = "name"
    LAST_CHECK = "last_check"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstGroup:
    """The group with the gravest verdict; if several have it, the one furthest out.

    The group at a disadvantage may be its reference: `other_side` then says so in words, and is None otherwise.
    """

    metric: str
    data: DataSet
    attribute: str
    group: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    verdict: str | None
    reason: str | None
    lower_limit: float | None
    upper_limit: float | None
    disadvantaged: Disadvantaged | None
    disadvantaged_group: str | None
    other_side: str | None
    beyond: float
    """Distance beyond the limits; 0 without a value. It serves only to sort."""

    measured_at: datetime
    carried_forward: bool
    check_id: str
    compared: Compared
    for_choice: Interval | None = None
    """Interval that is valid although the figure was chosen from all groups; None where it cannot be computed from counts."""

    @property
    def chosen_interval(self) -> list[float | None] | None:
        """Returns both ends of `for_choice`."""
        return None if self.for_choice is None else [self.for_choice.lower, self.for_choice.upper]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOverview:
    """One deployment. `cause` and `reason` say why it is in its state, `next_step` what to do; None where there is nothing to say.

    `groups` is the number of figures of groups, `judged` how many of them have a verdict on fairness. `records` is the number of records
    logged in the last hour; if `counted_all` is False, there are at least so many. `evidence` is None before it has begun.
    """

    no: int
    id: str
    name: str
    state: DeploymentState
    cause: Cause
    reason: str | None
    next_step: str | None
    worst: WorstGroup | None
    groups: int
    judged: int
    last_check: EndedCheck | None
    records: int
    counted_all: bool
    open_alerts: int
    trend: tuple[TrendPoint, ...] = ()
    evidence: EvidenceCounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OverviewPlace:
    """Position of a deployment in an overview, under one sort."""

    rank: float
    nearness: float
    name: str
    no: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewWanted:
    """Request for an overview: the sort, and which deployments; an absent member allows all. The caller may see only `only_no`, if set."""

    sort: OverviewSort = OverviewSort.SEVERITY
    states: frozenset[DeploymentState] = frozenset()
    text: str = ""
    only_no: int | None = None
    after: OverviewPlace | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Deployments asked for, in order, and how many deployments that the caller may see are in each state.

    `next_step` is set only if no deployment is registered, or none fits the filter.
    """

    deployments: tuple[DeploymentOverview, ...]
    counts: Mapping[DeploymentState, int] = field(default_factory=dict)
    next_step: str | None = None


def overview(session: Session, wanted: OverviewWanted, *, now: datetime) -> Overview:
    """Returns the state of each deployment that the caller may see."""
    found = overview_entries(session, now=now, only_no=wanted.only_no)
    figures = _group_figures(session, found)
    workers = workers_seen(session)
    seen = []
    for one in found:
        outlook = Outlook(workers=workers, due_at=next_due(now) if one.hourly else None, under_way=one.under_way)
        seen.append(_describe(one, figures.get(one.success.no, []) if one.success else [], outlook, now))

    text = wanted.text.strip().casefold()
    chosen = [one for one in seen if (not wanted.states or one.state in wanted.states) and (text in one.name.casefold() or text in one.id)]
    chosen.sort(key=lambda one: place_of(one, wanted.sort))
    listed = [one for one in chosen if wanted.after is None or place_of(one, wanted.sort) > wanted.after][: wanted.limit]

    # Trends and evidence are read for the listed ones only, each in one statement.
    keys = [
        GroupKey(deployment_no=one.no, metric=one.worst.metric, data=one.worst.data, attribute=one.worst.attribute, group=one.worst.group)
        for one in listed
        if one.worst is not None
    ]
    of_deployment = dict(zip((key.deployment_no for key in keys), trends(session, keys, points=TREND_POINTS), strict=True))
    evidence = evidence_counts(session, [one.no for one in listed])

    next_step = None
    if not seen:
        next_step = "No deployment is registered yet. Register one, set its fairness monitor, and log payload records."
    elif not chosen:
        next_step = "No deployment fits the filter. Leave the text or the state out."
    return Overview(
        deployments=tuple(replace(one, trend=tuple(of_deployment.get(one.no, ())), evidence=evidence.get(one.no)) for one in listed),
        counts={state: sum(one.state is state for one in seen) for state in DeploymentState},
        next_step=next_step,
    )


def place_of(one: DeploymentOverview, sort: OverviewSort) -> OverviewPlace:
    """Returns the position of the deployment under that sort.

    By severity, the graver of its state and its last verdict counts: a stale or failing deployment does not hide that it was unfair.
    """
    name = one.name.casefold()
    match sort:
        case OverviewSort.NAME:
            return OverviewPlace(rank=0.0, nearness=0.0, name=name, no=one.no)
        case OverviewSort.LAST_CHECK:
            ended = 0.0 if one.last_check is None else one.last_check.at.timestamp()
            return OverviewPlace(rank=-ended, nearness=0.0, name=name, no=one.no)
        case OverviewSort.SEVERITY:
            states = list(DeploymentState)
            known = one.state if one.worst is None else _JUDGED.get(_verdict(one.worst), one.state)
            rank = min(states.index(one.state), states.index(known))
            return OverviewPlace(rank=float(rank), nearness=-one.worst.beyond if one.worst else 0.0, name=name, no=one.no)


def _group_figures(session: Session, found: Iterable[OverviewEntry]) -> dict[int, list[WorstGroup]]:
    """Returns for each newest success, by its number, the figures that its deployment is judged by."""
    of_check: dict[int, tuple[Success, str]] = {}
    for one in found:
        if one.success is not None and one.monitor_version is not None:
            # Disparate impact, or where it is not measured the first picked metric that has limits.
            picked = [] if one.picked is None or HEADLINE in one.picked else [key for key in one.picked if key in CATALOGUE]
            limited = (key for key in picked if "group" in CATALOGUE[key].scopes and CATALOGUE[key].limits != (None, None))
            of_check[one.success.no] = (one.success, next(limited, HEADLINE))

    figures: dict[int, list[WorstGroup]] = {no: [] for no in of_check}
    for figure in group_figures(session, {no: metric for no, (_, metric) in of_check.items()}):
        success, metric = of_check[figure.check_no]
        # Payload and balanced data, or labels where the metric needs them.
        judged_on = [data for data in _HEADLINE_DATA if data.value in CATALOGUE[metric].data] or [DataSet.FEEDBACK]
        if figure.data in judged_on:
            figures[figure.check_no].append(_as_worst(figure, metric, success))
    return figures


def _as_worst(figure: GroupFigure, metric: str, success: Success) -> WorstGroup:
    limits = (figure.lower_limit, figure.upper_limit)
    beyond = 0.0 if figure.value is None else how_far_out(figure.value, CATALOGUE[metric], limits)
    judged = JudgedFigure(
        metric=metric,
        scope="group",
        value=figure.value,
        lower=figure.lower,
        upper=figure.upper,
        method=None,
        limits=limits,
        verdict=figure.verdict,
        details=Details(monitored=figure.group, reference=figure.compared.reference),
    )
    return WorstGroup(
        metric=metric,
        data=figure.data,
        attribute=figure.attribute,
        group=figure.group,
        value=figure.value,
        lower=figure.lower,
        upper=figure.upper,
        n=figure.n,
        verdict=figure.verdict,
        reason=figure.reason,
        lower_limit=figure.lower_limit,
        upper_limit=figure.upper_limit,
        disadvantaged=judged.disadvantaged,
        disadvantaged_group=judged.disadvantaged_group,
        other_side=other_side(judged),
        beyond=min(max(beyond, -FURTHEST), FURTHEST),
        measured_at=success.measured_at,
        carried_forward=success.carried_forward,
        check_id=success.id,
        compared=figure.compared,
    )


def _allow_for_choice(worst: WorstGroup, chosen_from: int) -> WorstGroup:
    """Returns the figure with the interval that allows for the choice from so many figures of one deployment."""
    how, sides = CATALOGUE[worst.metric].measure, worst.compared
    counts = (sides.monitored_favourable, sides.monitored_records, sides.reference_favourable, sides.reference_records)
    # Balanced figures have resampled intervals, which have no closed form at another level.
    if worst.value is None or worst.data is not DataSet.PAYLOAD or not isinstance(how, ComparedRates) or None in counts:
        return worst
    monitored, of_monitored, reference, of_reference = (float(count or 0) for count in counts)
    found = interval_for_choice(how.by, (monitored, of_monitored), (reference, of_reference), point=worst.value, chosen_from=chosen_from)
    return replace(worst, for_choice=found)


def _describe(one: OverviewEntry, figures: Sequence[WorstGroup], outlook: Outlook, now: datetime) -> DeploymentOverview:
    """Returns the deployment with its state, the reason and what to do; `figures` are those that it is judged by."""
    worst = min(figures, key=lambda figure: (GRAVEST.index(_verdict(figure)), -figure.beyond), default=None)
    if worst is not None and len(figures) > 1:
        worst = _allow_for_choice(worst, len(figures))
    last, success = one.last, one.success
    state = DeploymentState.WAITING
    if one.monitor_version is None:
        state, because = DeploymentState.NO_MONITOR, Because(cause=Cause.NO_MONITOR, outlook=outlook)
    elif last is None:
        because = of_first_check(one, outlook)
    elif last.state is not CheckState.SUCCEEDED or success is None:
        state = DeploymentState.FAILING if last.state is CheckState.FAILED else state
        because = of_ended_check(last, outlook)
    elif now - success.measured_at > STALE_AFTER:
        state, because = DeploymentState.STALE, of_stale_figures(one, success, outlook)
    else:
        state = DeploymentState.UNDECIDED if worst is None else _JUDGED.get(_verdict(worst), DeploymentState.UNDECIDED)
        if success.monitor_version != one.monitor_version:
            because = Because(cause=Cause.MONITOR_CHANGED, outlook=outlook)
        elif state is DeploymentState.UNDECIDED:
            unjudged = None
            if worst is not None:
                unjudged = Unjudged(
                    attribute=worst.attribute, group=worst.group, verdict=_verdict(worst), reason=worst.reason, compared=worst.compared
                )
            because = of_figures(unjudged, success, outlook)
        else:
            cause = Cause.SIDE_UNWATCHED if state is DeploymentState.UNWATCHED else Cause.MEASURED
            because = Because(cause=cause, outlook=outlook)

    advice = advice_of(because)
    return DeploymentOverview(
        no=one.no,
        id=one.id,
        name=one.name,
        state=state,
        cause=advice.cause,
        reason=advice.reason,
        next_step=advice.next_step,
        worst=worst,
        groups=len(figures),
        judged=sum(_verdict(figure) in _JUDGED for figure in figures),
        last_check=last,
        records=one.records,
        counted_all=one.counted_all,
        open_alerts=one.open_alerts,
    )


def _verdict(figure: WorstGroup) -> Verdict | None:
    return None if figure.verdict is None else Verdict(figure.verdict)
