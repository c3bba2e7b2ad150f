"""State of every comparison of a deployment, as everything shows it."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..base.frozen import frozen
from ..deployments.monitor.queries import find_monitor
from ..domain.check import DataSet, Span
from ..domain.group_words import GroupWords
from ..domain.monitor import Monitor, find_comparison
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.expected_hours import EvidenceProgress, expect_more_hours, expect_more_paired_hours
from ..statistics.e_values.follow import Follower
from ..statistics.e_values.nulls import Limit, UnfairSide
from ..statistics.e_values.quiet_alarm import QUIET_HOURS, is_quiet
from ..statistics.e_values.state_words import State, say_start, say_state
from ..statistics.e_values.unsteadiness import UNSTEADINESS_HOURS
from ..statistics.group_labels import IntArray
from ..statistics.measures.labelled_figures import LabelCounts
from ..statistics.sentences.left_out import CountedRecords
from .count_hours import FollowedEra
from .figure_state import FigureState, PairSeries, RateSeries, Series, find_hour_start, number_hour, weigh_series
from .left_out_of_hours import explain_vanished, sum_records
from .queries.eras import Era, find_era, followed_deployment
from .queries.figure_states import StoredFigure, ended_figures, read_era_figures
from .queries.hour_counts import CountedPlace, hours_of_places, sum_cells
from .settle import Budget, count_lag_hours, find_counted_end, load_series
from .summarise import find_state, find_state_start
from .watched_figures import WatchedMetric, watched_metrics

RECENT_HOURS = 168
"""Hours from which the expected traffic is estimated."""


@frozen(kw_only=True)
class ComparisonState:
    """Evidence on one metric, group and direction after its last hour.

    `figure_id` names its counts. `since` lies between `earliest` and `latest`; `alarm_at` ends the hour of the alarm. `log_*` are natural
    logarithms of factors. With a `reason` there is no figure. Hours before `starts_at` do not count. `is_quiet`: unfair without new
    evidence for 7 days. `resolved_at` and `fair_since` are of the last alarm, if evidence has ended it: the end of the hour in which it was
    enough, and the most likely first hour back inside. `interval` is of the hours from `interval_from` to `until`, since the last alarm or
    its end, and of `interval_records`, if records are not compared with their own copies.
    """

    figure_id: str | None
    data: DataSet
    attribute: str
    group: str | None
    metric: str
    direction: UnfairSide
    limit: float
    state: State
    words: str
    since: datetime | None = None
    earliest: datetime | None = None
    latest: datetime | None = None
    alarm_at: datetime | None = None
    interval: tuple[float | None, float | None] = (None, None)
    interval_from: datetime | None = None
    interval_records: tuple[int, int] | None = None
    more_hours: int | None = None
    log_evidence: float = 0.0
    log_fairness: float = 0.0
    log_threshold: float | None = None
    hours: int = 0
    starts_at: datetime | None = None
    until: datetime | None = None
    is_stale: bool = False
    is_quiet: bool = False
    resolved_at: datetime | None = None
    fair_since: datetime | None = None
    reason: str | None = None

    @property
    def figure(self) -> tuple[DataSet, str, str | None, str]:
        """Data, attribute, group and metric, which the two limits of a figure share."""
        return self.data, self.attribute, self.group, self.metric

    @property
    def is_from_first_hour(self) -> bool:
        """Whether it is in its state since the first hour that counts: what was before is not known."""
        return self.since is not None and self.since == self.counted_from

    @property
    def counted_from(self) -> datetime | None:
        return None if self.until is None else self.until - self.hours * HOUR

    @property
    def reaches_first_hour(self) -> bool:
        """Whether `since` may be the first hour that counts: nobody knows then that anything changed."""
        return self.since is not None and (self.earliest or self.since) == self.counted_from


@frozen(kw_only=True)
class DeploymentEvidence:
    """Evidence of a deployment in its present era; without an era nothing has been counted.

    `records` are those of its hours by data set and comparison; `problems` say by its label why one is not measured.
    """

    era: Era | None
    monitor: Monitor
    model_revision: str
    comparisons: Sequence[ComparisonState]
    records: Mapping[DataSet, Sequence[CountedRecords]] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

    def features_of(self, state: ComparisonState) -> tuple[str, ...]:
        comparison = find_comparison(self.monitor, state.attribute)
        return () if comparison is None else comparison.features

    def reference_of(self, state: ComparisonState) -> str | None:
        """Labels of the reference groups; None where every other value is one."""
        comparison = find_comparison(self.monitor, state.attribute)
        return None if comparison is None else comparison.reference_label(self.monitor)


def look_at_evidence(session: Session, deployment_no: int) -> DeploymentEvidence | None:
    """State of each comparison that the monitor has a limit for; None without a monitor."""
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        return None
    deployment = followed_deployment(session, deployment_no)
    era = find_era(session, deployment_no, deployment.model_revision)
    followed = None if era is None else FollowedEra(deployment, monitor, era)
    figures = [] if followed is None else [figure for figure in read_era_figures(session, followed.era.no) if followed.compares(figure)]
    ended = [] if era is None else ended_figures(session, era.no)
    stored = [] if followed is None else sum_cells(session, followed.era.no)
    problems = {row.attribute: row.label for row in stored if row.label is not None and not row.role}
    vanished = explain_vanished(stored)
    states: list[ComparisonState] = []
    for watched in watched_metrics(monitor):
        matching = [figure for figure in figures if (figure.key.place, figure.key.metric) == (watched.place, watched.definition.metric)]
        # Listed all the same: a missing comparison would look like a fair one.
        if followed is None or not matching:
            reason = _explain_absence(watched, monitor, era, has_endpoint=deployment.has_endpoint)
            states += _list_absent(watched, problems.get(watched.comparison.label) or reason, monitor.evidence.false_alarm_hours)
            continue
        for state in _look_at(session, followed, watched, matching, Budget.of(figures, ended, followed)):
            text = vanished.get((state.attribute, state.group or ""))
            states.append(replace(state, words=text) if text is not None and state.state is State.UNDECIDED else state)
    records = {} if followed is None else sum_records(stored, followed)
    return DeploymentEvidence(
        era=era, monitor=monitor, model_revision=deployment.model_revision, comparisons=states, records=records, problems=problems
    )


def _list_absent(watched: WatchedMetric, reason: str, budget_hours: float) -> Iterator[ComparisonState]:
    for limit in watched.limits:
        yield ComparisonState(
            figure_id=None,
            data=watched.definition.data,
            attribute=watched.comparison.label,
            group=None,
            metric=watched.definition.metric,
            direction=watched.direction(limit),
            limit=watched.own_value(limit.value),
            state=State.UNDECIDED,
            words=say_state(State.UNDECIDED, since=None, more_hours=None, budget_hours=budget_hours, reason=reason),
            reason=reason,
        )


def _explain_absence(watched: WatchedMetric, monitor: Monitor, era: Era | None, *, has_endpoint: bool) -> str:
    data, is_counted = watched.definition.data, era is not None and era.counted_until is not None
    if era is not None and era.problem is not None:
        return era.problem
    if data is DataSet.FEEDBACK:
        hours = monitor.evidence.label_horizon_hours
        return f"no counted record of a monitored group has a label yet whose horizon of {hours:,} hours has passed"
    if data is DataSet.BALANCED and monitor.evidence.person is not None:
        return "checks count every record of a person, so balanced figures cannot count only the first"
    if data is DataSet.BALANCED and not has_endpoint:
        return "the deployment has no endpoint that scores copies"
    if not is_counted:
        return "no hour has been counted yet; a worker counts each hour after its end"
    # Not "yet": of a meta field without correlated features there are never copies.
    without_copies = "no check of a whole hour has scored copies of this attribute"
    return without_copies if data is DataSet.BALANCED else "no record of a monitored group has been counted yet"


def _look_at(
    session: Session, followed: FollowedEra, watched: WatchedMetric, figures: Sequence[StoredFigure], budget: Budget
) -> Iterator[ComparisonState]:
    end = find_counted_end(session, followed, watched.place)
    if end is None:
        return
    groups = [figure.key.group for figure in figures]
    recent = load_series(session, followed.era.no, watched, Span(start=end - RECENT_HOURS * HOUR, end=end), groups)
    lag = count_lag_hours(watched.definition.data, followed.monitor)
    unknown = _explain_labels(session, followed, watched, Span(start=end - RECENT_HOURS * HOUR, end=end))
    for figure, series in zip(figures, recent, strict=True):
        if (reason := unknown.get(figure.key.group)) is not None:
            absent = _list_absent(watched, reason, followed.monitor.evidence.false_alarm_hours)
            yield from (replace(state, group=figure.key.group) for state in absent)
            continue
        is_new = not figure.state
        state = FigureState.starting(watched, number_hour(figure.first_hour)) if is_new else FigureState.decode(figure.state, watched)
        for limit, follower in zip(watched.limits, state.followers, strict=True):
            level = follower.log_threshold if math.isfinite(follower.log_threshold) else budget.log_threshold(number_hour(end) + lag)
            described = _describe(followed, watched, _FigureAtLimit(figure, state, limit, follower, level), series)
            opened = follower.open_episode
            if opened is not None and number_hour(figure.until) - (opened.alarm + 1) >= QUIET_HOURS:
                described = replace(described, is_quiet=_is_quiet(session, followed, watched, figure, limit))
            yield described


def _explain_labels(session: Session, followed: FollowedEra, watched: WatchedMetric, span: Span) -> dict[str, str]:
    """Reason why labels of the span's records say nothing of a monitored group, by group."""
    if watched.place.data is not DataSet.FEEDBACK:
        return {}
    places = (watched.place, CountedPlace(DataSet.PAYLOAD, watched.place.attribute))
    labels, predictions = (hours_of_places(session, followed.era.no, places, span)[place] for place in places)
    counts: dict[tuple[str, str], IntArray] = defaultdict(lambda: np.zeros((2, 2), np.int64))
    for cells in (cells for hour in predictions for cells in predictions[hour]):
        label, role, favourable, total = cells
        counts[role, label if role == "monitored" else ""] += [[total - favourable, 0], [favourable, 0]]
    for cells in (cells for hour in labels for cells in labels[hour]):
        label, role, true_positive, _, false_positive, _, _, total = cells
        favourable = true_positive + false_positive
        counts[role, label if role == "monitored" else ""] += [[0, total - favourable], [0, favourable]]
    reference = LabelCounts.of(counts["reference", ""])
    metric = CATALOGUE[watched.definition.metric]
    monitored = {label: LabelCounts.of(cells) for (role, label), cells in counts.items() if role == "monitored"}
    forbidding = {
        label: next((side for side in (counts, reference) if not side.allows(metric)), None) for label, counts in monitored.items()
    }
    return {label: side.explain(metric) for label, side in forbidding.items() if side is not None}


