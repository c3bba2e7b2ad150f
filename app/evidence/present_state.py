"""State of every comparison of a deployment, as everything shows it."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import chain

import numpy as np
from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..base.frozen import frozen_by_name
from ..deployments.monitor.queries import find_monitor
from ..domain.check import DataSet, FigureKey, Span
from ..domain.groups import GroupWords
from ..domain.monitor import Monitor
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.expected_hours import EvidenceProgress, expect_more_hours, expect_more_paired_hours
from ..statistics.e_values.nulls import Limit, UnfairSide
from ..statistics.e_values.quiet_alarm import QUIET_HOURS, is_quiet
from ..statistics.e_values.state_words import State, say_start, say_state
from ..statistics.e_values.unsteadiness import UNSTEADINESS_HOURS
from ..statistics.group_labels import IntArray
from ..statistics.measures.labelled_figures import LabelCounts
from ..statistics.sentences.left_out import CountedRecords
from .count_hours import FollowedEra
from .figure_state import (
    FigureState,
    PairSeries,
    RateSeries,
    Series,
    find_hour_start,
    number_hour,
    read_series,
    weigh_series,
)
from .left_out_of_hours import explain_vanished, sum_records
from .queries.eras import Era, FollowedDeployment, followed_deployment
from .queries.figure_states import EraFigures, StoredFigure, find_era_figures
from .queries.hour_counts import Cells, CountedPlace, PlaceHours, hours_of_places, sum_cells
from .settle import Budget, choose_counted_end, count_lag_hours
from .summarise import summarise
from .watched_figures import WatchedMetric

RECENT_HOURS = 168
"""Hours from which the expected traffic is estimated."""


@frozen_by_name
class ComparisonState:
    """Evidence on one metric, group and direction after its last hour.

    `figure_id` names its counts. `since` lies between `earliest` and `latest`; `alarm_at` ends the hour of
    the alarm. `log_*` are natural logarithms of factors. With a `reason` there is no figure. Hours before
    `starts_at` do not count. `is_quiet`: unfair without new evidence for 7 days. `resolved_at` and
    `fair_since` are of the last alarm, if evidence has ended it: the end of the hour in which it was
    enough, and the most likely first hour back inside. `interval` is of the hours from `interval_from` to
    `until`, since the last alarm or its end, and of `interval_records`, if records are not compared with
    their own copies.
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
    def key(self) -> FigureKey:
        """Key of the figure, which its two limits share."""
        return FigureKey(metric=self.metric, data=self.data, attribute=self.attribute, group=self.group)

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


@frozen_by_name
class DeploymentEvidence:
    """Evidence of a deployment in its present era.

    `records` are those of its hours by data set and comparison; `problems` say by its label why one is not
    measured.
    """

    era: Era
    monitor: Monitor
    model_revision: str
    comparisons: Sequence[ComparisonState]
    records: Mapping[DataSet, Sequence[CountedRecords]] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


def look_at_evidence(session: Session, deployment_no: int) -> DeploymentEvidence | None:
    """State of each comparison that the monitor has a limit for; None without a monitor."""
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        return None
    return look_at_era(session, followed_deployment(session, deployment_no), monitor)


def look_at_era(session: Session, deployment: FollowedDeployment, monitor: Monitor) -> DeploymentEvidence:
    """Three statements, however many comparisons there are."""
    revision = deployment.model_revision
    stored = find_era_figures(session, deployment.no, revision) or EraFigures(
        Era(model_revision=revision), (), ()
    )
    followed = FollowedEra(deployment, monitor, stored.era)
    figures = [figure for figure in stored.present if followed.compares(figure)]
    budget = Budget.of(figures, stored.ended, followed)
    cells = sum_cells(session, stored.era.no)
    counted = hours_of_places(session, stored.era.no, _choose_starts(figures, stored.era))
    problems = {row.attribute: row.label for row in cells if row.label is not None and not row.role}
    vanished = explain_vanished(cells)
    states: list[ComparisonState] = []
    for watched in followed.metrics:
        matching = [figure for figure in figures if figure.metric_key == watched.key]
        # Listed all the same: a missing comparison would look like a fair one.
        if not matching:
            states += _list_absent(
                watched, problems.get(watched.comparison.label) or _explain_absence(watched, followed), budget
            )
            continue
        for state in _look_at(followed, watched, matching, budget, counted):
            text = vanished.get((state.attribute, state.group or ""))
            states.append(
                replace(state, words=text) if text is not None and state.state is State.UNDECIDED else state
            )
    return DeploymentEvidence(
        era=stored.era,
        monitor=monitor,
        model_revision=stored.era.model_revision,
        comparisons=states,
        records=sum_records(cells, followed),
        problems=problems,
    )


