"""State of every comparison of a deployment, as everything shows it."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import chain

import numpy as np
from sqlalchemy.orm import Session

from ..base.clock import HOUR, floor_to_day
from ..base.values import frozen_arrays, frozen_by_name
from ..checks.result_queries import CorrectedCount, describe_corrected
from ..deployments.monitor.queries import find_monitor
from ..domain.check import DataSet, FigureKey, Span
from ..domain.groups import GroupWords
from ..domain.monitor import POOLED_GROUP, Monitor
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.betting import UNSTEADINESS_HOURS
from ..statistics.e_values.nulls import QUIET_HOURS, Hours, Limit, Scale, UnfairSide, is_quiet
from ..statistics.e_values.onset import EvidenceProgress, Onset, expect_more_hours, expect_more_paired_hours
from ..statistics.e_values.state_words import (
    DAY,
    FAVOURABLE_RATE,
    MINUTE,
    RATES,
    EvidenceState,
    FigureFacts,
    FigureLabel,
    FigureStatement,
    State,
    describe_figure,
    say_guarantee,
    say_start,
)
from ..statistics.e_values.tell_figure import EndedHours, tell_figure
from ..statistics.group_labels import IntArray
from ..statistics.intervals.verdicts import Verdict
from ..statistics.measures.measure_scores import LabelCounts
from ..statistics.sentences.left_out import CountedRecords
from .figure_state import (
    Course,
    FigureState,
    PairSeries,
    Series,
    find_hour_start,
    number_hour,
    read_series,
    weigh_together,
)
from .queries.eras import Era, FollowedDeployment, count_corrections, followed_deployment
from .queries.figure_states import Alarm, EraFigures, LimitSummary, StoredFigure, find_era_figures
from .queries.hour_counts import Cells, CountedPlace, PlaceHours, hours_of_places, sum_cells
from .summarise import (
    Budget,
    choose_counted_end,
    count_lag_hours,
    explain_vanished,
    sum_records,
    summarise,
)
from .watched_figures import FollowedEra, WatchedMetric

RECENT_HOURS = 168

LATELY_HOURS = 90 * 24

MAX_HOUR = 2**31
"""After all hours."""


@frozen_by_name
class ComparisonState:
    """Evidence on one metric, group and direction after its last hour.

    `statement` is the figure's, which its limits share. `alarms`: all at this limit so far, oldest first.
    `log_evidence_now` is after corrections, where it is below the threshold of an open alarm; `found_at`: so
    many `found_corrections` of hours before that, or late records, raised it.

    `figure_id` names its counts. `since` lies between `earliest` and `latest`; `alarm_at` ends the hour of
    the alarm. `log_*` are natural logarithms of factors. With a `reason` there is no figure. Hours before
    `starts_at` do not count. `is_quiet`: unfair without new evidence for 7 days. `resolved_at` and
    `fair_since` are of the last alarm, if evidence has ended it: the end of the hour in which it was
    enough, and the most likely first hour back inside. `interval` is of the hours since
    the chapter began.
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
    def started(self) -> str | None:
        form = DAY if self.is_daily else MINUTE
        return None if self.since is None else say_start(self.since, self.earliest, self.latest, form)

    @property
    def words(self) -> str:
        if self.vanished is not None:
            return self.vanished
        label = self.statement.state
        # The other limit of an unfair figure has been confirmed fair since another day.
        has_start = self.alarm_at is not None or label is FigureLabel.CONFIRMED_FAIR
        since = self.started if has_start else None
        return label.value if since is None else f"{label} since {since}"

    @property
    def key(self) -> FigureKey:
        """Shared by the two limits of a figure."""
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


def look_at_evidence(session: Session, deployment_no: int) -> DeploymentEvidence | None:
    """Each comparison that the monitor has a limit for; None without a monitor."""
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        return None
    return look_at_era(session, followed_deployment(session, deployment_no), monitor)


