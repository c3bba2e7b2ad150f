"""States of all deployments, in a constant number of statements."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec
from sqlalchemy.orm import Session

from ..domain.checks import CheckState
from ..domain.group_words import GroupWords
from ..domain.monitors import Schedule
from ..domain.workers import WorkersSeen
from ..frozen import frozen
from ..metrics.verdicts import ON_FAIRNESS
from ..store.checks.workers import workers_seen
from ..store.evidence.summaries import EvidenceCounts, evidence_counts
from ..store.overviews.overview import (
    EndedCheck,
    GroupKey,
    OverviewEntry,
    TrendPoint,
    Unacknowledged,
    count_records,
    overview_entries,
    trends,
)
from .advice import (
    Because,
    Cause,
    Outlook,
    advice_of,
    next_due,
    of_ended_check,
    of_figures,
    of_first_check,
    of_stale_figures,
)
from .judging import NOTHING_JUDGED, JudgedBy, WorstGroup, judge

TREND_POINTS = 30
"""Usual points of the series of a deployment's gravest figure."""

STALE_AFTER = timedelta(hours=24)
"""Time since the end of the measured span, before any carrying forward."""


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


_JUDGED: Mapping[str | None, DeploymentState] = {verdict: DeploymentState(verdict) for verdict in ON_FAIRNESS}
"""State for each verdict on fairness."""

_URGENCY: Mapping[DeploymentState, int] = {state: place for place, state in enumerate(DeploymentState)}


class OverviewSort(StrEnum):
    """Order of an overview: the most urgent first, the alphabet, or the deployment that was checked last first."""

    SEVERITY = "severity"
    NAME = "name"
    LAST_CHECK = "last_check"