def _choose_starts(figures: Sequence[StoredFigure], era: Era) -> dict[CountedPlace, datetime]:
    """First hour that the states of a place's figures may need, by place."""
    starts: dict[CountedPlace, datetime] = {}
    for figure in figures:
        place = figure.place
        end = choose_counted_end(era, place.data, figure.until) or figure.until
        start = min(figure.until, end) - (QUIET_HOURS + UNSTEADINESS_HOURS) * HOUR
        starts[place] = min(start, starts.get(place, start))
        if place.data is DataSet.LABELLED:
            # Labels are explained by the predictions of their hours.
            logged = CountedPlace(DataSet.AS_LOGGED, place.attribute)
            starts[logged] = min(start, starts.get(logged, start))
    return starts


def _load_series(
    counted: Mapping[CountedPlace, PlaceHours], watched: WatchedMetric, span: Span, groups: Sequence[str]
) -> list[Series]:
    return read_series(watched.definition, _cut(counted[watched.place], span), span, groups)


def _cut(counted: PlaceHours, span: Span) -> dict[datetime, Cells]:
    return {hour: cells for hour, cells in counted.hours.items() if span.start <= hour < span.end}


def _list_absent(
    watched: WatchedMetric, reason: str, budget: Budget, group: str | None = None
) -> Iterator[ComparisonState]:
    for limit in watched.limits:
        yield ComparisonState(
            figure_id=None,
            data=watched.definition.data,
            attribute=watched.comparison.label,
            group=group,
            metric=watched.definition.metric,
            direction=watched.direction(limit),
            limit=watched.own_value(limit.value),
            state=State.UNDECIDED,
            words=say_state(
                State.UNDECIDED, since=None, more_hours=None, budget_hours=budget.hours, reason=reason
            ),
            reason=reason,
        )


def _explain_absence(watched: WatchedMetric, followed: FollowedEra) -> str:
    data = watched.definition.data
    settings = followed.monitor.evidence
    if followed.era.problem is not None:
        return followed.era.problem
    if data is DataSet.LABELLED:
        hours = settings.label_horizon_hours
        return (
            f"no counted record of a monitored group has a label yet whose horizon of {hours:,} hours "
            "has passed"
        )
    if data is DataSet.COUNTERFACTUAL and settings.person is not None:
        return "checks count every record of a person, so counterfactual figures cannot count only the first"
    if data is DataSet.COUNTERFACTUAL and not followed.deployment.has_endpoint:
        return "the deployment has no endpoint that scores copies"
    if followed.era.counted_until is None:
        return "no hour has been counted yet; a worker counts each hour after its end"
    # Not "yet": of a meta field without correlated features there are never copies.
    without_copies = "no check of a whole hour has scored copies of this attribute"
    return (
        without_copies
        if data is DataSet.COUNTERFACTUAL
        else "no record of a monitored group has been counted yet"
    )


def _look_at(
    followed: FollowedEra,
    watched: WatchedMetric,
    figures: Sequence[StoredFigure],
    budget: Budget,
    counted: Mapping[CountedPlace, PlaceHours],
) -> Iterator[ComparisonState]:
    end = choose_counted_end(followed.era, watched.place.data, counted[watched.place].last)
    if end is None:
        return
    span = Span(start=end - RECENT_HOURS * HOUR, end=end)
    recent = _load_series(counted, watched, span, [figure.group for figure in figures])
    unknown = _explain_labels(watched, counted, span)
    level = budget.log_threshold(
        number_hour(end) + count_lag_hours(watched.definition.data, followed.monitor)
    )
    for figure, series in zip(figures, recent, strict=True):
        if (reason := unknown.get(figure.group)) is not None:
            yield from _list_absent(watched, reason, budget, figure.group)
            continue
        first = number_hour(figure.first_hour)
        state = (
            FigureState.decode(figure.state, watched)
            if figure.state
            else FigureState.starting(watched, first)
        )
        for described, limit in zip(
            _describe(watched, figure, state, series, budget, level), watched.limits, strict=True
        ):
            is_old = (
                described.alarm_at is not None and figure.until - described.alarm_at >= QUIET_HOURS * HOUR
            )
            yield replace(described, is_quiet=is_old and _is_quiet(watched, figure, limit, counted))


