"""Life of a comparison over the hours: watched, unfair since, fair again since, shown fair since.

A chapter begins with the first hour, and after each end of an alarm. The comparisons of a deployment share
one budget of false alarms.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...base.values import frozen, frozen_arrays
from ..group_labels import FloatArray, IntArray
from .betting import HourEstimates, weigh_claims
from .confidence import MIN_MONITORED_RECORDS, MIN_REFERENCE_RECORDS
from .nulls import HOURS_OF_A_YEAR, Detector, FairnessProof, Hours, Limit, average_logs
from .onset import Onset, find_onset
from .state_words import EvidenceState

LOG_YEAR = math.log(HOURS_OF_A_YEAR)
"""Logarithm of the evidence that ends an alarm: one false end a year on average."""

FRESH_HOURS = 168
FRESH_BLOCKS = 2
"""Hours and blocks of a new chapter in which the end of the last one is what is said."""

MAX_LOG = 600.0
"""Bound on the logarithms of evidence that is summed, so that the sums are finite."""

MAX_LEADING = 3
"""Comparisons that an alarm of some group names."""

FindOnset = Callable[[int, int, bool], Onset]
"""Finds an onset between two hours, the second excluded: of leaving the limits if the flag is set."""


@frozen
class Episode:
    """Time of unfairness by evidence: hour of the alarm, onset, and ln M at the alarm.

    In the hour `resolved` its end was found, which began at `fair_since`; `closed` is the first hour after a
    person closed it. If corrections raised it, the hours before `found` were known then.
    """

    alarm: int
    since: Onset
    log_evidence: float
    resolved: int | None = None
    fair_since: Onset | None = None
    closed: int | None = None
    found: int | None = None

    @property
    def is_open(self) -> bool:
        return self.resolved is None and self.closed is None


class WeighedHour(NamedTuple):
    """Block: an hour with records of both groups, and ln E of each alternative against either claim.

    Hours and months are counted without gaps. `closed` is the first hour after a person closed the alarm
    since the last block.
    """

    hour: int
    month: int
    unfair: Sequence[float]
    fair: Sequence[float]
    closed: int | None = None


@dataclass(slots=True)
class Follower:
    """Evidence of one comparison at one limit, hour by hour.

    Pass hours of one model revision and one monitor version only, in order.

    `log_threshold` is of the last hour. `is_awaited`: an alarm of some group is open until this comparison is
    back inside. After corrections all hours, the old ones before `known_until`, are followed again, and
    alarms of before (`past`) stay. `is_reached`: the evidence reached its threshold before the next of these;
    if not, it `is_below`.
    """

    watching: Detector
    returning: Detector
    proof: FairnessProof
    chapter: int
    log_threshold: float = math.inf
    episodes: list[Episode] = field(default_factory=list)
    is_awaited: bool = False
    past: list[Episode] = field(default_factory=list)
    known_until: int = 0
    is_reached: bool = False
    is_below: bool = False

    @classmethod
    def starting(cls, hour: int, unfair: int, fair: int) -> "Follower":
        return cls(Detector(unfair), Detector(fair), FairnessProof(fair), hour)

    @property
    def open_episode(self) -> Episode | None:
        return self.episodes[-1] if self.episodes and self.episodes[-1].is_open else None

    @property
    def log_evidence(self) -> float:
        """Ln of the evidence of unfairness, at least 0; while an episode is open, that of its alarm."""
        episode = self.open_episode
        return max(self.watching.log_sum, 0.0) if episode is None else episode.log_evidence

    @property
    def log_fairness(self) -> float:
        """Ln of the evidence against unfairness, at least 0."""
        return max(average_logs(self.proof.products), 0.0)

    def add_block(self, block: WeighedHour, log_threshold: float, find: FindOnset) -> None:
        if block.closed is not None:
            self.close(block.closed)
        self.log_threshold = log_threshold
        episode = self.open_episode
        if episode is None or self.is_below:
            self.watching.add(block.unfair)
            self.is_below = self.is_below and not self.watching.has_alarm(log_threshold)
        if episode is None:
            return
        self.returning.add(block.fair)
        self.end_past(block.hour)
        if self.past or self.open_episode is None:
            return
        if self.returning.has_alarm(LOG_YEAR):
            fair_since = find(episode.since.hour, block.hour + 1, False)
            self._end(replace(episode, resolved=block.hour, fair_since=fair_since), block.hour + 1)

    def open_new(self, hour: int, find: FindOnset) -> None:
        """Begins an episode. After corrections, what was announced before is not announced again."""
        if self.past:
            self.is_reached = True
            return
        onset = find(self.chapter, hour + 1, True)
        corrected_at = self.known_until if hour < self.known_until else None
        self._begin(Episode(hour, onset, self.watching.log_sum, found=corrected_at))

    def open_past(self, hour: int) -> None:
        """Begins the next episode that was announced before corrections, if the hour has reached it."""
        if self.past and self.past[0].alarm <= hour and self.open_episode is None:
            self.is_below = not self.is_reached and not self.watching.has_alarm(self.log_threshold)
            self._begin(replace(self.past[0], resolved=None, fair_since=None, closed=None))
            if self.past[0].is_open:
                del self.past[0]

    def end_past(self, hour: int) -> None:
        """Ends the open episode as it ended before corrections, if the hour has reached that end."""
        if self.past and self.open_episode is not None:
            resolved = self.past[0].resolved
            if self.past[0].alarm <= hour and resolved is not None and resolved <= hour:
                self._end(self.past[0], resolved + 1)

    def _begin(self, episode: Episode) -> None:
        self.episodes.append(episode)
        self.returning.restart()
        self.proof.restart()
        self.is_awaited = self.is_reached = False

    def _end(self, episode: Episode, chapter: int) -> None:
        self.episodes[-1] = episode
        self.past = [earlier for earlier in self.past if earlier.alarm > episode.alarm]
        self.restart(chapter)

    def close(self, hour: int) -> None:
        """Ends the open episode and forgets all evidence; calling twice changes nothing."""
        episode = self.open_episode
        if episode is not None:
            self._end(replace(episode, closed=hour), hour)
        self.restart(hour)
        self.returning.restart()

    def end_some_group(self) -> None:
        """Forgets the evidence that an ended alarm of some group was made of, if no own alarm is open."""
        self.is_awaited = False
        if self.open_episode is None:
            self.watching.restart()

    def restart(self, chapter: int) -> None:
        self.chapter = chapter
        self.is_reached = self.is_below = self.is_awaited = False
        self.watching.restart()
        self.proof.restart()


@frozen_arrays
class FollowedComparison:
    """Comparison with its follower. Hours count `lag` hours late, when they become known."""

    follower: Follower
    find: FindOnset
    name: tuple[str, ...] = ()
    lag: int = 0


ComparisonBlock = tuple[FollowedComparison, WeighedHour]


@dataclass(slots=True)
class SomeGroupAlarm:
    """Alarm that at least one comparison is outside, with the comparisons that are `leading` by ln M.

    `log_evidence` and `log_best` are of the means over all comparisons. In the hour `ended` it ended as `end`
    says: named, resolved, closed or superseded.
    """

    opened: int
    comparisons: int
    log_evidence: float
    log_best: float
    leading: list[tuple[tuple[str, ...], float]]
    ended: int | None = None
    end: str | None = None


@dataclass(slots=True)
class ComparisonFamily:
    """Comparisons that share one budget of false alarms: one in exp(`log_budget`) hours on average.

    The mean of their evidence grows by at most 1 an hour in expectation if all are inside; a comparison is
    named when every mean of it with others is large. Source: Vovk and Wang, closed tests of e-values. `past`
    alarms were announced before corrections.
    """

    log_budget: float
    alarms: list[SomeGroupAlarm] = field(default_factory=list)
    past: list[SomeGroupAlarm] = field(default_factory=list)

    @property
    def open_alarm(self) -> SomeGroupAlarm | None:
        return self.alarms[-1] if self.alarms and self.alarms[-1].ended is None else None

    def add(
        self,
        hour: int,
        blocks: Sequence[ComparisonBlock],
        comparisons: Sequence[FollowedComparison],
        total: int,
    ) -> None:
        """Adds the blocks of an hour. `total` comparisons share the budget, some perhaps without records."""
        level = self.log_budget + math.log(max(total, 1))
        for comparison, block in blocks:
            comparison.follower.add_block(block, level, comparison.find)
        watched = [comparison for comparison in comparisons if comparison.follower.open_episode is None]
        absent = total - len(comparisons)
        is_near = any(max(comparison.follower.watching.sums) >= self.log_budget for comparison in watched)
        named = self._find_named(watched, absent, level) if is_near else []
        for comparison in named:
            comparison.follower.open_new(hour - comparison.lag, comparison.find)
        for comparison, block in blocks:
            follower = comparison.follower
            follower.open_past(block.hour)
            if follower.open_episode is None:
                is_doubted = follower.watching.is_doubtful(level)
                follower.proof.add(block.fair, block.hour, block.month, is_doubted=is_doubted)
        self._watch_some_group(hour, blocks, watched, absent, is_named=bool(named), is_near=is_near)

    def _find_named(
        self, watched: Sequence[FollowedComparison], absent: int, level: float
    ) -> list[FollowedComparison]:
        smallest = find_smallest_means(self._list_logs(watched, absent))
        return [
            comparison
            for comparison, mean in zip(watched, smallest, strict=False)
            if mean >= self.log_budget and comparison.follower.watching.is_doubtful(level)
        ]

    def _list_logs(self, watched: Sequence[FollowedComparison], absent: int) -> FloatArray:
        """Ln M of all comparisons; those without records, last, have the logarithm of 0."""
        logs = [comparison.follower.watching.log_sum for comparison in watched]
        return np.array(logs + [-math.inf] * max(absent, 0))

    def _watch_some_group(
        self,
        hour: int,
        blocks: Sequence[ComparisonBlock],
        watched: Sequence[FollowedComparison],
        absent: int,
        *,
        is_named: bool,
        is_near: bool,
    ) -> None:
        """Ends the open alarm of some group, or opens one; after corrections as before them."""
        if self.open_alarm is not None:
            awaited = [(comparison, block) for comparison, block in blocks if comparison.follower.is_awaited]
            for comparison, block in awaited:
                comparison.follower.returning.add(block.fair)
                comparison.follower.is_awaited = not comparison.follower.returning.has_alarm(LOG_YEAR)
            is_back = bool(awaited) and not any(comparison.follower.is_awaited for comparison in watched)
            if self.past and self.past[0].ended is not None:
                if self.past[0].ended <= hour:
                    self.end_alarm(str(self.past[0].end), self.past[0].ended, watched)
            elif is_named or is_back:
                self.end_alarm("named" if is_named else "resolved", hour, watched)
        elif self.past:
            if self.past[0].opened <= hour:
                self._open(replace(self.past[0], ended=None, end=None), watched)
                if self.past[0].ended is None:
                    del self.past[0]
        elif is_near and not is_named:
            self._open_if_proven(hour, watched, self._list_logs(watched, absent))

    def _open_if_proven(self, hour: int, watched: Sequence[FollowedComparison], logs: FloatArray) -> None:
        bests = [comparison.follower.watching.log_best for comparison in watched]
        mean, best = (float(np.logaddexp.reduce(sums)) - math.log(len(logs)) for sums in (logs, bests))
        if mean >= self.log_budget and best >= self.log_budget / 2:
            named_logs = [
                (comparison.name, float(log))
                for comparison, log in zip(watched, logs, strict=False)
                if log > -math.inf
            ]
            leading = sorted(named_logs, key=lambda named_log: -named_log[1])[:MAX_LEADING]
            self._open(SomeGroupAlarm(hour, len(logs), mean, best, leading), watched)

    def _open(self, alarm: SomeGroupAlarm, watched: Sequence[FollowedComparison]) -> None:
        self.alarms.append(alarm)
        for comparison in watched:
            comparison.follower.is_awaited = True
            comparison.follower.returning.restart()

    def end_alarm(self, end: str, hour: int, watched: Sequence[FollowedComparison]) -> None:
        """Ends the open alarm. Unless it ended because comparisons were named, evidence begins again."""
        self.alarms[-1].ended = hour
        self.alarms[-1].end = end
        self.past = [alarm for alarm in self.past if alarm.opened > self.alarms[-1].opened]
        for comparison in watched:
            if end == "named":
                comparison.follower.is_awaited = False
            else:
                comparison.follower.end_some_group()


@frozen_arrays
class EvidenceSeries:
    """Evidence of one comparison after each hour [H]; in an episode `log_evidence` is the alarm's."""

    follower: Follower
    log_evidence: FloatArray
    log_fairness: FloatArray
    log_threshold: float
    shown_fair: tuple[bool, ...]

    @property
    def episodes(self) -> tuple[Episode, ...]:
        return tuple(self.follower.episodes)

    @property
    def open_episode(self) -> Episode | None:
        return self.follower.open_episode

    @property
    def shown_since(self) -> int | None:
        return self.follower.proof.since


