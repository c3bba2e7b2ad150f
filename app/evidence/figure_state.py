"""State of a figure: followers for its limits, and its interval; figures of a deployment go together."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import chain, pairwise

import msgspec
import numpy as np

from ..base.clock import HOUR
from ..base.values import frozen_arrays
from ..domain.check import Span
from ..domain.monitor import POOLED_GROUP
from ..statistics.e_values.betting import (
    MAX_OLDER_HOURS,
    MIN_RECENT_REFERENCE_RECORDS,
    RATE_HOURS,
    UNSTEADINESS_HOURS,
    HourEstimates,
    estimate_rates,
    measure_unsteadiness,
    weigh_claims,
)
from ..statistics.e_values.confidence import (
    STAKES,
    Kind,
    PairedHours,
    RunningInterval,
    RunningPairedInterval,
    add_hours,
    build_paired_hours,
    weigh_pairs,
)
from ..statistics.e_values.follow import (
    ComparisonFamily,
    FindOnset,
    FollowedComparison,
    Follower,
    WeighedHour,
    find_blocks,
)
from ..statistics.e_values.nulls import Hours, Limit, Scale, SideHours, UnfairSide, join_hours
from ..statistics.e_values.onset import ONSET_HOURS, Onset, find_onset
from ..statistics.group_labels import FloatArray, IntArray
from .queries.hour_counts import Cells
from .watched_figures import RateDefinition, WatchedMetric

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

PAIR_BLOCK = 100


def number_hour(hour: datetime) -> int:
    return (hour - EPOCH) // HOUR


def find_hour_start(number: int) -> datetime:
    return EPOCH + number * HOUR


@cache
def number_month(number: int) -> int:
    start = find_hour_start(number)
    return start.year * 12 + start.month


Older = list[tuple[int, float, float]]
"""Hour, favourable and all records of the reference that the reference rate may still need."""


@frozen_arrays
class RateSeries:
    """Counts of a monitored group and the reference from hour number `first` on. Groups share the `rates` of
    their reference, metrics the `estimates`.
    """

    first: int
    hours: Hours
    rates: dict[object, FloatArray] = field(default_factory=dict)
    estimates: dict[object, HourEstimates] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.first + len(self.hours)

    def look_back(self, older: Older, start: int) -> HourEstimates:
        """Estimates from before each hour."""
        key = (start, *older)
        at = start - self.first
        if key not in self.rates:
            before = [(hour - self.first, favourable, records) for hour, favourable, records in older]
            self.rates[key] = estimate_rates(self.hours.reference, before, at)
        if key not in self.estimates:
            self.estimates[key] = HourEstimates(self.rates[key], measure_unsteadiness(self.hours, at))
        return self.estimates[key]

    def between(self, start: int, end: int) -> Hours:
        """Hours from number `start` to `end`, exclusive."""
        return self.hours.between(start - self.first, end - self.first)


@frozen_arrays
class PairSeries:
    """Kinds of records of a monitored group and the reference from hour number `first` on."""

    first: int
    kinds: Sequence[Sequence[Kind]]

    @property
    def end(self) -> int:
        return self.first + len(self.kinds)

    def pairs(self, hours: Sequence[int]) -> PairedHours:
        return build_paired_hours([self.kinds[hour - self.first] for hour in hours])

    def between(self, start: int, end: int) -> Hours:
        """As if the sides' records were different ones."""
        return self.pairs(range(start, end)).sum_sides()


Series = RateSeries | PairSeries


def read_series(
    definition: RateDefinition, counted: Mapping[datetime, Cells], span: Span, groups: Sequence[str]
) -> list[Series]:
    """Series of each group over the span; hours without counts have zeros."""
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
    # After the groups come all reference groups together, other monitored groups, and records that are left
    # out.
    of_reference = len(groups)
    named = list(zip(labels, roles, strict=True))
    positions = {
        (label, role): of_reference
        if role == "reference"
        else position_of.get(label, of_reference + 1)
        if role == "monitored"
        else of_reference + 2
        for label, role in set(named)
    }
    at_groups = [positions[name] for name in named]
    at_hours = np.repeat(
        [number_hour(hour) - first for hour in counted], [len(cells) for cells in counted.values()]
    )
    at = np.array(at_groups, np.intp) * size + np.asarray(at_hours, np.intp)
    sums: list[FloatArray] = [
        np.asarray(np.bincount(at, numbers[column], (len(groups) + 3) * size), np.float64).reshape(-1, size)
        for column in (definition.part, definition.whole)
    ]
    if POOLED_GROUP in position_of:
        for summed in sums:
            summed[position_of[POOLED_GROUP]] = summed[:of_reference].sum(axis=0) + summed[of_reference + 1]
    SideHours(*map(np.ravel, sums))  # checks all
    sides = [SideHours(favourable, records) for favourable, records in zip(*sums, strict=True)]
    rates: dict[object, FloatArray] = {}
    return [RateSeries(first, Hours(side, sides[of_reference]), rates) for side in sides[:of_reference]]