def _is_quiet(session: Session, followed: FollowedEra, watched: WatchedMetric, figure: StoredFigure, limit: Limit) -> bool:
    end = number_hour(figure.until)
    span = Span(start=find_hour_start(end - QUIET_HOURS - UNSTEADINESS_HOURS), end=figure.until)
    series = load_series(session, followed.era.no, watched, span, [figure.key.group])
    ((unfair, fair),) = weigh_series(series, limit, end - QUIET_HOURS, end)
    return is_quiet(unfair, fair)


@frozen(eq=False)
class _FigureAtLimit:
    figure: StoredFigure
    state: FigureState
    limit: Limit
    follower: Follower
    log_threshold: float


def _describe(followed: FollowedEra, watched: WatchedMetric, at: _FigureAtLimit, recent: Series) -> ComparisonState:
    figure, follower = at.figure, at.follower
    opened = follower.open_episode
    state, since = find_state(follower), find_state_start(follower)
    more_hours = None
    if state is State.UNDECIDED:
        more_hours = _expect_more(at, max(recent.first, follower.chapter), number_hour(figure.until), recent)
    lower, upper = at.state.interval.ends()
    if watched.definition.is_reversed:
        lower, upper = (None if upper is None else -upper), (None if lower is None else -lower)
    budget_hours = followed.monitor.evidence.false_alarm_hours
    earliest, latest = (None, None) if opened is None else (find_hour_start(opened.since.earliest), find_hour_start(opened.since.latest))
    start = None if since is None else say_start(since, earliest, latest)
    last = follower.episodes[-1] if follower.episodes else None
    return ComparisonState(
        figure_id=figure.id,
        data=figure.key.place.data,
        attribute=figure.key.place.attribute,
        group=figure.key.group,
        metric=figure.key.metric,
        direction=watched.direction(at.limit),
        limit=watched.own_value(at.limit.value),
        state=state,
        words=say_state(state, since=start, more_hours=more_hours, budget_hours=budget_hours),
        since=since,
        earliest=earliest,
        latest=latest,
        alarm_at=None if opened is None else find_hour_start(opened.alarm + 1),
        interval=(lower, upper),
        interval_from=find_hour_start(at.state.chapter),
        interval_records=at.state.interval.records,
        more_hours=more_hours,
        log_evidence=follower.log_evidence,
        log_fairness=follower.log_fairness,
        log_threshold=at.log_threshold,
        hours=(figure.until - figure.first_hour) // HOUR,
        starts_at=figure.starts_at,
        until=figure.until,
        is_stale=figure.is_stale,
        resolved_at=None if last is None or last.resolved is None else find_hour_start(last.resolved + 1),
        fair_since=None if last is None or last.fair_since is None else find_hour_start(last.fair_since.hour),
    )


def _expect_more(at: _FigureAtLimit, start: int, end: int, recent: Series) -> int | None:
    progress = EvidenceProgress(at.log_threshold, at.follower.log_evidence, at.follower.log_fairness)
    if end <= start:
        return None
    match recent:
        case RateSeries():
            return expect_more_hours(at.limit, recent.between(start, end), progress)
        case PairSeries():
            return expect_more_paired_hours(at.limit, recent.pairs(start, end), progress)


def rename_state(names: GroupWords, state: ComparisonState) -> ComparisonState:
    return state if state.group is None else replace(state, group=names.label(state.attribute, state.group))