class DeploymentOverview(msgspec.Struct, frozen=True, kw_only=True):
    """`cause` and `reason` say why the deployment is in its state; None where there is nothing to say.

    `notes` are on values that look like a group and are in none, in the last measured records. `groups` is the number of figures of
    groups, `judged` how many have a verdict on fairness. `records` were logged in this minute and the
    60 before it. `evidence` is None before it has begun.
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
    open_alerts: int
    notes: tuple[str, ...] = ()
    records: int = 0
    owner: str | None = None
    unacknowledged: Unacknowledged | None = None
    newest_record_at: datetime | None = None
    trend: tuple[TrendPoint, ...] = ()
    evidence: EvidenceCounts | None = None
    words: GroupWords = msgspec.field(default_factory=GroupWords)

    @property
    def chosen_from(self) -> int:
        """Number of figures that `worst` was chosen from: too small ones only if there are no others."""
        return self.judged or self.groups


class OverviewPlace(NamedTuple):
    rank: float
    nearness: float
    name: str
    no: int


@frozen(kw_only=True)
class OverviewWanted:
    """An absent member allows all. The caller may see only `only_no`, if set.

    `text` is part of a name, owner or id; `owner` is a whole one.
    """

    sort: OverviewSort = OverviewSort.SEVERITY
    states: frozenset[DeploymentState] = frozenset()
    text: str = ""
    owner: str | None = None
    only_no: int | None = None
    after: OverviewPlace | None = None
    limit: int | None = None
    points: int = TREND_POINTS


@frozen(kw_only=True)
class Overview:
    """Deployments in order, and how many that the caller may see are in each state.

    `next_step` is set only if none is registered, or none fits the filter. `every` has all that the caller may see, unordered, without
    records, trends, evidence and intervals for the choice.
    """

    deployments: tuple[DeploymentOverview, ...]
    every: tuple[DeploymentOverview, ...]
    workers: WorkersSeen
    counts: Mapping[DeploymentState, int] = field(default_factory=dict)
    next_step: str | None = None


def overview(session: Session, wanted: OverviewWanted, *, now: datetime) -> Overview:
    found = overview_entries(session, only_no=wanted.only_no)
    judged_by = judge(session, found)
    workers = workers_seen(session)
    due_at = {schedule: next_due(now, schedule) for schedule in (*Schedule, None)}
    seen = []
    for one in found:
        by_files = one.schedule is Schedule.BATCH
        outlook = Outlook(workers=workers, due_at=due_at[one.schedule], by_files=by_files, under_way=one.under_way)
        by = judged_by.get(one.success.no, NOTHING_JUDGED) if one.success else NOTHING_JUDGED
        seen.append(_describe(one, by, outlook, now))

    text = wanted.text.strip().casefold()
    chosen = [
        one
        for one in seen
        if (not wanted.states or one.state in wanted.states)
        and (wanted.owner is None or one.owner == wanted.owner)
        and (text in one.name.casefold() or text in one.id or text in (one.owner or "").casefold())
    ]
    chosen.sort(key=lambda one: place_of(one, wanted.sort))
    listed = [one for one in chosen if wanted.after is None or place_of(one, wanted.sort) > wanted.after][: wanted.limit]

    counts = Counter(one.state for one in seen)
    next_step = None
    if not seen:
        next_step = "No deployment is registered yet. Register one, set its fairness monitor, and log payload records."
    elif not chosen:
        next_step = "No deployment fits the filter. Leave the text, the owner or the state out."
    return Overview(
        deployments=tuple(_add_details(session, listed, points=wanted.points, now=now)),
        every=tuple(seen),
        workers=workers,
        counts={state: counts[state] for state in DeploymentState},
        next_step=next_step,
    )


def _add_details(session: Session, listed: Sequence[DeploymentOverview], *, points: int, now: datetime) -> Iterator[DeploymentOverview]:
    """Adds records, trends, evidence and the wider interval in three statements."""
    keys = [
        GroupKey(deployment_no=one.no, metric=one.worst.metric, data=one.worst.data, attribute=one.worst.attribute, group=one.worst.group)
        for one in listed
        if one.worst is not None
    ]
    of_deployment = dict(zip((key.deployment_no for key in keys), trends(session, keys, points=points), strict=True))
    evidence = evidence_counts(session, [one.no for one in listed])
    records = count_records(session, [one.no for one in listed], now=now)
    for one in listed:
        yield msgspec.structs.replace(
            one,
            worst=None if one.worst is None else one.worst.allow_for_choice(one.chosen_from),
            records=records.get(one.no, 0),
            trend=tuple(of_deployment.get(one.no, ())),
            evidence=evidence.get(one.no),
        )


def place_of(one: DeploymentOverview, sort: OverviewSort) -> OverviewPlace:
    """Position under that sort.

    By severity, the graver of state and last verdict counts: a stale or failing deployment does not hide that it was unfair, but comes
    after all that are so now.
    """
    name = one.name.casefold()
    match sort:
        case OverviewSort.NAME:
            return OverviewPlace(rank=0.0, nearness=0.0, name=name, no=one.no)
        case OverviewSort.LAST_CHECK:
            ended = 0.0 if one.last_check is None else one.last_check.at.timestamp()
            return OverviewPlace(rank=-ended, nearness=0.0, name=name, no=one.no)
        case OverviewSort.SEVERITY:
            known = one.state if one.worst is None else _JUDGED.get(one.worst.verdict, one.state)
            rank = min(_URGENCY[one.state], _URGENCY[known])
            earlier = 0.0 if _URGENCY[one.state] == rank else 0.5
            return OverviewPlace(rank=rank + earlier, nearness=-one.worst.beyond if one.worst else 0.0, name=name, no=one.no)


def _describe(one: OverviewEntry, by: JudgedBy, outlook: Outlook, now: datetime) -> DeploymentOverview:
    worst = by.worst
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
        state = DeploymentState.UNDECIDED if worst is None else _JUDGED.get(worst.verdict, DeploymentState.UNDECIDED)
        if success.monitor_version != one.monitor_version:
            because = Because(cause=Cause.MONITOR_CHANGED, outlook=outlook)
        elif state is DeploymentState.UNDECIDED:
            because = of_figures(worst, success, outlook)
        else:
            cause = Cause.SIDE_UNWATCHED if state is DeploymentState.UNWATCHED else Cause.MEASURED
            because = Because(cause=cause, outlook=outlook)

    advice = advice_of(because)
    return DeploymentOverview(
        no=one.no,
        id=one.id,
        name=one.name,
        owner=one.owner,
        state=state,
        cause=advice.cause,
        reason=advice.reason,
        next_step=advice.next_step,
        worst=worst,
        groups=by.groups,
        judged=by.judged,
        last_check=last,
        open_alerts=one.open_alerts,
        notes=() if success is None else success.notes,
        unacknowledged=one.unacknowledged,
        words=GroupWords(one.names),
        newest_record_at=one.newest_record_at,
    )