def find_evidence(
    follower: Follower,
    counts: Sequence[float],
    *,
    end: int,
    blocks: int,
    is_restarted: bool,
    is_some_group: bool,
) -> EvidenceState:
    """State of the evidence at one limit before the hour `end`.

    `counts` [4] are favourable and all records, monitored first. `is_restarted`: it is the first chapter,
    after another revision or monitor version.
    """
    last = follower.episodes[-1] if follower.episodes else None
    is_open = last is not None and last.is_open
    if is_open and not follower.is_below:
        return EvidenceState.UNFAIR_SINCE
    is_fresh = end - follower.chapter < FRESH_HOURS or blocks < FRESH_BLOCKS
    if is_fresh and not is_open and follower.proof.since is None and (last is not None or is_restarted):
        if last is None:
            return EvidenceState.SUPERSEDED
        return EvidenceState.CLOSED if last.resolved is None else EvidenceState.RESOLVED
    if is_some_group and not is_open:
        return EvidenceState.SOME_GROUP
    if follower.proof.since is not None:
        return EvidenceState.CONFIRMED_FAIR
    if not any(counts):
        return EvidenceState.NONE_YET
    if counts[1] < MIN_MONITORED_RECORDS or counts[3] < MIN_REFERENCE_RECORDS:
        return EvidenceState.COLLECTING
    return EvidenceState.UNDECIDED


