"""States of all deployments, in a constant number of statements."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from sqlalchemy.orm import Session

from ..base.values import frozen_by_name
from ..checks.advice.advice import write_advice
from ..checks.advice.causes import (
    STALE_AFTER,
    Cause,
    CauseFacts,
    Outlook,
    build_outlook,
    explain_ended_check,
    explain_figures,
    explain_first_check,
    explain_stale_figures,
)
from ..checks.advice.deployment_facts import EndedCheck, OverviewEntry, UnacknowledgedAlerts
from ..checks.result_queries import read_measurements
from ..checks.schedule.worker_queries import WorkerNotice, WorkersSeen, choose_notice
from ..database.binary_rows import read_row
from ..domain.check import CheckState, Measurement
from ..domain.groups import GroupWords
from ..evidence.queries.figure_states import EvidenceCounts, count_figures
from ..statistics.intervals.verdicts import ON_FAIRNESS, Verdict
from .judge import NOTHING_JUDGED, Judgement, WorstGroup, judge_deployments, read_evidence
from .queries import GroupKey, TrendPoint, count_records, read_overview_entries, read_trends

TREND_POINTS = 30


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


_STATE_OF_VERDICT: Mapping[str | None, DeploymentState] = {
    verdict: DeploymentState(verdict) for verdict in ON_FAIRNESS
}

URGENCY = list(DeploymentState)


class OverviewSort(StrEnum):
    """Order of an overview: the most urgent first, the alphabet, or the deployment that was checked last
    first.
    """

    SEVERITY = "severity"
    NAME = "name"
    LAST_CHECK = "last_check"


class DeploymentOverview(msgspec.Struct, frozen=True, kw_only=True):
    """State of a deployment. `cause` and `reason` say why it is in this state; a reason may be missing.

    `notes` are on values that look like a group and are in none, in the last measured records. `groups` is
    the number of figures of groups, `judged` how many have a verdict on fairness. `records` were logged in
    this minute and the 60 before it. `evidence` is None before it has begun.
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
    unacknowledged: UnacknowledgedAlerts | None = None
    trend: tuple[TrendPoint, ...] = ()
    evidence: EvidenceCounts | None = None
    words: GroupWords = msgspec.field(default_factory=GroupWords)

    @property
    def chosen_from(self) -> int:
        """Number of figures that `worst` was chosen from: too small ones only if there are no others."""
        return self.judged or self.groups


class OverviewPlace(msgspec.Struct, frozen=True, order=True, array_like=True, forbid_unknown_fields=True):
    """Position in an overview, as cursors hold it; positions of two sorts cannot be compared."""

    sort: OverviewSort
    rank: float
    nearness: float
    name: str
    no: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


