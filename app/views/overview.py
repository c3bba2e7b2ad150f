"""The overview: where every deployment stands, and what is gravest about it. Reads in a constant number of statements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy.orm import Session

from app.domain.checks import CheckState, DataSet
from app.metrics.catalogue import CATALOGUE
from app.metrics.sides import Disadvantaged
from app.metrics.statements import JudgedFigure, other_side
from app.metrics.verdicts import GRAVEST, Verdict
from app.metrics.worst import how_far_out
from app.store.overview import (
    Compared,
    EndedCheck,
    GroupFigure,
    GroupKey,
    Standing,
    Success,
    TrendPoint,
    group_figures,
    standings,
    trends,
)
from app.store.workers import workers_seen
from app.views.advice import advice_of
from app.views.causes import (
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
"""What deployments are judged by here, on payload and balanced data."""

TREND_POINTS = 30

STALE_AFTER = timedelta(hours=24)
"""A day without a new record, or without a check, and a figure is no longer of the present."""

FURTHEST = 1e6
"""Further beyond its limits than this nothing is ordered: a ratio of 0 lies at infinity, which no cursor can hold."""

_HEADLINE_DATA = (DataSet.PAYLOAD, DataSet.BALANCED)


class DeploymentState(StrEnum):
    """Where a deployment stands, most urgent first."""

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
"""The verdicts on fairness, and the state that each makes."""


class OverviewSort(StrEnum):
    """What comes first: the most urgent, the first in the alphabet, or the one that was checked last."""

    SEVERITY = "severity"
    NAME = "name"
    LAST_CHECK = "last_check"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstGroup:
    """The group with the gravest verdict, of several the one furthest out; the one at a disadvantage may be its reference.

    `other_side` says so in words where it is, and is None elsewhere.
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
    """How far beyond the limits; 0 without a value. Orders, and says nothing by itself."""

    measured_at: datetime
    carried_forward: bool
    check_id: str
    compared: Compared


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOverview:
    """One deployment. `cause` and `reason` say why it is in its state, `next_step` what to do; None where there is nothing to say.

    Of `groups` figures of groups, `judged` have a verdict on fairness. `records` were logged in the last hour, at least so many where
    `counted_all` is False.
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


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OverviewPlace:
    """Where in an overview a deployment stands, under one sort."""

    rank: float
    nearness: float
    name: str
    no: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewWanted:
    """What is asked for: the sort, and which deployments; an absent member lets all through. `only_no` is all that the caller may see."""

    sort: OverviewSort = OverviewSort.SEVERITY
    states: frozenset[DeploymentState] = frozenset()
    text: str = ""
    only_no: int | None = None
    behind: OverviewPlace | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The deployments asked for, in order, and how many the caller may see stand how. `next_step` is there where none is listed."""

    deployments: tuple[DeploymentOverview, ...]
    counts: Mapping[DeploymentState, int] = field(default_factory=dict)
    next_step: str | None = None


def overview(session: Session, wanted: OverviewWanted, *, now: datetime) -> Overview:
    """Where every deployment stands that the caller may see."""
    found = standings(session, now=now, only_no=wanted.only_no)
    figures = _figures(session, found)
    workers = workers_seen(session)
    outlooks = [Outlook(workers=workers, due_at=next_due(now) if one.hourly else None, under_way=one.under_way) for one in found]
    seen = [
        _deployment(one, figures.get(one.success.no, []) if one.success else [], outlook, now)
        for one, outlook in zip(found, outlooks, strict=True)
    ]
    chosen = sorted((one for one in seen if _is_wanted(one, wanted)), key=lambda one: place_of(one, wanted.sort))
    behind = [one for one in chosen if wanted.behind is None or place_of(one, wanted.sort) > wanted.behind]
    listed = behind if wanted.limit is None else behind[: wanted.limit]
    return Overview(
        deployments=tuple(_with_trends(session, listed)),
        counts={state: sum(one.state is state for one in seen) for state in DeploymentState},
        next_step=_next_step(seen, chosen),
    )


def place_of(one: DeploymentOverview, sort: OverviewSort) -> OverviewPlace:
    """Where the deployment stands under that sort; a state never hides a graver verdict that was the last there was."""
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


def _figures(session: Session, found: Iterable[Standing]) -> dict[int, list[WorstGroup]]:
    """Of each newest success, by its number, the figures that its deployment is judged by."""
    measured = [(one.success, _headline(one.picked)) for one in found if one.success is not None and one.monitor_version is not None]
    of_check = {success.no: (success, metric) for success, metric in measured}
    figures: dict[int, list[WorstGroup]] = {no: [] for no in of_check}
    for figure in group_figures(session, {success.no: metric for success, metric in measured}):
        success, metric = of_check[figure.check_no]
        if figure.data in _data_of(metric):
            figures[figure.check_no].append(_as_worst(figure, metric, success))
    return figures


