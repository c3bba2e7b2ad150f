"""State of one figure: followers for its limits, and its interval."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, repeat

import msgspec
import numpy as np

from ..base.clock import HOUR
from ..base.frozen import frozen_arrays
from ..domain.check import Span
from ..statistics.e_values.betting import Past, look_back, weigh_claims
from ..statistics.e_values.confidence import RunningInterval, add_hours
from ..statistics.e_values.follow import FindOnset, Follower, WeighedHour
from ..statistics.e_values.nulls import FloatArray, Hours, Limit, Side, UnfairSide, join_hours
from ..statistics.e_values.onset import ONSET_HOURS, Onset, find_onset
from ..statistics.e_values.paired_bets import (
    STAKES,
    Kind,
    PairedHours,
    RunningPairedInterval,
    pair_hours,
    weigh_pairs,
)
from .queries.hour_counts import Cells
from .watched_figures import RateDefinition, WatchedMetric

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

BLOCK = 100
"""Hours of pairs weighed together."""


def number_hour(hour: datetime) -> int:
    """Number of an hour since 1970."""
    return (hour - EPOCH) // HOUR


def find_hour_start(number: int) -> datetime:
    return EPOCH + number * HOUR


def number_month(number: int) -> int:
    """Number of an hour's calendar month, without gaps."""
    start = find_hour_start(number)
    return start.year * 12 + start.month


@dataclass(frozen=True, eq=False)
class RateSeries:
    """Counts of a monitored group and the reference from the hour of number `first` on."""

    first: int
    hours: Hours

    @cached_property
    def past(self) -> Past:
        return look_back(self.hours)

    def between(self, start: int, end: int) -> Hours:
        """Hours from number `start` to `end`, exclusive."""
        return self.hours.between(start - self.first, end - self.first)


@frozen_arrays
class PairSeries:
    """Kinds of records of a monitored group and the reference from the hour of number `first` on."""

    first: int
    kinds: Sequence[Sequence[Kind]]

    def pairs(self, start: int, end: int) -> PairedHours:
        """Hours from number `start` to `end`, exclusive."""
        return pair_hours(self.kinds[start - self.first : end - self.first])

    def between(self, start: int, end: int) -> Hours:
        """Sums of outcomes of these hours, as if the sides' records were different ones."""
        return self.pairs(start, end).sums()

    def weigh(self, limit: Limit, start: int, end: int) -> tuple[FloatArray, FloatArray]:
        blocks = [weigh_pairs(self.pairs(at, min(at + BLOCK, end)), limit) for at in range(start, end, BLOCK)]
        unfair, fair = (np.concatenate(logs) for logs in zip(*blocks, strict=True))
        return unfair, fair


Series = RateSeries | PairSeries


def read_series(
    definition: RateDefinition, counted: Mapping[datetime, Cells], span: Span, groups: Sequence[str]
) -> list[Series]:
    """Series of these groups over the span; hours without counts have zeros."""
    first = number_hour(span.start)
    size = (span.end - span.start) // HOUR
    position_of = {group: position for position, group in enumerate(groups)}
    if definition.is_paired:
        kinds: list[list[Sequence[Kind]]] = [[()] * size for _ in groups]
        for hour, cells in counted.items():
            for label, role, pairs, *_ in cells:
                if role == "monitored" and label in position_of:
                    kinds[position_of[label]][number_hour(hour) - first] = [
                        (pair[0], pair[1], pair[2]) for pair in pairs
                    ]
        return [PairSeries(first, of_group) for of_group in kinds]
    columns = list(zip(*chain.from_iterable(counted.values()), strict=True))
    labels, roles, *numbers = columns or [()] * (2 + max(definition.part, definition.whole) + 1)
    # The last place but one is that of all reference groups together, the last one that of all others.
    of_reference = len(groups)
    of_others = len(groups) + 1
    positions = map(position_of.get, labels, repeat(of_others))
    # Other roles are those of records that are left out.
    at_groups = [
        {"reference": of_reference, "monitored": position}.get(role, of_others)
        for role, position in zip(roles, positions, strict=True)
    ]
    at_hours = np.repeat(
        [number_hour(hour) - first for hour in counted], [len(cells) for cells in counted.values()]
    )
    at = np.array(at_groups, np.intp) * size + np.asarray(at_hours, np.intp)
    summands = (numbers[definition.part], numbers[definition.whole])
    sums = [np.bincount(at, column, (len(groups) + 2) * size).reshape(-1, size)[:-1] for column in summands]
    *monitored, reference = [Side(favourable, records) for favourable, records in zip(*sums, strict=True)]
    return [RateSeries(first, Hours(side, reference)) for side in monitored]