def begin_comparison(
    hours: Hours,
    limit: Limit,
    months: Sequence[int],
    *,
    divisor: FloatArray | float = 1.0,
    name: tuple[str, ...] = (),
    estimates: HourEstimates | None = None,
) -> tuple[FollowedComparison, list[WeighedHour]]:
    """Comparison before its first hour, and its hours with records of both groups, weighed."""

    def find(start: int, end: int, leaves: bool) -> Onset:  # noqa: FBT001 - the form of FindOnset
        return find_onset(hours, limit, start=start, end=end, leaves=leaves)

    unfair, fair = weigh_claims(hours, limit, estimates, divisor)
    blocks = [
        WeighedHour(hour, months[hour], unfair[hour].tolist(), fair[hour].tolist())
        for hour in find_blocks(hours).tolist()
    ]
    return FollowedComparison(Follower.starting(0, *limit.bet_counts), find, name), blocks


def find_blocks(hours: Hours) -> IntArray:
    """Positions of the hours with records of both groups."""
    (blocks,) = ((hours.monitored.records > 0) & (hours.reference.records > 0)).nonzero()
    return blocks


def follow_family(
    family: ComparisonFamily,
    comparisons_with_blocks: Sequence[tuple[FollowedComparison, Sequence[WeighedHour]]],
    months: Sequence[int],
    *,
    total: Callable[[int], int],
    start: int = 0,
) -> list[EvidenceSeries]:
    """Follows all hours from `start` on, whose `months` are given; returns the evidence after each.

    `total` is the number of comparisons that share the budget in an hour.
    """
    comparisons = [comparison for comparison, _ in comparisons_with_blocks]
    by_hour: dict[int, list[ComparisonBlock]] = defaultdict(list)
    for comparison, blocks in comparisons_with_blocks:
        for block in blocks:
            by_hour[block.hour].append((comparison, block))
    evidence, fairness = np.zeros((2, len(comparisons_with_blocks), len(months)))
    shown: list[list[bool]] = [[] for _ in comparisons_with_blocks]
    for position, month in enumerate(months):
        hour = start + position
        open_before = [comparison.follower.open_episode for comparison in comparisons]
        if hour in by_hour:
            family.add(hour, by_hour[hour], comparisons, total(hour))
        for number, follower in enumerate(comparison.follower for comparison in comparisons):
            follower.proof.expire(month)
            # In the hour that ends it an alarm is still what counts.
            is_over = (
                follower.open_episode is None and follower.episodes and follower.episodes[-1].closed is None
            )
            ended = open_before[number] if is_over else None
            evidence[number, position] = follower.log_evidence if ended is None else ended.log_evidence
            fairness[number, position] = follower.log_fairness
            shown[number].append(follower.proof.since is not None)
    level = family.log_budget + math.log(max(total(start + len(months) - 1), 1))
    return [
        EvidenceSeries(comparison.follower, *sums, level, tuple(is_shown))
        for comparison, sums, is_shown in zip(
            comparisons, zip(evidence, fairness, strict=True), shown, strict=True
        )
    ]


def find_smallest_means(logs: FloatArray) -> FloatArray:
    """Logarithm [K] of the smallest mean of each number and any of the others."""
    numbers = np.exp(np.minimum(logs, MAX_LOG))
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    ranks = np.argsort(order)
    sums = np.concatenate([[0.0], np.cumsum(ascending)])
    size = np.arange(len(numbers))
    # Of the smallest others, those from its own place on come one later.
    others = np.where(size > ranks[:, None], sums[size + 1] - numbers[:, None], sums[size])
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(((numbers[:, None] + others) / (size + 1)).min(axis=1)))
