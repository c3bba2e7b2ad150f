"""Comparisons of a deployment, which share one budget of false alarms, over the hours."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...base.values import frozen_arrays
from ..group_labels import FloatArray
from .follow import LOG_YEAR, Episode, FollowedComparison, Follower, WeighedHour

MAX_LOG = 600.0
"""Bound on the logarithms of evidence that is summed, so that the sums are finite."""

ComparisonBlock = tuple[FollowedComparison, WeighedHour]

MAX_LEADING = 3
"""Comparisons that an alarm of some group names."""


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