def _headline(picked: Sequence[str] | None) -> str:
    """The metric a deployment is judged by: disparate impact, or where it is not measured the first picked one that has limits."""
    if picked is None or HEADLINE in picked:
        return HEADLINE
    limited = (key for key in picked if key in CATALOGUE and "group" in CATALOGUE[key].scopes and CATALOGUE[key].limits != (None, None))
    return next(limited, HEADLINE)


def _data_of(metric: str) -> tuple[DataSet, ...]:
    """On what a deployment is judged: on payload and balanced data, or on labels where the metric needs them."""
    has = CATALOGUE[metric].data
    return tuple(data for data in _HEADLINE_DATA if data.value in has) or (DataSet.FEEDBACK,)


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
        details={"monitored": figure.group, "reference": figure.compared.reference},
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


def _deployment(one: Standing, figures: Sequence[WorstGroup], outlook: Outlook, now: datetime) -> DeploymentOverview:
    worst = min(figures, key=lambda figure: (GRAVEST.index(_verdict(figure)), -figure.beyond), default=None)
    state = _state(one, worst, now)
    advice = advice_of(_because(state, one, worst, outlook))
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
        last_check=one.last,
        records=one.records,
        counted_all=one.counted_all,
        open_alerts=one.open_alerts,
    )


def _verdict(figure: WorstGroup) -> Verdict | None:
    return None if figure.verdict is None else Verdict(figure.verdict)


def _state(one: Standing, worst: WorstGroup | None, now: datetime) -> DeploymentState:
    if one.monitor_version is None:
        return DeploymentState.NO_MONITOR
    if one.last is None:
        return DeploymentState.WAITING
    if one.last.state is CheckState.FAILED:
        return DeploymentState.FAILING
    if one.last.state is CheckState.INSUFFICIENT_DATA or one.success is None:
        return DeploymentState.WAITING
    if now - one.success.measured_at > STALE_AFTER:
        return DeploymentState.STALE
    return DeploymentState.UNDECIDED if worst is None else _JUDGED.get(_verdict(worst), DeploymentState.UNDECIDED)


def _because(state: DeploymentState, one: Standing, worst: WorstGroup | None, outlook: Outlook) -> Because:
    """Returns why the deployment is in that state."""
    if state is DeploymentState.NO_MONITOR:
        return Because(cause=Cause.NO_MONITOR, outlook=outlook)
    if one.last is None:
        return of_first_check(one, outlook)
    if one.last.state is not CheckState.SUCCEEDED or one.success is None:
        return of_ended_check(one.last, outlook)
    if state is DeploymentState.STALE:
        return of_stale_figures(one, one.success, outlook)
    is_changed = one.success.monitor_version != one.monitor_version
    if state is DeploymentState.UNDECIDED and not is_changed:
        return of_figures(_unjudged(worst), one.success, outlook)
    cause = Cause.SIDE_UNWATCHED if state is DeploymentState.UNWATCHED else Cause.MEASURED
    return Because(cause=Cause.MONITOR_CHANGED if is_changed else cause, outlook=outlook)


def _unjudged(worst: WorstGroup | None) -> Unjudged | None:
    if worst is None:
        return None
    return Unjudged(attribute=worst.attribute, group=worst.group, verdict=_verdict(worst), reason=worst.reason, compared=worst.compared)


def _is_wanted(one: DeploymentOverview, wanted: OverviewWanted) -> bool:
    text = wanted.text.strip().casefold()
    return (not wanted.states or one.state in wanted.states) and (text in one.name.casefold() or text in one.id)


def _with_trends(session: Session, listed: Sequence[DeploymentOverview]) -> list[DeploymentOverview]:
    keys = [
        GroupKey(deployment_no=one.no, metric=one.worst.metric, data=one.worst.data, attribute=one.worst.attribute, group=one.worst.group)
        for one in listed
        if one.worst is not None
    ]
    of_deployment = dict(zip((key.deployment_no for key in keys), trends(session, keys, points=TREND_POINTS), strict=True))
    return [replace(one, trend=tuple(of_deployment.get(one.no, ()))) for one in listed]


def _next_step(seen: Sequence[DeploymentOverview], chosen: Sequence[DeploymentOverview]) -> str | None:
    if not seen:
        return "No deployment is registered yet. Register one, set its fairness monitor, and log payload records."
    return None if chosen else "No deployment fits the filter. Leave the text or the state out."