def _explain_labels(
    watched: WatchedMetric, counted: Mapping[CountedPlace, PlaceHours], span: Span
) -> dict[str, str]:
    """Reason why labels of the span's records say nothing of a monitored group, by group."""
    if watched.place.data is not DataSet.LABELLED:
        return {}
    logged = CountedPlace(DataSet.AS_LOGGED, watched.place.attribute)
    labels = _cut(counted[watched.place], span)
    predictions = _cut(counted[logged], span)
    counts: dict[tuple[str, str], IntArray] = defaultdict(lambda: np.zeros((2, 2), np.int64))
    for label, role, favourable, total in chain.from_iterable(predictions.values()):
        counts[role, label if role == "monitored" else ""] += [[total - favourable, 0], [favourable, 0]]
    for label, role, true_positive, _, false_positive, _, _, total in chain.from_iterable(labels.values()):
        favourable = true_positive + false_positive
        counts[role, label if role == "monitored" else ""] += [[0, total - favourable], [0, favourable]]
    reference = LabelCounts.of(counts["reference", ""])
    metric = CATALOGUE[watched.definition.metric]
    reasons: dict[str, str] = {}
    # The group's own reason replaces that of the reference.
    for (role, label), cells in counts.items():
        for side in (reference, LabelCounts.of(cells)) if role == "monitored" else ():
            if not side.allows(metric):
                reasons[label] = side.explain(metric)
    return reasons


def _is_quiet(
    watched: WatchedMetric, figure: StoredFigure, limit: Limit, counted: Mapping[CountedPlace, PlaceHours]
) -> bool:
    end = number_hour(figure.until)
    span = Span(start=find_hour_start(end - QUIET_HOURS - UNSTEADINESS_HOURS), end=figure.until)
    series = _load_series(counted, watched, span, [figure.group])
    ((unfair, fair),) = weigh_series(series, limit, end - QUIET_HOURS, end)
    return is_quiet(unfair, fair)


def _describe(
    watched: WatchedMetric,
    figure: StoredFigure,
    state: FigureState,
    recent: Series,
    budget: Budget,
    level: float,
) -> Iterator[ComparisonState]:
    """Yields the state at each limit; `level` is ln A of a figure without hours."""
    lower, upper = state.interval.ends()
    if watched.definition.is_reversed:
        lower, upper = (None if upper is None else -upper), (None if lower is None else -lower)
    for limit, follower, summary in zip(
        watched.limits, state.followers, summarise(watched, state), strict=True
    ):
        opened = follower.open_episode
        last = next(reversed(summary.alarms), None)
        since = summary.since
        log_threshold = follower.log_threshold if math.isfinite(follower.log_threshold) else level
        more_hours = None
        begin = max(recent.first, follower.chapter)
        end = number_hour(figure.until)
        if since is None and end > begin:
            progress = EvidenceProgress(log_threshold, follower.log_evidence, follower.log_fairness)
            match recent:
                case RateSeries():
                    more_hours = expect_more_hours(limit, recent.between(begin, end), progress)
                case PairSeries():
                    more_hours = expect_more_paired_hours(limit, recent.pairs(begin, end), progress)
        earliest, latest = (
            (None, None)
            if opened is None
            else map(find_hour_start, (opened.since.earliest, opened.since.latest))
        )
        start = None if since is None else say_start(since, earliest, latest)
        yield ComparisonState(
            figure_id=figure.id,
            data=watched.definition.data,
            attribute=watched.comparison.label,
            group=figure.group,
            metric=figure.metric,
            direction=watched.direction(limit),
            limit=watched.own_value(limit.value),
            state=State(summary.state),
            words=say_state(
                State(summary.state), since=start, more_hours=more_hours, budget_hours=budget.hours
            ),
            since=since,
            earliest=earliest,
            latest=latest,
            alarm_at=last.alarm_at if opened and last else None,
            interval=(lower, upper),
            interval_from=find_hour_start(state.chapter),
            interval_records=state.interval.records,
            more_hours=more_hours,
            log_evidence=follower.log_evidence,
            log_fairness=follower.log_fairness,
            log_threshold=log_threshold,
            hours=(figure.until - figure.first_hour) // HOUR,
            starts_at=figure.starts_at,
            until=figure.until,
            is_stale=figure.is_stale,
            resolved_at=None if last is None else last.resolved_at,
            fair_since=None if last is None else last.fair_since,
        )


def rename_state(names: GroupWords, state: ComparisonState) -> ComparisonState:
    return state if state.group is None else replace(state, group=names.label(state.attribute, state.group))