def weigh_series(
    several: Sequence[Series], limit: Limit, start: int, end: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Ln E [H, A] from `start` to `end` (exclusive) against fairness and against unfairness, for each series.

    Series of rates must begin `UNSTEADINESS_HOURS` before `start`, or with the first hour that counts.
    """
    rates = [series for series in several if isinstance(series, RateSeries)]
    if not rates:
        return [series.weigh(limit, start, end) for series in several if isinstance(series, PairSeries)]
    hours = join_hours([rate.between(start, end) for rate in rates])
    pasts = ([column[start - rate.first : end - rate.first] for column in rate.past] for rate in rates)
    weighed = weigh_claims(hours, limit, Past(*map(np.concatenate, zip(*pasts, strict=True))))
    return list(zip(*(np.split(logs, len(rates)) for logs in weighed), strict=True))


Interval = RunningInterval | RunningPairedInterval

MOST_TOGETHER = 24
"""Max hours added to several intervals in one call; more would need gigabytes."""

LONG_BLOCK = 1_000
"""Hours added to a single interval in one call."""

LogThreshold = Callable[[int], float]
"""Ln A for the hour of that number."""

Closed = Mapping[UnfairSide, Collection[int]]
"""Hours before which a person closed an alarm, by the direction of its limit."""

Lookup = Callable[[int, int], Series]
"""Counts of a figure from one hour to another, exclusive."""


@dataclass(slots=True, eq=False)
class FigureState:
    """State after the hours so far. `chapter` is the first hour of the interval; `followers` has a member
    for each limit.
    """

    followers: list[Follower]
    interval: Interval
    chapter: int

    @classmethod
    def starting(cls, watched: WatchedMetric, hour: int) -> "FigureState":
        # If the limits are close, some alternatives inside one are beyond the other and left out.
        bets = (
            (len(STAKES), len(STAKES)) if watched.definition.is_paired else limit.bets
            for limit in watched.limits
        )
        return cls([Follower.starting(hour, *numbers) for numbers in bets], _begin_interval(watched), hour)

    def begin_chapter(self, watched: WatchedMetric) -> None:
        """Begins the interval again if an alarm on either side, or its end, has begun a chapter."""
        chapter = max(follower.chapter for follower in self.followers)
        if chapter > self.chapter:
            self.chapter, self.interval = chapter, _begin_interval(watched)

    def encode(self) -> bytes:
        """State as bytes, without rounding."""
        # Evidence that a figure is below a value is 0 for small values, above for large ones: together they
        # are as long as one.
        flat = [np.ascontiguousarray(array, "<f8").ravel() for array in _list_arrays(self.interval)]
        filled = [np.flatnonzero(array) for array in flat]
        starts, ends = (
            [int(at[end]) + offset if len(at) else 0 for at in filled] for end, offset in ((0, 0), (-1, 1))
        )
        trimmed = [array[start:end].tobytes() for array, start, end in zip(flat, starts, ends, strict=True)]
        return msgspec.msgpack.encode(_Stored(self.followers, trimmed, self.chapter, starts=starts))

    @classmethod
    def decode(cls, stored: bytes, watched: WatchedMetric) -> "FigureState":
        decoded = msgspec.msgpack.decode(stored, type=_Stored)
        interval = _begin_interval(watched)
        arrays = _list_arrays(interval)
        # States of the release before have all numbers.
        for array, trimmed, start in zip(
            arrays, decoded.interval, decoded.starts or [0] * len(arrays), strict=True
        ):
            array.ravel()[start : start + len(trimmed) // array.itemsize] = np.frombuffer(trimmed, "<f8")
        return cls(decoded.followers, interval, decoded.chapter)


def _begin_interval(watched: WatchedMetric) -> Interval:
    return (
        RunningPairedInterval.empty()
        if watched.definition.is_paired
        else RunningInterval.empty(watched.definition.scale)
    )


def _list_arrays(interval: Interval) -> list[FloatArray]:
    return [
        interval.below,
        interval.above,
        *([interval.counts] if isinstance(interval, RunningInterval) else []),
    ]


class _Stored(msgspec.Struct, array_like=True):
    followers: list[Follower]
    interval: list[bytes]
    chapter: int
    monthly: list[object] = []
    """Empty: the place of a second detector of each month in states of 0.1."""
    starts: list[int] = []
    """Where each part of the interval begins; what is left out is 0."""


@dataclass(slots=True, eq=False)
class Course:
    """One figure while hours are added: its state, their counts, and the lookup of earlier ones to find an
    onset.

    `closed` has for each side of the limits the hours before which a person closed an alarm.
    """

    state: FigureState
    series: Series
    lookup: Lookup
    closed: Closed = field(default_factory=dict)

    def find(self, limit: Limit) -> FindOnset:
        def find(start: int, end: int, leaves: bool) -> Onset:  # noqa: FBT001 - the form of FindOnset
            first = max(start, end - ONSET_HOURS)
            series = self.series if self.series.first <= first else self.lookup(first, end)
            onset = find_onset(series.between(first, end), limit, start=0, end=end - first, leaves=leaves)
            return Onset(first + onset.hour, first + onset.earliest, first + onset.latest)

        return find


def weigh_hours(
    courses: Sequence[Course], limit: Limit, start: int, end: int, log_threshold: LogThreshold
) -> list[list[WeighedHour]]:
    """Hours from `start` to `end` (exclusive) as a follower of that limit reads them, for each figure."""
    numbers = range(start, end)
    months = [number_month(hour) for hour in numbers]
    levels = [log_threshold(hour) for hour in numbers]
    weighed = weigh_series([course.series for course in courses], limit, start, end)
    weighed_hours = []
    for course, (unfair, fair) in zip(courses, weighed, strict=True):
        closed = course.closed.get(limit.direction, ())
        is_closed = [hour in closed for hour in numbers]
        weighed_hours.append(
            list(map(WeighedHour, numbers, months, unfair.tolist(), fair.tolist(), levels, is_closed))
        )
    return weighed_hours


def advance(
    courses: Sequence[Course], watched: WatchedMetric, start: int, end: int, log_threshold: LogThreshold
) -> None:
    """Adds the hours from `start` to `end` (exclusive) to the states of figures of one metric."""
    for number, limit in enumerate(watched.limits):
        for course, hours in zip(
            courses, weigh_hours(courses, limit, start, end, log_threshold), strict=True
        ):
            find = course.find(limit)
            follower = course.state.followers[number]
            for hour in hours:
                follower.add(hour, find)
            # A person closed the alarm after the last hour so far.
            if end in course.closed.get(limit.direction, ()):
                follower.close(end)
    for course in courses:
        course.state.begin_chapter(watched)
    together: list[tuple[RunningInterval, Hours]] = []
    for course in courses:
        interval = course.state.interval
        series = course.series
        begin = max(course.state.chapter, start)
        if isinstance(interval, RunningPairedInterval):
            assert isinstance(series, PairSeries), "counts of pairs"  # noqa: S101 - made for one another
            for at in range(begin, end, BLOCK):
                interval.add(series.pairs(at, min(at + BLOCK, end)))
        elif end - begin <= MOST_TOGETHER:
            together.append((interval, series.between(begin, end)))
        else:
            for at in range(begin, end, LONG_BLOCK):
                add_hours([interval], [series.between(at, min(at + LONG_BLOCK, end))])
    add_hours([interval for interval, _ in together], [hours for _, hours in together])
