"""Statement on a figure, from its state and its newest hours; stored with the state."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain

import numpy as np
from msgspec import UNSET, UnsetType
from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..base.values import frozen_arrays
from ..checks.advice.deployment_facts import ComparedGroups
from ..domain.check import DataSet, Span
from ..domain.groups import GroupWords
from ..domain.monitor import POOLED_GROUP, Monitor
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.betting import UNSTEADINESS_HOURS
from ..statistics.e_values.expected_delays import (
    EvidenceProgress,
    expect_more_hours,
    expect_more_paired_hours,
)
from ..statistics.e_values.nulls import Hours, Limit, Scale, UnfairSide
from ..statistics.e_values.onset import Onset
from ..statistics.e_values.state_words import (
    DAY,
    FAVOURABLE_RATE,
    MINUTE,
    RATE_PHRASES,
    EvidenceState,
    FigureFacts,
    FigureStatement,
    judge_figure,
    say_start,
)
from ..statistics.e_values.tell_figure import EndedHours, judge_evidence, tell_figure
from ..statistics.group_labels import IntArray
from ..statistics.intervals.verdicts import GRAVEST, Verdict
from ..statistics.measures.label_states import LabelCounts
from ..statistics.measures.worst_group import build_distance
from .figure_state import FigureState, PairSeries, Series, find_hour_start, number_hour, read_series
from .queries.eras import Era
from .queries.figure_states import KnownFigure, ReachedState, StoredStatement, store_states
from .queries.hour_counts import Cells, CountedPlace, PlaceHours, read_hours_of_places
from .summarise import summarise
from .watched_figures import FollowedEra, WatchedMetric

RECENT_HOURS = UNSTEADINESS_HOURS
"""Newest hours that a statement reads at least."""

MAX_CHAPTER_HOURS = 90 * 24
"""Age of a chapter up to which a statement reads all its hours."""


def choose_start(states: Iterable[FigureState], start: datetime, end: datetime) -> datetime:
    """`start`, or the first hour of a chapter that began lately."""
    chapters = (follower.chapter for state in states for follower in state.followers)
    late = [chapter for chapter in chapters if number_hour(end) - chapter < MAX_CHAPTER_HOURS]
    return min([start, *map(find_hour_start, late)])


def select_chapters(
    followed: FollowedEra, figures: Iterable[tuple[KnownFigure, FigureState]]
) -> list[FigureState]:
    """States whose statement depends on more than the newest hours: on labels, or on the number of blocks
    since an alarm's end or a new start.
    """
    return [
        state
        for figure, state in figures
        if figure.place.data is DataSet.LABELLED
        or figure.starts_at
        or followed.era.is_restarted
        or any(follower.episodes and not follower.open_episode for follower in state.followers)
    ]


def choose_counted_end(era: Era, data: DataSet, last: datetime | None) -> datetime | None:
    """End of the counted hours; of counterfactual data that of the `last` one with counts, but at most the
    first one that waits for the model.
    """
    if data is DataSet.AS_LOGGED:
        return era.counted_until
    if data is DataSet.LABELLED:
        return era.labels_until
    if last is None:
        return None
    return last + HOUR if era.waits is None else min(last + HOUR, era.waits.since)


@dataclass(eq=False)
class CountedHours:
    places: Mapping[CountedPlace, PlaceHours]
    groups: Mapping[CountedPlace, Collection[str]]
    _series: dict[object, tuple[datetime, Mapping[str, Series]]] = field(default_factory=dict)

    @classmethod
    def read(
        cls, session: Session, era_no: int, starts: Iterable[tuple[KnownFigure, datetime]]
    ) -> "CountedHours":
        """Also reads the newest hour."""
        earliest: dict[CountedPlace, datetime] = {}
        groups: dict[CountedPlace, dict[str, None]] = defaultdict(dict)
        for figure, start in starts:
            place = figure.place
            groups[place][figure.group] = None
            is_explained = place.data is DataSet.LABELLED
            for read in (place, CountedPlace(DataSet.AS_LOGGED, place.attribute))[: 1 + is_explained]:
                earliest[read] = min(start, earliest.get(read, start))
        return cls(read_hours_of_places(session, era_no, earliest), groups)

    def between(self, place: CountedPlace, span: Span) -> dict[datetime, Cells]:
        counted = self.places[place].hours.items()
        return {hour: cells for hour, cells in counted if span.start <= hour < span.end}

    def load(self, watched: WatchedMetric, span: Span) -> Mapping[str, Series]:
        """Series of the groups, from the span's start or an earlier hour to its end."""
        place = watched.place
        key = (place, watched.definition.part, watched.definition.whole, span.end)
        if key not in self._series or span.start < self._series[key][0]:
            groups = list(self.groups[place])
            start = min([span.start, *self.places[place].hours])
            whole = Span(start=start, end=span.end)
            series = read_series(watched.definition, self.between(place, whole), whole, groups)
            self._series[key] = start, dict(zip(groups, series, strict=True))
        return self._series[key][1]