@frozen_by_name
class OverviewSelection:
    """Filter and order of an overview; an absent member allows all. The caller may see only `only_no`, if
    set.

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


@frozen_by_name
class Overview:
    """Deployments in order, and how many that the caller may see are in each state.

    `next_step` is set only if none is registered, or none fits the filter. `visible_deployments` are all
    that the caller may see, unordered, without records, trends and intervals for the choice.
    """

    deployments: tuple[DeploymentOverview, ...]
    visible_deployments: tuple[DeploymentOverview, ...]
    workers: WorkersSeen
    counts: Mapping[DeploymentState, int]
    next_step: str | None


def build_overview(session: Session, query: OverviewSelection, *, now: datetime) -> Overview:
    stored = read_overview_entries(session, only_no=query.only_no)
    judgements = judge_deployments(session, stored.entries)
    evidence = count_figures(session, [entry.no for entry in stored.entries])
    deployments = []
    for entry in stored.entries:
        outlook = build_outlook(entry.schedule, entry.under_way, stored.workers, now)
        judgement = judgements.get(entry.success.no, NOTHING_JUDGED) if entry.success else NOTHING_JUDGED
        deployments.append(_describe(entry, judgement, outlook, evidence.get(entry.no), now))

    text = query.text.strip().casefold()
    matching = [
        deployment
        for deployment in deployments
        if (not query.states or deployment.state in query.states)
        and (query.owner is None or deployment.owner == query.owner)
        and (
            text in deployment.name.casefold()
            or text in deployment.id
            or text in (deployment.owner or "").casefold()
        )
    ]
    matching.sort(key=lambda deployment: rank_deployment(deployment, query.sort))
    following = [
        deployment
        for deployment in matching
        if query.after is None or rank_deployment(deployment, query.sort) > query.after
    ]

    counts = Counter(deployment.state for deployment in deployments)
    next_step = None
    if not deployments:
        next_step = (
            "No deployment is registered yet. Register one, set its fairness monitor, and log "
            "payload records."
        )
    elif not matching:
        next_step = "No deployment fits the filter. Leave the text, the owner or the state out."
    return Overview(
        deployments=tuple(_add_details(session, following[: query.limit], points=query.points, now=now)),
        visible_deployments=tuple(deployments),
        workers=stored.workers,
        counts={state: counts[state] for state in DeploymentState},
        next_step=next_step,
    )


@frozen_by_name
class DeploymentStatus:
    """State of one deployment with all measurements of its newest success. `state` is without records, trend
    and interval for the choice.
    """

    entry: OverviewEntry
    state: DeploymentOverview
    measured: Sequence[Measurement]
    outlook: Outlook

    @property
    def worker_notice(self) -> WorkerNotice | None:
        workers = self.outlook.workers
        return None if workers.answering else choose_notice(workers)


def look_at_deployment(session: Session, deployment_no: int, *, now: datetime) -> DeploymentStatus:
    """State with the measurements of its newest success."""
    status = look_at_state(session, deployment_no, now=now)
    success = status.entry.success
    return replace(status, measured=[] if success is None else read_measurements(session, success.no))


def look_at_state(session: Session, deployment_no: int, *, now: datetime) -> DeploymentStatus:
    """Reads only the gravest of its measurements."""
    stored = read_overview_entries(session, only_no=deployment_no)
    (entry,) = stored.entries
    judgement = NOTHING_JUDGED
    if entry.success is not None:
        judgement = judge_deployments(session, [entry]).get(entry.success.no, NOTHING_JUDGED)
    outlook = build_outlook(entry.schedule, entry.under_way, stored.workers, now)
    state = _describe(entry, judgement, outlook, count_figures(session, [entry.no]).get(entry.no), now)
    return DeploymentStatus(entry=entry, state=state, measured=(), outlook=outlook)


def _add_details(
    session: Session, deployments: Sequence[DeploymentOverview], *, points: int, now: datetime
) -> Iterator[DeploymentOverview]:
    keys = [
        read_row(GroupKey, deployment.worst, deployment_no=deployment.no)
        for deployment in deployments
        if deployment.worst is not None
    ]
    series = read_trends(session, keys, points=points)
    records = count_records(session, [deployment.no for deployment in deployments], now=now)
    for deployment in deployments:
        yield msgspec.structs.replace(
            deployment,
            worst=deployment.worst and deployment.worst.allow_for_choice(deployment.chosen_from),
            records=records.get(deployment.no, 0),
            trend=tuple(series.get(deployment.no, ())),
        )


def rank_deployment(deployment: DeploymentOverview, sort: OverviewSort) -> OverviewPlace:
    """The graver of state and last verdict counts: a stale or failing deployment does not hide that it was
    unfair, but comes after all that are so now.
    """
    rank = nearness = 0.0
    if sort is OverviewSort.LAST_CHECK and deployment.last_check is not None:
        rank = -deployment.last_check.at.timestamp()
    elif sort is OverviewSort.SEVERITY:
        rank = float(URGENCY.index(deployment.state))
        if deployment.worst is not None:
            nearness = -deployment.worst.beyond
            judged_rank = URGENCY.index(_STATE_OF_VERDICT.get(deployment.worst.verdict, deployment.state))
            if judged_rank < rank:
                rank = judged_rank + 0.5
    return OverviewPlace(sort, rank, nearness, deployment.name.casefold(), deployment.no)


def _describe(
    entry: OverviewEntry,
    judgement: Judgement,
    outlook: Outlook,
    evidence: EvidenceCounts | None,
    now: datetime,
) -> DeploymentOverview:
    worst = judgement.worst
    last = entry.last_check
    success = entry.success
    leading = None if evidence is None else evidence.leading
    if leading is not None and success is not None and success.monitor_version == entry.monitor_version:
        check_figure, worst = worst, read_evidence(leading, success)
        # Evidence watches only sides that have a limit.
        if (
            worst.verdict == Verdict.FAIR
            and check_figure is not None
            and check_figure.verdict == Verdict.UNWATCHED
        ):
            worst = check_figure
    state = DeploymentState.WAITING
    if entry.monitor_version is None:
        state = DeploymentState.NO_MONITOR
        facts = CauseFacts(cause=Cause.NO_MONITOR, outlook=outlook)
    elif last is None:
        facts = explain_first_check(entry, outlook)
    elif last.state is not CheckState.SUCCEEDED or success is None:
        state = DeploymentState.FAILING if last.state is CheckState.FAILED else state
        facts = explain_ended_check(last, outlook)
    elif now - success.measured_at > STALE_AFTER:
        state = DeploymentState.STALE
        facts = explain_stale_figures(entry, success, outlook)
    else:
        state = _STATE_OF_VERDICT.get(None if worst is None else worst.verdict, DeploymentState.UNDECIDED)
        if evidence is not None and evidence.unfair:
            state = DeploymentState.UNFAIR
        if success.monitor_version != entry.monitor_version:
            facts = CauseFacts(cause=Cause.MONITOR_CHANGED, outlook=outlook)
        elif state is DeploymentState.UNDECIDED and worst is judgement.worst:
            facts = explain_figures(worst, success, outlook)
        else:
            cause = Cause.SIDE_UNWATCHED if state is DeploymentState.UNWATCHED else Cause.MEASURED
            facts = CauseFacts(cause=cause, outlook=outlook)

    advice = write_advice(facts)
    return DeploymentOverview(
        no=entry.no,
        id=entry.id,
        name=entry.name,
        owner=entry.owner,
        state=state,
        cause=advice.cause,
        reason=advice.reason,
        next_step=advice.next_step,
        worst=worst,
        groups=judgement.groups,
        judged=judgement.judged,
        last_check=last,
        open_alerts=entry.open_alerts,
        notes=() if success is None else success.notes,
        unacknowledged=entry.unacknowledged,
        evidence=evidence,
        words=GroupWords(entry.names),
    )