Interval = RunningInterval | RunningPairedInterval

MAX_BATCH_HOURS = 1_000
"""Hours added to a single interval in one call, or to several together."""

Closed = Mapping[UnfairSide, Collection[int]]
"""Hours before which a person closed an alarm, by the direction of its limit."""

Lookup = Callable[[int, int], Series]

Divisors = Callable[[IntArray], FloatArray]
"""Divisor of ln E of each hour, by what was said of persons."""


@dataclass(slots=True, eq=False)
class FigureState:
    """State of a figure after the hours so far: followers of its limits, and its interval since `chapter`."""

    followers: list[Follower]
    interval: Interval
    chapter: int
    older: Older = field(default_factory=list)

    @classmethod
    def starting(cls, watched: WatchedMetric, hour: int) -> "FigureState":
        # If the limits are close, some alternatives inside one are beyond the other and left out.
        bets = (
            (len(STAKES), len(STAKES)) if watched.definition.is_paired else limit.bet_counts
            for limit in watched.limits
        )
        return cls([Follower.starting(hour, *numbers) for numbers in bets], _begin_interval(watched), hour)

    def find_chapter(self) -> int:
        """The onset while an alarm is open, else the first hour after the last alarm."""
        for follower in self.followers:
            if follower.open_episode is not None:
                return follower.open_episode.since.hour
        return max(follower.chapter for follower in self.followers)

    def restart_interval(self, watched: WatchedMetric) -> None:
        chapter = self.find_chapter()
        if chapter != self.chapter:
            self.chapter = chapter
            self.interval = _begin_interval(watched)

    def encode(self) -> bytes:
        # Evidence that a figure is below a value is 0 for small values, above for large ones: together they
        # are as long as one.
        flat = [np.ascontiguousarray(array, "<f8").ravel() for array in _list_arrays(self.interval)]
        filled = [array.nonzero()[0] for array in flat]
        starts = [int(at[0]) if len(at) else 0 for at in filled]
        trimmed = [
            array[at[0] : at[-1] + 1].tobytes() if len(at) else b""
            for array, at in zip(flat, filled, strict=True)
        ]
        return msgspec.msgpack.encode(_Stored(self.followers, trimmed, self.chapter, starts, self.older))

    @classmethod
    def decode(cls, stored: bytes, watched: WatchedMetric) -> "FigureState":
        decoded = msgspec.msgpack.decode(stored, type=_Stored)
        interval = _begin_interval(watched)
        arrays = _list_arrays(interval)
        for array, trimmed, start in zip(arrays, decoded.interval, decoded.starts, strict=True):
            array.ravel()[start : start + len(trimmed) // array.itemsize] = np.frombuffer(trimmed, "<f8")
        return cls(decoded.followers, interval, decoded.chapter, decoded.older)


def _begin_interval(watched: WatchedMetric) -> Interval:
    return (
        RunningPairedInterval.empty()
        if watched.definition.is_paired
        else RunningInterval.empty(watched.definition.scale)
    )


def _list_arrays(interval: Interval) -> list[FloatArray]:
    return [interval.below, interval.above, interval.counts]


class _Stored(msgspec.Struct, array_like=True):
    followers: list[Follower]
    interval: list[bytes]
    chapter: int
    starts: list[int]
    older: Older


@dataclass(eq=False)
class Course:
    """One figure while hours from `start` to `end` (exclusive) are added; the lookup is of earlier counts.

    `closed` has for each side of the limits the hours before which a person closed an alarm.
    """

    watched: WatchedMetric
    state: FigureState
    series: Series
    lookup: Lookup
    divisors: Divisors
    start: int
    end: int
    closed: Closed = field(default_factory=dict)
    lag: int = 0
    name: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.weighed_to = self.start - 1

    def find(self, limit: Limit) -> FindOnset:
        def find(start: int, end: int, leaves: bool) -> Onset:  # noqa: FBT001 - the form of FindOnset
            first = max(start, end - ONSET_HOURS)
            hours = self._load(first, end)
            if first > start and len(find_blocks(hours)) < ONSET_HOURS:
                first = start
                hours = self._load(start, end)
            onset = find_onset(hours, limit, start=0, end=len(hours), leaves=leaves)
            return Onset(first + onset.hour, first + onset.earliest, first + onset.latest)

        return find

    def comparisons(self) -> list[FollowedComparison]:
        return [
            FollowedComparison(
                follower, self.find(limit), (*self.name, self.watched.get_direction(limit).value), self.lag
            )
            for limit, follower in zip(self.watched.limits, self.state.followers, strict=True)
        ]

    def find_hours(self, start: int, end: int) -> IntArray:
        """Numbers of the hours with records of both groups; `end` is exclusive."""
        start = max(start, self.start)
        return find_blocks(self.series.between(start, max(start, min(end, self.end)))) + start

    def place_closings(self, limit: Limit, hours: IntArray) -> list[int | None]:
        closings = sorted(self.closed.get(limit.direction, ()))
        if not closings:
            return [None] * len(hours)
        counts = np.searchsorted(closings, [self.weighed_to, *hours.tolist()], side="right")
        return [
            closings[after - 1] if after > before else None for before, after in pairwise(counts.tolist())
        ]

    def read_known(self, hours: IntArray) -> tuple[Hours, HourEstimates]:
        """Counts of these hours, and the estimates from before each."""
        assert isinstance(self.series, RateSeries), "counts of rates"  # noqa: S101 - pairs need no rate
        past = self.series.look_back(self.state.older, self.start)
        rows = hours - self.start
        before = HourEstimates(past.reference[rows], past.unsteadiness[rows])
        return self.series.hours.take(hours - self.series.first), before

    def finish(self) -> None:
        """Ends what ends after the last hour so far, without another one."""
        for limit, follower in zip(self.watched.limits, self.state.followers, strict=True):
            closings = [
                hour for hour in self.closed.get(limit.direction, ()) if self.weighed_to < hour <= self.end
            ]
            if closings:
                follower.close(max(closings))
            follower.open_past(self.end - 1)
            follower.end_past(self.end - 1)
            follower.proof.expire(number_month(self.end - 1))
            follower.known_until = follower.known_until if follower.past else 0
        if isinstance(self.series, RateSeries):
            self.state.older = self._keep_older()

    def _keep_older(self) -> Older:
        older: Older = []
        records = 0.0
        reference = self.series.between(self.series.first, self.end).reference
        if reference.records[-UNSTEADINESS_HOURS:].sum() >= MIN_RECENT_REFERENCE_RECORDS:
            return older
        own_hours = [
            (self.series.first + int(at), float(reference.favourable[at]), float(reference.records[at]))
            for at in np.flatnonzero(reference.records)[-MAX_OLDER_HOURS - RATE_HOURS :]
        ]
        for hour, favourable, total in reversed([*self.state.older, *own_hours]):
            if records >= MIN_RECENT_REFERENCE_RECORDS and hour < self.end - RATE_HOURS:
                break
            records += total
            if hour < self.end - UNSTEADINESS_HOURS:
                older.append((hour, favourable, total))
        return older[:MAX_OLDER_HOURS][::-1]

    def extend_interval(self, start: int | None) -> "Extension | None":
        """The interval begins again with a chapter, and if `start` is None."""
        if start is None or self.state.find_chapter() != self.state.chapter:
            self.state.chapter = -1
            self.state.restart_interval(self.watched)
            start = self.state.chapter
        if start >= self.end:
            return None
        if isinstance(self.series, PairSeries):
            assert isinstance(self.state.interval, RunningPairedInterval), "pairs"  # noqa: S101 - made so
            series = self.series if self.series.first <= start else self.lookup(start, self.end)
            assert isinstance(series, PairSeries), "counts of pairs"  # noqa: S101 - made for one another
            for at in range(start, self.end, PAIR_BLOCK):
                numbers = range(at, min(at + PAIR_BLOCK, self.end))
                self.state.interval.add(series.pairs(numbers), self.divisors(np.array(numbers)))
            return None
        hours = self._load(start, self.end)
        (filled,) = (hours.monitored.records + hours.reference.records).nonzero()
        assert isinstance(self.state.interval, RunningInterval), "rates"  # noqa: S101 - made so
        return Extension(self.state.interval, hours.take(filled), self.divisors(start + filled))

    def _load(self, start: int, end: int) -> Hours:
        return (self.series if self.series.first <= start else self.lookup(start, end)).between(start, end)


@frozen_arrays
class Extension:
    """`divisors` are of ln E."""

    interval: RunningInterval
    hours: Hours
    divisors: FloatArray


def extend_together(extensions: Sequence[Extension], keep_alive: Callable[[], object]) -> None:
    """Adds few hours at a time: more would need gigabytes."""
    batch: list[Extension] = []
    size = 0

    def add() -> None:
        keep_alive()
        for scale in Scale:
            alike = [piece for piece in batch if piece.interval.scale is scale]
            add_hours(
                [piece.interval for piece in alike],
                [piece.hours for piece in alike],
                [piece.divisors for piece in alike],
            )
        batch.clear()

    for extension in extensions:
        # A batch has no two pieces of one interval: only the last piece is short.
        for start in range(0, len(extension.hours), MAX_BATCH_HOURS):
            end = start + MAX_BATCH_HOURS
            hours = extension.hours.between(start, end)
            batch.append(Extension(extension.interval, hours, extension.divisors[start:end]))
            size += len(hours)
            if size >= MAX_BATCH_HOURS:
                add()
                size = 0
    add()


MAX_WEIGHED_HOURS = 200
"""Hours for which all figures are weighed at a time."""


def weigh_together(
    courses: Sequence[Course], start: int, end: int
) -> Iterator[tuple[Course, list[list[WeighedHour]]]]:
    """Yields each course with its weighed hours by limit; the courses have one definition and one era."""
    limits = courses[0].watched.limits
    hours = [course.find_hours(start - course.lag, end - course.lag) for course in courses]
    divisor = courses[0].divisors(np.concatenate(hours))
    ends = np.cumsum([len(of_course) for of_course in hours])
    weighed: list[tuple[FloatArray, FloatArray]] = []
    if not ends[-1]:
        pass
    elif courses[0].watched.definition.is_paired:
        pairs = [
            (course.series.pairs(of_course.tolist()), several)
            for course, of_course, several in zip(courses, hours, np.split(divisor, ends[:-1]), strict=True)
            if isinstance(course.series, PairSeries) and len(of_course)
        ]
        for limit in limits:
            logs = [weigh_pairs(of_course, limit, several) for of_course, several in pairs]
            unfair, fair = (np.concatenate(side) for side in zip(*logs, strict=True))
            weighed.append((unfair, fair))
    else:
        known = [
            course.read_known(of_course)
            for course, of_course in zip(courses, hours, strict=True)
            if len(of_course)
        ]
        counts = join_hours([of_course for of_course, _ in known])
        past = HourEstimates(*map(np.concatenate, zip(*(of_course for _, of_course in known), strict=True)))
        weighed = [weigh_claims(counts, limit, past, divisor) for limit in limits]
    for course, of_course, last in zip(courses, hours, ends.tolist(), strict=True):
        rows = slice(last - len(of_course), last)
        numbers = of_course.tolist()
        blocks: list[list[WeighedHour]] = [[] for _ in limits]
        for place, of_limit in enumerate(weighed if numbers else ()):
            columns = (numbers, map(number_month, numbers), *(side[rows].tolist() for side in of_limit))
            closed = course.place_closings(limits[place], of_course)
            blocks[place] = list(map(WeighedHour, *columns, closed))
        yield course, blocks
        course.weighed_to = numbers[-1] if numbers else course.weighed_to


def advance(
    courses: Sequence[Course],
    together: ComparisonFamily,
    totals: Callable[[int], int],
    keep_alive: Callable[[], object],
) -> None:
    """Adds to all figures of a deployment their hours, in the order in which these became known."""
    comparisons = {id(course): course.comparisons() for course in courses}
    everybody = list(chain.from_iterable(comparisons.values()))
    if together.open_alarm is None:
        # Some group's alarm ended with a version of the monitor: its evidence begins again.
        for follower in (comparison.follower for comparison in everybody):
            if follower.is_awaited:
                follower.is_awaited = False
                follower.watching.restart()
    late = [course for course in courses if course.start < course.end]
    alike: dict[object, list[Course]] = defaultdict(list)
    for course in late:
        alike[course.watched.definition, course.watched.limits].append(course)
    first = min((course.start + course.lag for course in late), default=0)
    last = max((course.end + course.lag for course in late), default=0)
    for at in range(first, last, MAX_WEIGHED_HOURS):
        keep_alive()
        by_hour: dict[int, list[tuple[FollowedComparison, WeighedHour]]] = defaultdict(list)
        for several in alike.values():
            for course, weighed in weigh_together(several, at, at + MAX_WEIGHED_HOURS):
                for comparison, blocks in zip(comparisons[id(course)], weighed, strict=True):
                    for block in blocks:
                        by_hour[block.hour + course.lag].append((comparison, block))
        for hour in sorted(by_hour):
            together.add(hour, by_hour[hour], everybody, totals(hour))
    for course in late:
        course.finish()
