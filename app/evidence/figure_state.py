"""State of one figure: followers for its limits, and its interval."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec
import numpy as np

from ..statistics.e_values.confidence import RunningInterval, add_hours
from ..statistics.e_values.follow import FindOnset, Follower, WeighedHour
from ..statistics.e_values.nulls import Limit, UnfairSide
from ..statistics.e_values.onset import ONSET_HOURS, Onset, find_onset
from ..statistics.e_values.paired_bets import STAKES, RunningPairedInterval
from .hour_series import BLOCK, PairSeries, Series, number_month, weigh_series
from .watched_figures import WatchedMetric

Interval: TypeAlias = RunningInterval | RunningPairedInterval

MOST_TOGETHER = 24
"""Max hours added to several intervals in one call; more would need gigabytes."""

LONG_BLOCK = 1_000
"""Hours added to a single interval in one call."""

LogThreshold: TypeAlias = Callable[[int], float]
"""Ln A for the hour of that number."""

Closed: TypeAlias = Mapping[UnfairSide, Collection[int]]
"""Hours before which a person closed an alarm, by the direction of its limit."""

Lookup: TypeAlias = Callable[[int, int], Series]
"""Counts of a figure from one hour to another, exclusive."""


@dataclass(slots=True, eq=False)
class FigureState:
    """State after the hours so far. `chapter` is the first hour of the interval; `followers` has a member for each limit."""

    followers: list[Follower]
    interval: Interval
    chapter: int

    @classmethod
    def starting(cls, watched: WatchedMetric, hour: int) -> "FigureState":
        is_paired = watched.definition.is_paired
        interval: Interval = RunningPairedInterval.empty() if is_paired else RunningInterval.empty(watched.definition.scale)
        # If the limits are close, some alternatives inside one are beyond the other and left out.
        followers = []
        for limit in watched.limits:
            counts = (len(STAKES), len(STAKES)) if is_paired else (limit.bets_outside, limit.bets_inside)
            followers.append(Follower.starting(hour, *counts))
        return cls(followers, interval, hour)

    def begin_chapter(self, watched: WatchedMetric) -> None:
        """Begins the interval again if an alarm on either side, or its end, has begun a chapter."""
        chapter = max(follower.chapter for follower in self.followers)
        if chapter > self.chapter:
            self.chapter = chapter
            is_paired = watched.definition.is_paired
            self.interval = RunningPairedInterval.empty() if is_paired else RunningInterval.empty(watched.definition.scale)

    def encode(self) -> bytes:
        """State as bytes, without rounding."""
        arrays = [self.interval.below, self.interval.above]
        arrays += [self.interval.counts] if isinstance(self.interval, RunningInterval) else []
        # Evidence that a figure is below a value is 0 for small values, above for large ones: together they are as long as one.
        flat = [np.ascontiguousarray(array, "<f8").ravel() for array in arrays]
        filled = [np.flatnonzero(array) for array in flat]
        starts, ends = ([int(at[end]) + offset if len(at) else 0 for at in filled] for end, offset in ((0, 0), (-1, 1)))
        trimmed = [array[start:end].tobytes() for array, start, end in zip(flat, starts, ends, strict=True)]
        return msgspec.msgpack.encode(_Stored(self.followers, trimmed, self.chapter, starts=starts))

    @classmethod
    def decode(cls, stored: bytes, watched: WatchedMetric) -> "FigureState":
        decoded = msgspec.msgpack.decode(stored, type=_Stored)
        is_paired = watched.definition.is_paired
        interval: Interval = RunningPairedInterval.empty() if is_paired else RunningInterval.empty(watched.definition.scale)
        arrays = [interval.below, interval.above]
        arrays += [interval.counts] if isinstance(interval, RunningInterval) else []
        # States of the release before have all numbers.
        for array, trimmed, start in zip(arrays, decoded.interval, decoded.starts or [0] * len(arrays), strict=True):
            array.ravel()[start : start + len(trimmed) // array.itemsize] = np.frombuffer(trimmed, "<f8")
        return cls(decoded.followers, interval, decoded.chapter)


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
    """One figure while hours are added: its state, their counts, and the lookup of earlier ones to find an onset.

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


def weigh_hours(courses: Sequence[Course], limit: Limit, start: int, end: int, log_threshold: LogThreshold) -> list[list[WeighedHour]]:
    """Hours from `start` to `end` (exclusive) as a follower of that limit reads them, for each figure."""
    numbers = range(start, end)
    months, levels = [number_month(hour) for hour in numbers], [log_threshold(hour) for hour in numbers]
    weighed = weigh_series([course.series for course in courses], limit, start, end)
    weighed_hours = []
    for course, (unfair, fair) in zip(courses, weighed, strict=True):
        closed = course.closed.get(limit.direction, ())
        is_closed = [hour in closed for hour in numbers] if closed else [False] * len(numbers)
        weighed_hours.append(list(map(WeighedHour, numbers, months, unfair.tolist(), fair.tolist(), levels, is_closed)))
    return weighed_hours


def advance(courses: Sequence[Course], watched: WatchedMetric, start: int, end: int, log_threshold: LogThreshold) -> None:
    """Adds the hours from `start` to `end` (exclusive) to the states of figures of one metric."""
    for number, limit in enumerate(watched.limits):
        for course, hours in zip(courses, weigh_hours(courses, limit, start, end, log_threshold), strict=True):
            find = course.find(limit)
            follower = course.state.followers[number]
            for hour in hours:
                follower.add(hour, find)
            # A person closed the alarm after the last hour so far.
            if end in course.closed.get(limit.direction, ()):
                follower.close(end)
    for course in courses:
        course.state.begin_chapter(watched)
    _extend_intervals(courses, [max(course.state.chapter, start) for course in courses], end)


def _extend_intervals(courses: Sequence[Course], begins: Sequence[int], end: int) -> None:
    together: list[tuple[RunningInterval, int, Course]] = []
    for course, begin in zip(courses, begins, strict=True):
        interval, series = course.state.interval, course.series
        if isinstance(interval, RunningPairedInterval):
            assert isinstance(series, PairSeries), "counts of pairs"  # noqa: S101 - made for one another
            for at in range(begin, end, BLOCK):
                interval.add(series.pairs(at, min(at + BLOCK, end)))
        elif end - begin <= MOST_TOGETHER:
            together.append((interval, begin, course))
        else:
            for at in range(begin, end, LONG_BLOCK):
                add_hours([interval], [series.between(at, min(at + LONG_BLOCK, end))])
    add_hours([interval for interval, _, _ in together], [course.series.between(begin, end) for _, begin, course in together])