class RecentHours:
    """Newest hours of a metric's figures (at least one), from number `first` on.

    `unknown` says of a group why its labels give no figure. `facts` lack the names.
    """

    def __init__(
        self,
        followed: FollowedEra,
        watched: WatchedMetric,
        figures: Sequence[KnownFigure],
        chapters: Iterable[FigureState],
        counts: CountedHours,
    ) -> None:
        last = counts.places[watched.place].last
        counted = choose_counted_end(followed.era, watched.place.data, last)
        end = counted or max(figure.until for figure in figures)
        start = min(choose_start(chapters, end - RECENT_HOURS * HOUR, end), last or end)
        span = Span(start=start, end=end)
        self.followed = followed
        self.watched = watched
        self.first = number_hour(start)
        self.series = counts.load(watched, span)
        self.unknown = _explain_labels(watched, counts, span)
        self.facts = build_unnamed_facts(watched, followed.era)
        self.reference = watched.comparison.reference_label(followed.monitor)
        limits = (self.facts.lower_limit, self.facts.upper_limit)
        self.measure_beyond = build_distance(CATALOGUE[watched.definition.metric], limits)


@frozen_arrays
class FigureWithHours:
    """Figure with its state and its metric's newest hours. `closed_by` closed its last closed alarm; so many
    values were `corrected` since its open one was raised.
    """

    of_metric: RecentHours
    figure: KnownFigure
    state: FigureState
    closed_by: str | None = None
    corrected: int = 0

    @property
    def recent(self) -> Series:
        return self.of_metric.series[self.figure.group]

    def tell(self, levels: Sequence[float]) -> tuple[FigureStatement, list[EvidenceState], list[int | None]]:
        """As `tell_figure`."""
        of_metric = self.of_metric
        facts = name_facts(of_metric.facts, of_metric.watched, of_metric.followed.monitor, self.figure.group)
        end = number_hour(self.figure.until)
        divisor = float(of_metric.followed.era.divisors_at(np.array([end]))[0])
        return tell_figure(self._end_hours(), facts, levels, divisor, self._expect)

    def summarise(self) -> StoredStatement:
        of_metric = self.of_metric
        facts, _ = judge_evidence(self._end_hours(), of_metric.facts)
        judged = judge_figure(facts)
        low, high = judged.interval or (None, None)
        compared = judged.compared
        return StoredStatement(
            state=judged.state,
            gravity=GRAVEST.index(judged.verdict),
            beyond=0.0 if judged.value is None else of_metric.measure_beyond(judged.value),
            value=judged.value,
            lower=low,
            upper=high,
            interval_kind=judged.interval_kind,
            verdict=judged.verdict,
            n=sum(judged.records or ()),
            compared=ComparedGroups(
                reference=of_metric.reference,
                monitored_records=None if compared is None else round(compared.monitored[1]),
                reference_records=None if compared is None else round(compared.reference[1]),
                reference_favourable=None if compared is None else compared.reference[0],
            ),
            lower_limit=facts.lower_limit,
            upper_limit=facts.upper_limit,
        )

    def _end_hours(self) -> EndedHours:
        of_metric = self.of_metric
        era = of_metric.followed.era
        series = self.recent
        return EndedHours(
            followers=self.state.followers,
            limits=of_metric.watched.limits,
            counts=self.state.interval.counts,
            ends=self.state.interval.find_ends(),
            chapter=self.state.chapter,
            recent=series.between(of_metric.first, series.end),
            first=of_metric.first,
            end=number_hour(self.figure.until),
            say=lambda hour: f"{find_hour_start(hour):{DAY}}",
            say_onset=self._say_onset,
            is_some_group=era.open_alarm is not None,
            restarted=self._say_restart(),
            closed_by=self.closed_by,
            corrected=self.corrected,
            paired=self._count_both(),
        )

    def _expect(self, limit: Limit, of_chapter: Hours, progress: EvidenceProgress) -> int | None:
        if isinstance(self.recent, PairSeries):
            end = number_hour(self.figure.until)
            pairs = self.recent.pairs(range(end - len(of_chapter), end))
            return expect_more_paired_hours(limit, pairs, progress)
        return expect_more_hours(limit, of_chapter, progress)

    def _say_onset(self, since: Onset) -> str:
        first = number_hour(self.figure.first_hour)
        onset, earliest, latest = map(find_hour_start, (since.hour, since.earliest, since.latest))
        form = DAY if self.of_metric.followed.era.is_daily else MINUTE
        return say_start(onset, earliest, latest, form, is_first=since.hour == first)

    def _say_restart(self) -> str | None:
        """None if nothing was before."""
        era = self.of_metric.followed.era
        starts_at = self.figure.starts_at
        if starts_at is not None and starts_at != era.starts_at:
            return f"monitor version {self.of_metric.followed.monitor.version} since {starts_at:{DAY}}"
        if era.is_restarted:
            return f"model revision {era.model_revision} since {self.figure.first_hour:{DAY}}"
        return None

    def _count_both(self) -> float | None:
        """Of the newest hour with pairs; None of rates."""
        series = self.recent
        if not isinstance(series, PairSeries):
            return None
        recent = series.kinds[self.of_metric.first - series.first :]
        newest = next((kinds for kinds in reversed(recent) if kinds), ())
        return sum(min(monitored, reference) * count for monitored, reference, count in newest)


