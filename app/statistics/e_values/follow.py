"""Life of a comparison over the hours: watched, unfair since, fair again since, shown fair since.

A chapter begins with the first hour, and after each end of an alarm.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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


@frozen_arrays
class FollowedComparison:
    """Comparison with its follower. Hours count `lag` hours late, when they become known."""

    follower: Follower
    find: FindOnset
    name: tuple[str, ...] = ()
    lag: int = 0


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
