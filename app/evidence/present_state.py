"""State of every comparison of a deployment, as everything shows it."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from ..base.clock import HOUR, floor_to_day
from ..base.values import frozen_arrays, frozen_by_name
from ..checks.result_queries import CorrectedCount, describe_corrected
from ..deployments.monitor.queries import find_monitor
from ..domain.check import DataSet, FigureKey, Span
from ..domain.groups import GroupWords
from ..domain.monitor import Monitor
from ..statistics.e_values.betting import UNSTEADINESS_HOURS
from ..statistics.e_values.nulls import QUIET_HOURS, Limit, UnfairSide, is_quiet
from ..statistics.e_values.state_words import (
    DAY,
    MINUTE,
    EvidenceState,
    FigureLabel,
    FigureStatement,
    State,
    describe_figure,
    say_guarantee,
    say_start,
)
from ..statistics.sentences.left_out import CountedRecords
from .figure_state import Course, FigureState, find_hour_start, number_hour, read_series, weigh_together
from .queries.eras import Era, FollowedDeployment, count_corrections, read_followed_deployment
from .queries.figure_states import Alarm, EraFigures, LimitSummary, StoredFigure, find_era_figures
from .queries.hour_counts import CountedPlace, sum_cells
from .summarise import Budget, count_lag_hours, explain_vanished, sum_records, summarise
from .tell_state import (
    CountedHours,
    FigureWithHours,
    RecentHours,
    build_unnamed_facts,
    choose_counted_end,
    choose_start,
    name_facts,
)
from .watched_figures import FollowedEra, WatchedMetric

MAX_HOUR = 2**31


@frozen_by_name
class ComparisonState:
    """Evidence on one metric, group and direction after its last hour.

    `statement` is the figure's, which its limits share. `log_*` are natural logarithms of factors;
    `log_evidence_now` is after corrections, where it is below the threshold of an open alarm; `found_at`: so
    many `found_corrections` of hours before that, or late records, raised it.

    `figure_id` names its counts. `since` lies between `earliest` and `latest`; `alarm_at` ends the hour of
    the alarm. With a `reason` there is no figure. Hours before `starts_at` do not count. `is_quiet`: unfair
    without new evidence for 7 days. `resolved_at` ends the hour in which evidence ended the last of all
    `alarms`, `fair_since` is the most likely first hour back inside. `interval` is of the hours since the
    chapter began.
    """

    figure_id: str | None
    data: DataSet
    attribute: str
    group: str | None
    metric: str
    direction: UnfairSide
    limit: float
    state: State
    evidence: EvidenceState
    statement: FigureStatement
    alarms: Sequence[Alarm] = ()
    since: datetime | None = None
    earliest: datetime | None = None
    latest: datetime | None = None
    alarm_at: datetime | None = None
    found_at: datetime | None = None
    found_corrections: int = 0
    interval: tuple[float | None, float | None] = (None, None)
    more_hours: int | None = None
    log_evidence: float = 0.0
    log_evidence_now: float | None = None
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
    vanished: str | None = None
    is_daily: bool = False

    @property
    def start_text(self) -> str | None:
        if self.since is None:
            return None
        form = DAY if self.is_daily else MINUTE
        return say_start(self.since, self.earliest, self.latest, form, is_first=self.is_from_first_hour)

    @property
    def words(self) -> str:
        if self.vanished is not None:
            return self.vanished
        label = self.statement.state
        # The other limit of an unfair figure has been confirmed fair since another day.
        has_start = self.alarm_at is not None or label is FigureLabel.CONFIRMED_FAIR
        since = self.start_text if has_start else None
        return label.value if since is None else f"{label} since {since}"

    @property
    def key(self) -> FigureKey:
        return FigureKey(metric=self.metric, data=self.data, attribute=self.attribute, group=self.group)

    @property
    def is_from_first_hour(self) -> bool:
        return self.alarm_at is not None and self.since == self.counted_from

    @property
    def counted_from(self) -> datetime | None:
        return None if self.until is None else self.until - self.hours * HOUR

    @property
    def reaches_first_hour(self) -> bool:
        """Whether it may be unfair since the first hour that counts: nobody knows that anything changed."""
        return self.alarm_at is not None and (self.earliest or self.since) == self.counted_from


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
    shared_by: int = 1
    corrected: str | None = None

    @property
    def guarantee(self) -> str:
        settings = self.monitor.evidence
        declared = (settings.declared_by or "somebody", settings.declared_on or "an unknown day")
        return say_guarantee(
            self.shared_by,
            settings.false_alarm_hours,
            by_person=settings.person is not None,
            declared=declared if settings.each_record_another_person else None,
        )


def read_deployment_evidence(session: Session, deployment_no: int) -> DeploymentEvidence | None:
    """Reads the state of each comparison that the monitor has a limit for; None without a monitor."""
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        return None
    return read_era_evidence(session, read_followed_deployment(session, deployment_no), monitor)


def read_era_evidence(
    session: Session, deployment: FollowedDeployment, monitor: Monitor
) -> DeploymentEvidence:
    """Three statements however many comparisons there are, and one more while an alarm is open."""
    revision = deployment.model_revision
    stored = find_era_figures(session, deployment.no, revision) or EraFigures(
        Era(model_revision=revision), (), ()
    )
    followed = FollowedEra(deployment, monitor, stored.era)
    metrics = {metric.key: metric for metric in followed.metrics}
    figures = [
        _Figure.of(figure, metrics[figure.metric_key])
        for figure in stored.present
        if followed.compares(figure)
    ]
    budget = Budget.of([figure.stored for figure in figures], stored.ended, followed)
    cells = sum_cells(session, stored.era.no)
    problems = {row.attribute: row.label for row in cells if row.label is not None and not row.role}
    vanished_texts = explain_vanished(cells)
    open_alarms = [alarm for figure in figures for alarm in figure.open_alarms]
    alarms = {alarm.alarm_at for alarm in open_alarms}
    changes_since = alarms | {alarm.found_at for alarm in open_alarms if alarm.found_at is not None}
    corrections = count_corrections(session, deployment.no, stored.era, changes_since) if alarms else {}
    starts = [(figure.stored, figure.choose_start(stored.era)) for figure in figures]
    counts = CountedHours.read(session, stored.era.no, starts)
    by_metric: dict[tuple[CountedPlace, str], list[_Figure]] = defaultdict(list)
    for figure in figures:
        by_metric[figure.stored.metric_key].append(figure)
    states: list[ComparisonState] = []
    for watched in followed.metrics:
        matching = by_metric[watched.key]
        # Listed all the same: a missing comparison would look like a fair one.
        if not matching:
            states += _list_without_figure(
                watched,
                problems.get(watched.comparison.label) or _explain_absence(watched, followed),
                followed,
            )
            continue
        chapters = [figure.state for figure in matching]
        recent = RecentHours(followed, watched, [figure.stored for figure in matching], chapters, counts)
        for figure in matching:
            group = figure.stored.group
            of_figure = (
                _list_without_figure(watched, recent.unknown[group], followed, group)
                if group in recent.unknown
                else _ComparisonReader(figure, recent, budget, counts, corrections).describe()
            )
            text = vanished_texts.get((watched.comparison.label, group))
            states += (
                replace(state, vanished=text)
                if text is not None and state.state is State.UNDECIDED
                else state
                for state in of_figure
            )
    since = min(alarms, default=None)
    of_alarm = None if since is None else corrections.get(since)
    corrected = None if since is None or not of_alarm else describe_corrected(of_alarm, f"{since:%-d %b %Y}")
    return DeploymentEvidence(
        era=stored.era,
        monitor=monitor,
        model_revision=stored.era.model_revision,
        comparisons=states,
        records=sum_records(cells, followed),
        problems=problems,
        shared_by=max(budget.total(MAX_HOUR), 1),
        corrected=corrected,
    )


@frozen_arrays
class _Figure:
    stored: StoredFigure
    state: FigureState
    summaries: Sequence[LimitSummary]

    @classmethod
    def of(cls, stored: StoredFigure, watched: WatchedMetric) -> "_Figure":
        state = (
            FigureState.decode(stored.state, watched)
            if stored.state
            else FigureState.starting(watched, number_hour(stored.first_hour))
        )
        return cls(stored, state, summarise(watched, state))

    @property
    def last_alarms(self) -> list[Alarm | None]:
        return [next(reversed(summary.alarms), None) for summary in self.summaries]

    @property
    def open_alarms(self) -> list[Alarm]:
        return [
            alarm
            for alarm, follower in zip(self.last_alarms, self.state.followers, strict=True)
            if alarm is not None and (alarm.is_below or follower.open_episode is not None)
        ]

    def choose_start(self, era: Era) -> datetime:
        until = self.stored.until
        end = min(until, choose_counted_end(era, self.stored.place.data, until) or until)
        return choose_start([self.state], end - (QUIET_HOURS + UNSTEADINESS_HOURS) * HOUR, end)


def _list_without_figure(
    watched: WatchedMetric, reason: str, followed: FollowedEra, group: str | None = None
) -> Iterator[ComparisonState]:
    facts = name_facts(build_unnamed_facts(watched, followed.era), watched, followed.monitor, group)
    for limit in watched.limits:
        statement = describe_figure(replace(facts, reason=reason))
        yield ComparisonState(
            figure_id=None,
            data=watched.definition.data,
            attribute=watched.comparison.label,
            group=group,
            metric=watched.definition.metric,
            direction=watched.get_direction(limit),
            limit=watched.compute_own_value(limit.value),
            state=State.UNDECIDED,
            evidence=EvidenceState.NONE_YET,
            statement=statement,
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
    if data is DataSet.COUNTERFACTUAL and not followed.deployment.has_endpoint:
        return "the deployment has no endpoint that scores copies"
    if followed.era.counted_until is None:
        return "no hour has been counted yet; a worker counts each hour after its end"
    # Not "yet": of a meta field without correlated features there are never copies.
    no_copies = "no check of a whole hour has scored copies of this attribute"
    return (
        no_copies if data is DataSet.COUNTERFACTUAL else "no record of a monitored group has been counted yet"
    )


Corrections = Mapping[datetime, Sequence[CorrectedCount]]


@frozen_arrays
class _ComparisonReader:
    seen: _Figure
    recent: RecentHours
    budget: Budget
    counts: CountedHours
    corrections: Corrections

    def _count_corrected(self, since: datetime | None) -> int:
        return 0 if since is None else sum(count.count for count in self.corrections.get(since, ()))

    def describe(self) -> Iterator[ComparisonState]:
        figure = self.seen.stored
        state = self.seen.state
        watched = self.recent.watched
        era = self.recent.followed.era
        clock = number_hour(figure.until) + count_lag_hours(
            watched.definition.data, self.recent.followed.monitor
        )
        levels = [
            follower.log_threshold
            if math.isfinite(follower.log_threshold)
            else self.budget.log_threshold(clock)
            for follower in state.followers
        ]
        alarms = self.seen.last_alarms
        corrected = 0
        for alarm in alarms:
            if alarm is not None and alarm.is_below:
                corrected = self._count_corrected(alarm.alarm_at)
        seen = FigureWithHours(self.recent, figure, state, figure.closed_by, corrected)
        statement, evidence, more = seen.tell(levels)
        lower, upper = state.interval.find_ends()
        if watched.definition.is_reversed:
            lower, upper = (None if upper is None else -upper), (None if lower is None else -lower)
        for number, (limit, follower, summary, last) in enumerate(
            zip(watched.limits, state.followers, self.seen.summaries, alarms, strict=True)
        ):
            of_alarms: dict[str, Any] = {}
            if last is not None:
                of_alarms = {"resolved_at": last.resolved_at, "fair_since": last.fair_since}
            if last is not None and follower.open_episode is not None:
                of_alarms |= {
                    "earliest": last.earliest,
                    "latest": last.latest,
                    "alarm_at": self._end_block(last.alarm_at),
                    "found_at": last.found_at,
                    "found_corrections": self._count_corrected(last.found_at),
                    "is_quiet": self._is_quiet(limit, last.alarm_at),
                }
            yield ComparisonState(
                figure_id=figure.id,
                data=watched.definition.data,
                attribute=watched.comparison.label,
                group=figure.group,
                metric=figure.metric,
                direction=watched.get_direction(limit),
                limit=watched.compute_own_value(limit.value),
                state=State(summary.state),
                evidence=evidence[number],
                statement=statement,
                alarms=summary.alarms,
                since=summary.since,
                interval=(lower, upper),
                more_hours=more[number],
                log_evidence=follower.log_evidence,
                log_evidence_now=max(follower.watching.log_sum, 0.0) if follower.is_below else None,
                log_fairness=follower.log_fairness,
                log_threshold=levels[number],
                hours=(figure.until - figure.first_hour) // HOUR,
                starts_at=figure.starts_at,
                until=figure.until,
                is_stale=figure.is_stale,
                is_daily=era.is_daily,
                **of_alarms,
            )

    def _end_block(self, hour: datetime) -> datetime:
        return floor_to_day(hour - HOUR) + 24 * HOUR if self.recent.followed.era.is_daily else hour

    def _is_quiet(self, limit: Limit, alarm_at: datetime) -> bool:
        until = self.seen.stored.until
        if until - alarm_at < QUIET_HOURS * HOUR:
            return False
        watched = self.recent.watched
        end = number_hour(until)
        span = Span(start=find_hour_start(end - QUIET_HOURS - UNSTEADINESS_HOURS), end=until)
        counted = self.counts.between(watched.place, span)
        (series,) = read_series(watched.definition, counted, span, [self.seen.stored.group])
        course = Course(
            watched,
            FigureState.starting(watched, end),
            series,
            lambda *_: series,
            self.recent.followed.era.divisors_at,
            end - QUIET_HOURS,
            end,
        )
        ((_, weighed),) = weigh_together([course], end - QUIET_HOURS, end)
        blocks = weighed[watched.limits.index(limit)]
        sides = ([block.unfair for block in blocks], [block.fair for block in blocks])
        return not blocks or is_quiet(*map(np.array, sides))


def rename_state(names: GroupWords, state: ComparisonState) -> ComparisonState:
    return state if state.group is None else replace(state, group=names.label(state.attribute, state.group))