def look_at_era(session: Session, deployment: FollowedDeployment, monitor: Monitor) -> DeploymentEvidence:
    """Three statements, however many comparisons there are, and one more while an alarm is open."""
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
    vanished = explain_vanished(cells)
    opened = [alarm for figure in figures for alarm in figure.open_alarms]
    alarms = {alarm.alarm_at for alarm in opened}
    changes_since = alarms | {alarm.found_at for alarm in opened if alarm.found_at is not None}
    counts = _Counts(
        hours_of_places(session, stored.era.no, _choose_starts(figures, stored.era)),
        count_corrections(session, deployment.no, stored.era, changes_since) if alarms else {},
    )
    states: list[ComparisonState] = []
    for watched in followed.metrics:
        matching = [figure for figure in figures if figure.stored.metric_key == watched.key]
        # Listed all the same: a missing comparison would look like a fair one.
        if not matching:
            states += _list_absent(
                watched,
                problems.get(watched.comparison.label) or _explain_absence(watched, followed),
                followed,
            )
            continue
        for state in _look_at(followed, watched, matching, budget, counts):
            text = vanished.get((state.attribute, state.group or ""))
            states.append(
                replace(state, vanished=text)
                if text is not None and state.state is State.UNDECIDED
                else state
            )
    since = min(alarms, default=None)
    corrected = counts.corrected.get(since) if since is not None else None
    return DeploymentEvidence(
        era=stored.era,
        monitor=monitor,
        model_revision=stored.era.model_revision,
        comparisons=states,
        records=sum_records(cells, followed),
        problems=problems,
        shared_by=max(budget.total(MAX_HOUR), 1),
        corrected=describe_corrected(corrected, since) if corrected else None,
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

    def list_late_chapters(self, end: datetime) -> list[datetime]:
        chapters = [follower.chapter for follower in self.state.followers]
        return [find_hour_start(chapter) for chapter in chapters if number_hour(end) - chapter < LATELY_HOURS]


@frozen_arrays
class _Counts:
    places: Mapping[CountedPlace, PlaceHours]
    corrected: Mapping[datetime, Sequence[CorrectedCount]]

    def count_corrected(self, since: datetime | None) -> int:
        return 0 if since is None else sum(count.count for count in self.corrected.get(since, ()))

    def load(self, watched: WatchedMetric, span: Span, groups: Sequence[str]) -> list[Series]:
        return read_series(watched.definition, self.between(watched.place, span), span, groups)

    def between(self, place: CountedPlace, span: Span) -> dict[datetime, Cells]:
        counted = self.places[place].hours.items()
        return {hour: cells for hour, cells in counted if span.start <= hour < span.end}


def _choose_starts(figures: Sequence[_Figure], era: Era) -> dict[CountedPlace, datetime]:
    starts: dict[CountedPlace, datetime] = {}
    for figure in figures:
        place = figure.stored.place
        until = figure.stored.until
        end = choose_counted_end(era, place.data, until) or until
        recent = min(until, end) - (QUIET_HOURS + UNSTEADINESS_HOURS) * HOUR
        start = min([recent, *figure.list_late_chapters(min(until, end))])
        starts[place] = min(start, starts.get(place, start))
        if place.data is DataSet.LABELLED:
            # Labels are explained by the predictions of their hours.
            logged = CountedPlace(DataSet.AS_LOGGED, place.attribute)
            starts[logged] = min(start, starts.get(logged, start))
    return starts


def _list_absent(
    watched: WatchedMetric, reason: str, followed: FollowedEra, group: str | None = None
) -> Iterator[ComparisonState]:
    facts = _begin_facts(watched, followed, group)
    for limit in watched.limits:
        statement = describe_figure(replace(facts, reason=reason))
        yield ComparisonState(
            figure_id=None,
            data=watched.definition.data,
            attribute=watched.comparison.label,
            group=group,
            metric=watched.definition.metric,
            direction=watched.direction(limit),
            limit=watched.own_value(limit.value),
            state=State.UNDECIDED,
            evidence=EvidenceState.NONE_YET,
            statement=statement,
            reason=reason,
        )


def _begin_facts(watched: WatchedMetric, followed: FollowedEra, group: str | None) -> FigureFacts:
    monitor = followed.monitor
    attribute = watched.comparison.label
    definition = watched.definition
    names = GroupWords.of(monitor)
    by_side = {watched.direction(limit): watched.own_value(limit.value) for limit in watched.limits}
    reference = watched.comparison.reference_label(monitor)
    return FigureFacts(
        group="the monitored groups" if group is None else name_group(names, attribute, group),
        reference="all others" if reference is None else names.subject(attribute, reference),
        outcome=names.favourable,
        rate=RATES.get(definition.metric, FAVOURABLE_RATE),
        is_ratio=definition.scale is Scale.RATIO,
        is_reversed=definition.is_reversed,
        is_counterfactual=definition.is_paired,
        lower_limit=by_side.get(UnfairSide.BELOW),
        upper_limit=by_side.get(UnfairSide.ABOVE),
        verdict=Verdict.NOT_COMPUTABLE,
        evidence=EvidenceState.NONE_YET,
        block="day" if followed.era.is_daily else "hour",
    )


def name_group(names: GroupWords, attribute: str, group: str) -> str:
    if group == POOLED_GROUP:
        return f"the monitored groups of {attribute} together"
    return names.subject(attribute, group)


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
    without_copies = "no check of a whole hour has scored copies of this attribute"
    return (
        without_copies
        if data is DataSet.COUNTERFACTUAL
        else "no record of a monitored group has been counted yet"
    )


def _look_at(
    followed: FollowedEra,
    watched: WatchedMetric,
    figures: Sequence[_Figure],
    budget: Budget,
    counts: _Counts,
) -> Iterator[ComparisonState]:
    last = counts.places[watched.place].last
    end = choose_counted_end(followed.era, watched.place.data, last)
    if end is None:
        return
    # A chapter that began lately is looked at from its first hour, and the newest hour may be long ago.
    lately = chain.from_iterable(figure.list_late_chapters(end) for figure in figures)
    span = Span(start=min(end - RECENT_HOURS * HOUR, last or end, *lately), end=end)
    recent = counts.load(watched, span, [figure.stored.group for figure in figures])
    unknown = _explain_labels(watched, counts, span)
    for figure, series in zip(figures, recent, strict=True):
        if (reason := unknown.get(figure.stored.group)) is not None:
            yield from _list_absent(watched, reason, followed, figure.stored.group)
            continue
        yield from _Seen(followed, watched, figure, series, budget, counts).describe()


def _explain_labels(watched: WatchedMetric, counted: _Counts, span: Span) -> dict[str, str]:
    if watched.place.data is not DataSet.LABELLED:
        return {}
    labels = counted.between(watched.place, span)
    predictions = counted.between(CountedPlace(DataSet.AS_LOGGED, watched.place.attribute), span)
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


@frozen_arrays
class _Seen:
    followed: FollowedEra
    watched: WatchedMetric
    seen: _Figure
    recent: Series
    budget: Budget
    counts: _Counts

    @property
    def figure(self) -> StoredFigure:
        return self.seen.stored

    def describe(self) -> Iterator[ComparisonState]:
        watched = self.watched
        figure = self.figure
        state = self.seen.state
        era = self.followed.era
        end = number_hour(figure.until)
        recent = self.recent.between(self.recent.first, self.recent.end)
        lag = count_lag_hours(watched.definition.data, self.followed.monitor)
        levels = [
            follower.log_threshold
            if math.isfinite(follower.log_threshold)
            else self.budget.log_threshold(end + lag)
            for follower in state.followers
        ]
        alarms = self.seen.last_alarms
        corrected = 0
        for alarm in alarms:
            if alarm is not None and alarm.is_below:
                corrected = self.counts.count_corrected(alarm.alarm_at)
        hours = EndedHours(
            followers=state.followers,
            limits=watched.limits,
            counts=state.interval.counts,
            ends=state.interval.ends(),
            chapter=state.chapter,
            recent=recent,
            first=self.recent.first,
            end=end,
            divisor=float(era.divisors_at(np.array([end]))[0]),
            say=lambda hour: f"{find_hour_start(hour):{DAY}}",
            say_onset=self._say_onset,
            is_some_group=era.open_alarm is not None,
            restarted=self._say_restart(),
            closed_by=figure.closed_by,
            corrected=corrected,
            paired=self._count_both(),
        )

        def expect(limit: Limit, of_chapter: Hours, progress: EvidenceProgress) -> int | None:
            if isinstance(self.recent, PairSeries):
                pairs = self.recent.pairs(range(end - len(of_chapter), end))
                return expect_more_paired_hours(limit, pairs, progress)
            return expect_more_hours(limit, of_chapter, progress)

        facts = _begin_facts(watched, self.followed, figure.group)
        statement, evidence, more = tell_figure(hours, facts, levels, expect)
        lower, upper = state.interval.ends()
        if watched.definition.is_reversed:
            lower, upper = (None if upper is None else -upper), (None if lower is None else -lower)
        for number, (limit, follower, summary, last) in enumerate(
            zip(watched.limits, state.followers, self.seen.summaries, alarms, strict=True)
        ):
            opened = last if follower.open_episode is not None else None
            yield ComparisonState(
                figure_id=figure.id,
                data=watched.definition.data,
                attribute=watched.comparison.label,
                group=figure.group,
                metric=figure.metric,
                direction=watched.direction(limit),
                limit=watched.own_value(limit.value),
                state=State(summary.state),
                evidence=evidence[number],
                statement=statement,
                alarms=summary.alarms,
                since=summary.since,
                earliest=None if opened is None else opened.earliest,
                latest=None if opened is None else opened.latest,
                alarm_at=None if opened is None else self._end_block(opened.alarm_at),
                found_at=None if opened is None else opened.found_at,
                found_corrections=0 if opened is None else self.counts.count_corrected(opened.found_at),
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
                is_quiet=opened is not None and self._is_quiet(limit, opened.alarm_at),
                resolved_at=None if last is None else last.resolved_at,
                fair_since=None if last is None else last.fair_since,
                is_daily=era.is_daily,
            )

    def _end_block(self, hour: datetime) -> datetime:
        """The block ends with this hour, or later."""
        return floor_to_day(hour - HOUR) + 24 * HOUR if self.followed.era.is_daily else hour

    def _say_onset(self, since: Onset) -> str:
        first = number_hour(self.figure.first_hour)
        onset, earliest, latest = map(find_hour_start, (since.hour, since.earliest, since.latest))
        start = say_start(onset, earliest, latest, DAY if self.followed.era.is_daily else MINUTE)
        return f"{start} or before" if since.hour == first else start

    def _say_restart(self) -> str | None:
        """Revision or version with which the evidence began again; None if nothing was before."""
        era = self.followed.era
        starts_at = self.figure.starts_at
        if starts_at is not None and starts_at != era.starts_at:
            return f"monitor version {self.followed.monitor.version} since {starts_at:{DAY}}"
        if era.is_restarted:
            return f"model revision {era.model_revision} since {self.figure.first_hour:{DAY}}"
        return None

    def _count_both(self) -> float | None:
        """Favourable on both sides in the newest hour with pairs."""
        if not isinstance(self.recent, PairSeries):
            return None
        newest = next((kinds for kinds in reversed(self.recent.kinds) if kinds), ())
        return sum(min(monitored, reference) * count for monitored, reference, count in newest)

    def _is_quiet(self, limit: Limit, alarm_at: datetime) -> bool:
        """The last hours since the alarm are no new evidence either way."""
        if self.figure.until - alarm_at < QUIET_HOURS * HOUR:
            return False
        end = number_hour(self.figure.until)
        span = Span(start=find_hour_start(end - QUIET_HOURS - UNSTEADINESS_HOURS), end=self.figure.until)
        (series,) = self.counts.load(self.watched, span, [self.figure.group])
        course = Course(
            self.watched,
            FigureState.starting(self.watched, end),
            series,
            lambda *_: series,
            self.followed.era.divisors_at,
            end - QUIET_HOURS,
            end,
        )
        ((_, weighed),) = weigh_together([course], end - QUIET_HOURS, end)
        blocks = weighed[self.watched.limits.index(limit)]
        sides = ([block.unfair for block in blocks], [block.fair for block in blocks])
        return not blocks or is_quiet(*map(np.array, sides))


def rename_state(names: GroupWords, state: ComparisonState) -> ComparisonState:
    return state if state.group is None else replace(state, group=names.label(state.attribute, state.group))
