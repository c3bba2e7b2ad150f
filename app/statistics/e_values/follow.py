"""Life of a comparison over the hours: watched, unfair since, fair again since, shown fair since.

A chapter begins with the first hour, after each alarm, and after each end of an alarm.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...base.frozen import frozen, frozen_arrays
from .betting import Past, weigh_claims
from .change_detector import HOURS_OF_A_YEAR, Detector
from .nulls import FloatArray, Hours, Limit
from .onset import Onset, find_onset
from .proof_of_fairness import FairnessProof

_LOG_YEAR = math.log(HOURS_OF_A_YEAR)


@frozen
class Episode:
    """One time of unfairness: hour of the alarm, onset, and ln Q at the alarm.

    `resolved` is the hour in which its end was found, `fair_since` its onset; None while open. `closed` is
    the first hour after a person closed it.
    """

    alarm: int
    since: Onset
    log_evidence: float
    resolved: int | None = None
    fair_since: Onset | None = None
    closed: int | None = None

    @property
    def is_open(self) -> bool:
        return self.resolved is None and self.closed is None


@frozen_arrays
class Followed:
    """Comparison followed over its hours.

    `log_evidence` [H] is ln Q, at least 0, while an episode is open that of its alarm; `log_fairness` [H]
    against unfairness, at least 0; `log_threshold` ln A of the alarm. `shown_since` is the hour since
    which it is shown fair at the end; else None. `open_episode` and `chapter` are those at the end.
    """

    episodes: tuple[Episode, ...]
    log_evidence: FloatArray
    log_fairness: FloatArray
    log_threshold: float
    shown_fair: tuple[bool, ...]
    shown_since: int | None
    open_episode: Episode | None
    chapter: int


FindOnset = Callable[[int, int, bool], Onset]
"""Finds the onset between two hours, the second excluded; the flag says whether the figure left its limits
or came back.
"""


class WeighedHour(NamedTuple):
    """One hour: number, calendar month counted without gaps, ln E of each alternative against either claim
    (NaN if skipped), ln A.

    `is_closed`: a person closed the alarm between the hour before and this one.
    """

    hour: int
    month: int
    unfair: Sequence[float]
    fair: Sequence[float]
    log_threshold: float
    is_closed: bool = False


@dataclass(slots=True)
class Follower:
    """State of a comparison. Pass hours of one model revision and one monitor version only, in order.

    `chapter` is the first hour of the present chapter, `log_threshold` ln A of the last hour.
    """

    watching: Detector
    returning: Detector
    proof: FairnessProof
    chapter: int
    log_threshold: float = math.inf
    episodes: list[Episode] = field(default_factory=list)

    @classmethod
    def starting(cls, hour: int, unfair: int, fair: int) -> "Follower":
        return cls(Detector(unfair), Detector(fair), FairnessProof(fair), hour)

    @property
    def open_episode(self) -> Episode | None:
        return self.episodes[-1] if self.episodes and self.episodes[-1].is_open else None

    @property
    def log_evidence(self) -> float:
        """Ln of the evidence of unfairness, at least 0; while an episode is open, that of its alarm."""
        opened = self.open_episode
        return max(self.watching.log_best, 0.0) if opened is None else opened.log_evidence

    @property
    def log_fairness(self) -> float:
        """Ln of the evidence against unfairness, at least 0."""
        return max(self.proof.log_product, 0.0)

    def add(self, weighed: WeighedHour, find: FindOnset) -> None:
        if weighed.is_closed:
            self.close(weighed.hour)
        hour, self.log_threshold = weighed.hour, weighed.log_threshold
        opened = self.open_episode
        if opened is not None:
            self.returning.add(weighed.fair)
            if self.returning.alarms(_LOG_YEAR):
                self.episodes[-1] = replace(
                    opened, resolved=hour, fair_since=find(opened.since.hour, hour + 1, False)
                )
                self.chapter = hour + 1
                self.watching.restart()
                self.proof.restart()
            return
        # This detector gets no hours while an episode is open, and starts from nothing at its end.
        self.watching.add(weighed.unfair)
        if self.watching.alarms(weighed.log_threshold):
            self.episodes.append(Episode(hour, find(self.chapter, hour + 1, True), self.watching.log_best))
            self.chapter = hour + 1
            self.returning.restart()
            self.proof.restart()
        else:
            self.proof.add(
                weighed.fair, hour, weighed.month, is_doubted=self.watching.is_doubtful(weighed.log_threshold)
            )

    def close(self, hour: int) -> None:
        """Ends the open episode and forgets all evidence before the hour; calling twice changes nothing."""
        opened = self.open_episode
        if opened is not None:
            self.episodes[-1] = replace(opened, closed=hour)
        self.chapter = hour
        self.watching.restart()
        self.returning.restart()
        self.proof.restart()


def follow(
    hours: Hours,
    limit: Limit,
    *,
    comparisons: int,
    months: Sequence[int],
    past: Past | None = None,
    budget_hours: float = HOURS_OF_A_YEAR,
) -> Followed:
    """Follows a comparison over hours of one model revision and one monitor version.

    `comparisons` share the budget of false alarms, a figure with two limits counting as two: at most one
    in `budget_hours` on average. `months` are calendar months per hour, counted without gaps: evidence
    against unfairness starts again in each. `past` may reach back before the first hour; absent: that of
    `hours`.
    """
    log_threshold = math.log(budget_hours * comparisons)
    unfair, fair = weigh_claims(hours, limit, past)
    follower = Follower.starting(0, unfair.shape[1], fair.shape[1])
    follower.log_threshold = log_threshold
    weighed = [
        WeighedHour(hour, months[hour], against, for_it, log_threshold)
        for hour, (against, for_it) in enumerate(zip(unfair.tolist(), fair.tolist(), strict=True))
    ]
    return record_life(
        follower,
        weighed,
        lambda start, end, leaves: find_onset(hours, limit, start=start, end=end, leaves=leaves),
    )


def record_life(follower: Follower, weighed: Sequence[WeighedHour], find: FindOnset) -> Followed:
    """Adds the hours to the follower; evidence after each."""
    (log_evidence, log_fairness), shown = np.zeros((2, len(weighed))), []
    for index, hour in enumerate(weighed):
        is_open = follower.open_episode is not None and not hour.is_closed
        follower.add(hour, find)
        log_evidence[index] = follower.episodes[-1].log_evidence if is_open else follower.log_evidence
        log_fairness[index] = follower.log_fairness
        shown.append(follower.proof.since is not None)
    return Followed(
        tuple(follower.episodes),
        log_evidence,
        log_fairness,
        follower.log_threshold,
        tuple(shown),
        follower.proof.since,
        follower.open_episode,
        follower.chapter,
    )