def store_figures(
    session: Session,
    followed: FollowedEra,
    figures: Iterable[tuple[KnownFigure, FigureState]],
    counts: CountedHours,
) -> None:
    """Stores states and statements of all present figures, as lists of many deployments read them."""
    by_metric: dict[tuple[CountedPlace, str], list[tuple[KnownFigure, FigureState]]] = defaultdict(list)
    for figure, state in figures:
        by_metric[figure.metric_key].append((figure, state))
    reached = []
    for watched in followed.metrics:
        of_metric = by_metric[watched.key]
        if not of_metric:
            continue
        chapters = select_chapters(followed, of_metric)
        recent = RecentHours(followed, watched, [figure for figure, _ in of_metric], chapters, counts)
        for figure, state in of_metric:
            statement: StoredStatement | UnsetType = UNSET
            if figure.group not in recent.unknown:
                statement = FigureWithHours(recent, figure, state).summarise()
            reached.append(
                ReachedState(
                    no=figure.no,
                    state=state.encode(),
                    summary=summarise(watched, state, statement),
                    until=figure.until,
                    is_stale=figure.is_stale,
                )
            )
    store_states(session, reached)


def _explain_labels(watched: WatchedMetric, counted: CountedHours, span: Span) -> dict[str, str]:
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
    for (role, label), cells in counts.items():
        for side in (reference, LabelCounts.of(cells)) if role == "monitored" else ():
            if not side.allows(metric):
                reasons[label] = side.explain(metric)
    return reasons


def build_unnamed_facts(watched: WatchedMetric, era: Era) -> FigureFacts:
    definition = watched.definition
    by_side = {
        watched.get_direction(limit): watched.compute_own_value(limit.value) for limit in watched.limits
    }
    return FigureFacts(
        group="",
        reference="",
        outcome="",
        rate=RATE_PHRASES.get(definition.metric, FAVOURABLE_RATE),
        is_ratio=definition.scale is Scale.RATIO,
        is_reversed=definition.is_reversed,
        is_counterfactual=definition.is_paired,
        lower_limit=by_side.get(UnfairSide.BELOW),
        upper_limit=by_side.get(UnfairSide.ABOVE),
        verdict=Verdict.NOT_COMPUTABLE,
        evidence=EvidenceState.NONE_YET,
        block="day" if era.is_daily else "hour",
    )


def name_facts(
    facts: FigureFacts, watched: WatchedMetric, monitor: Monitor, group: str | None
) -> FigureFacts:
    names = GroupWords.of(monitor)
    attribute = watched.comparison.label
    reference = watched.comparison.reference_label(monitor)
    group_words = "the monitored groups"
    if group is not None:
        group_words = (
            f"{group_words} of {attribute} together"
            if group == POOLED_GROUP
            else names.subject(attribute, group)
        )
    return replace(
        facts,
        group=group_words,
        reference="all others" if reference is None else names.subject(attribute, reference),
        outcome=names.favourable,
    )
