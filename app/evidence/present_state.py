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
from ..base.frozen import frozen
from ..checks.correction import describe_corrected
from ..deployments.monitor.queries import find_monitor
from ..domain.check import DataSet, Span
from ..domain.group_words import GroupWords
from ..domain.monitor import POOLED_GROUP, Monitor
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.expected_hours import EvidenceProgress, expect_more_hours, expect_more_paired_hours
from ..statistics.e_values.nulls import Hours, Limit, Scale, UnfairSide
from ..statistics.e_values.onset import Onset
from ..statistics.e_values.quiet_alarm import QUIET_HOURS, is_quiet
from ..statistics.e_values.state_words import (
    DAY,
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
from ..statistics.e_values.unsteadiness import UNSTEADINESS_HOURS
from ..statistics.group_labels import IntArray
from ..statistics.intervals.verdicts import Verdict
from ..statistics.measures.labelled_figures import LabelCounts
from ..statistics.sentences.left_out import CountedRecords
from .count_hours import FollowedEra
from .figure_state import (
    Course,
    FigureState,
    PairSeries,
    Series,
    find_hour_start,
    number_hour,
    weigh_together,
)
from .left_out_of_hours import explain_vanished, sum_records
from .queries.changed_hours import count_corrections
from .queries.eras import Era, find_era, followed_deployment
from .queries.figure_states import StoredFigure, ended_figures, read_closures, read_era_figures
from .queries.hour_counts import CountedPlace, hours_of_places, last_hour, sum_cells
from .settle import Budget, count_lag_hours, find_counted_end, load_series
from .summarise import summarise
from .watched_figures import WatchedMetric

RECENT_HOURS = 168
"""Hours from which the expected traffic is estimated."""

LATELY_HOURS = 90 * 24
"""Hours in which the first blocks of a chapter are looked for."""

MAX_HOUR = 2**31
"""After all hours."""


@frozen(kw_only=True)
class ComparisonState:
    """Evidence on one metric, group and direction after its last hour.

    `statement` is the figure's, which its limits share. `log_evidence_now` is after corrections, where it is
    below the threshold of an open alarm; `found_at`: corrections of hours before that raised it.

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
    evidence: EvidenceState
    statement: FigureStatement | None = None
    since: datetime | None = None
    earliest: datetime | None = None
    latest: datetime | None = None
    alarm_at: datetime | None = None
    found_at: datetime | None = None
    interval: tuple[float | None, float | None] = (None, None)
    interval_from: datetime | None = None
    interval_records: tuple[int, int] | None = None
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

    @property
    def words(self) -> str:
        """State in few words."""
        if self.statement is None or self.vanished is not None:
            return self.vanished or self.evidence.value
        if self.reason is not None:
            return f"{self.statement.state} ({self.reason})"
        since = "" if self.since is None else say_start(self.since, self.earliest, self.latest)
        shown = {FigureLabel.UNFAIR, FigureLabel.UNDER_REVIEW, FigureLabel.CONFIRMED_FAIR}
        is_since = since and self.statement.state in shown
        return f"{self.statement.state}{f' since {since}' if is_since else ''}"

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
        """Bound on false alarms with its condition."""
        settings = self.monitor.evidence
        declared = (settings.declared_by or "somebody", settings.declared_on or "an unknown day")
        return say_guarantee(
            self.shared_by,
            settings.false_alarm_hours,
            by_person=settings.person is not None,
            declared=declared if settings.each_record_another_person else None,
        )


def look_at_evidence(session: Session, deployment_no: int) -> DeploymentEvidence | None:
    """State of each comparison that the monitor has a limit for; None without a monitor."""
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        return None
    deployment = followed_deployment(session, deployment_no)
    era = find_era(session, deployment_no, deployment.model_revision) or Era(
        model_revision=deployment.model_revision
    )
    followed = FollowedEra(deployment, monitor, era)
    figures = [figure for figure in read_era_figures(session, era.no) if followed.compares(figure)]
    budget = Budget.of(figures, ended_figures(session, era.no), followed)
    stored = sum_cells(session, era.no)
    problems = {row.attribute: row.label for row in stored if row.label is not None and not row.role}
    vanished = explain_vanished(stored)
    states: list[ComparisonState] = []
    for watched in followed.metrics:
        matching = [figure for figure in figures if figure.metric_key == watched.key]
        # Listed all the same: a missing comparison would look like a fair one.
        if not matching:
            states += _list_absent(
                watched,
                problems.get(watched.comparison.label) or _explain_absence(watched, followed),
                followed,
            )
            continue
        for state in _look_at(session, followed, watched, matching, budget):
            text = vanished.get((state.attribute, state.group or ""))
            states.append(
                replace(state, vanished=text)
                if text is not None and state.state is State.UNDECIDED
                else state
            )
    opened = [state.alarm_at for state in states if state.alarm_at is not None]
    since = min(opened, default=None)
    counts = count_corrections(session, deployment_no, era, since) if since is not None else []
    return DeploymentEvidence(
        era=era,
        monitor=monitor,
        model_revision=era.model_revision,
        comparisons=states,
        records=sum_records(stored, followed),
        problems=problems,
        shared_by=max(budget.total(MAX_HOUR), 1),
        corrected=describe_corrected(counts, since) if counts else None,
    )


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


_RATES = {
    "true_positive_rate_difference": "the true positive rate",
    "false_positive_rate_difference": "the false positive rate",
    "accuracy_difference": "the accuracy",
}


def _begin_facts(watched: WatchedMetric, followed: FollowedEra, group: str | None) -> FigureFacts:
    """Facts of a figure before anything is counted: what it compares."""
    monitor, attribute, definition = followed.monitor, watched.comparison.label, watched.definition
    names = GroupWords.of(monitor)
    by_side = {watched.direction(limit): watched.own_value(limit.value) for limit in watched.limits}
    reference = watched.comparison.reference_label(monitor)
    return FigureFacts(
        group="the monitored groups" if group is None else name_group(names, attribute, group),
        reference="all others" if reference is None else names.subject(attribute, reference),
        outcome=names.favourable,
        rate=_RATES.get(definition.metric, "the favourable rate"),
        is_ratio=definition.scale is Scale.RATIO,
        is_reversed=definition.is_reversed,
        is_counterfactual=definition.is_paired,
        lower_limit=by_side.get(UnfairSide.BELOW),
        upper_limit=by_side.get(UnfairSide.ABOVE),
        verdict=Verdict.NOT_COMPUTABLE,
        evidence=EvidenceState.NONE_YET,
    )


def name_group(names: GroupWords, attribute: str, group: str) -> str:
    """Returns a monitored group for a sentence."""
    if group == POOLED_GROUP:
        return f"the monitored groups of {attribute} together"
    return names.subject(attribute, group)


def _explain_absence(watched: WatchedMetric, followed: FollowedEra) -> str:
    data, settings = watched.definition.data, followed.monitor.evidence
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
    session: Session,
    followed: FollowedEra,
    watched: WatchedMetric,
    figures: Sequence[StoredFigure],
    budget: Budget,
) -> Iterator[ComparisonState]:
    end = find_counted_end(session, followed, watched.place)
    if end is None:
        return
    states = [
        FigureState.decode(figure.state, watched)
        if figure.state
        else FigureState.starting(watched, number_hour(figure.first_hour))
        for figure in figures
    ]
    # A chapter that began lately is looked at from its first hour, and the newest hour may be long ago.
    chapters = [follower.chapter for state in states for follower in state.followers]
    lately = [find_hour_start(chapter) for chapter in chapters if number_hour(end) - chapter < LATELY_HOURS]
    newest = last_hour(session, followed.era.no, watched.place) or end
    span = Span(start=min(end - RECENT_HOURS * HOUR, newest, *lately), end=end)
    recent = load_series(session, followed.era.no, watched, span, [figure.key.group for figure in figures])
    unknown = _explain_labels(session, followed, watched, span)
    closures = read_closures(session, followed.era.no)
    for figure, state, series in zip(figures, states, recent, strict=True):
        if (reason := unknown.get(figure.key.group)) is not None:
            yield from _list_absent(watched, reason, followed, figure.key.group)
            continue
        seen = _Seen(session, followed, watched, figure, state, series, budget)
        closers = [closure.closed_by for closure in closures if closure.key == figure.key]
        yield from seen.describe(closers[-1] if closers else None)


def _explain_labels(
    session: Session, followed: FollowedEra, watched: WatchedMetric, span: Span
) -> dict[str, str]:
    """Reason why labels of the span's records say nothing of a monitored group, by group."""
    if watched.place.data is not DataSet.LABELLED:
        return {}
    logged = CountedPlace(DataSet.AS_LOGGED, watched.place.attribute)
    hours = hours_of_places(session, followed.era.no, (watched.place, logged), span)
    labels, predictions = hours[watched.place], hours[logged]
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


@frozen(eq=False)
class _Seen:
    """One figure, its state, and the counts of its last hours."""

    session: Session
    followed: FollowedEra
    watched: WatchedMetric
    figure: StoredFigure
    state: FigureState
    recent: Series
    budget: Budget

    def describe(self, closed_by: str | None) -> Iterator[ComparisonState]:
        """Yields the state at each limit; the sentence is of the figure."""
        watched, figure, state = self.watched, self.figure, self.state
        end, era = number_hour(figure.until), self.followed.era
        recent = self.recent.between(self.recent.first, self.recent.end)
        lag = count_lag_hours(watched.definition.data, self.followed.monitor)
        levels = [
            one.log_threshold if math.isfinite(one.log_threshold) else self.budget.log_threshold(end + lag)
            for one in state.followers
        ]
        summaries = summarise(watched, state)
        alarms = [next(reversed(summary.alarms), None) for summary in summaries]
        corrected = 0
        for alarm in alarms:
            if alarm is not None and alarm.is_below:
                counts = count_corrections(self.session, self.followed.deployment.no, era, alarm.alarm_at)
                corrected = sum(count.count for count in counts)
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
            closed_by=closed_by,
            corrected=corrected,
            paired=self._count_both(),
        )

        def expect(limit: Limit, of_chapter: Hours, progress: EvidenceProgress) -> int | None:
            if isinstance(self.recent, PairSeries):
                pairs = self.recent.pairs(range(end - len(of_chapter), end))
                return expect_more_paired_hours(limit, pairs, progress)
            return expect_more_hours(limit, of_chapter, progress)

        facts = _begin_facts(watched, self.followed, figure.key.group)
        statement, evidence, more = tell_figure(hours, facts, levels, expect)
        lower, upper = state.interval.ends()
        if watched.definition.is_reversed:
            lower, upper = (None if upper is None else -upper), (None if lower is None else -lower)
        _, monitored, _, reference = state.interval.counts
        for number, (limit, follower, summary, last) in enumerate(
            zip(watched.limits, state.followers, summaries, alarms, strict=True)
        ):
            opened = last if follower.open_episode is not None else None
            yield ComparisonState(
                figure_id=figure.id,
                data=watched.definition.data,
                attribute=figure.key.place.attribute,
                group=figure.key.group,
                metric=figure.key.metric,
                direction=watched.direction(limit),
                limit=watched.own_value(limit.value),
                state=State(summary.state),
                evidence=evidence[number],
                statement=statement,
                since=summary.since,
                earliest=None if opened is None else opened.earliest,
                latest=None if opened is None else opened.latest,
                alarm_at=None if opened is None else opened.alarm_at,
                found_at=None if opened is None else opened.found_at,
                interval=(lower, upper),
                interval_from=find_hour_start(state.chapter),
                interval_records=None
                if watched.definition.is_paired
                else (round(monitored), round(reference)),
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
            )

    def _say_onset(self, since: Onset) -> str:
        first = number_hour(self.figure.first_hour)
        onset, earliest, latest = map(find_hour_start, (since.hour, since.earliest, since.latest))
        start = say_start(onset, earliest, latest)
        return f"{start} or before" if since.hour == first else start

    def _say_restart(self) -> str | None:
        """Revision or version with which the evidence began again; None if nothing was before."""
        era, starts_at = self.followed.era, self.figure.starts_at
        if starts_at is not None and starts_at != era.starts_at:
            return f"monitor version {self.followed.monitor.version} since {starts_at:{DAY}}"
        if era.is_restarted:
            return f"model revision {era.model_revision} since {self.figure.first_hour:{DAY}}"
        return None

    def _count_both(self) -> float | None:
        """Records that are favourable on both sides in the newest hour with pairs."""
        if not isinstance(self.recent, PairSeries):
            return None
        newest = next((kinds for kinds in reversed(self.recent.kinds) if kinds), ())
        return sum(min(monitored, reference) * count for monitored, reference, count in newest)

    def _is_quiet(self, limit: Limit, alarm_at: datetime) -> bool:
        """Whether the last hours since the alarm are no new evidence either way."""
        if self.figure.until - alarm_at < QUIET_HOURS * HOUR:
            return False
        end = number_hour(self.figure.until)
        span = Span(start=find_hour_start(end - QUIET_HOURS - UNSTEADINESS_HOURS), end=self.figure.until)
        (series,) = load_series(
            self.session, self.followed.era.no, self.watched, span, [self.figure.key.group]
        )
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
