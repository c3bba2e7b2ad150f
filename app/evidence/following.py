"""Life of a comparison over the hours: watched, unfair since, fair again since, shown fair since.

A chapter is the time between two turns: it begins with the first hour, after each alarm, and after each end of an alarm.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .betting import weigh_against_fairness, weigh_against_unfairness
from .detector import HOURS_OF_A_YEAR, Detector, log_mean
from .hours import FloatArray, Hours
from .nulls import Limit
from .onset import Onset, find_onset

SHOWN_FAIR = 20.0
"""Min evidence (a factor, not a logarithm) against unfairness for a comparison to be shown fair."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One time of unfairness: the hour of the alarm, the onset, and ln of the evidence (ln Q of the detector) at the alarm.

    `resolved` is the hour in which its end was found, `fair_since` the onset of that end; both are None while the episode is open.
    """

    alarm: int
    since: Onset
    log_evidence: float
    resolved: int | None = None
    fair_since: Onset | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Result of following one comparison from its first hour to its last.

    `log_evidence` [H] is ln of the evidence of unfairness after each hour (ln Q of the detector), at least 0; while an episode is open it
    stays at the evidence of its alarm. `log_fairness` [H] is ln of the evidence against unfairness, at least 0. `log_threshold` is ln A
    of the alarm. `shown_fair` [H] says whether the hour ends with the comparison shown fair, `shown_since` since when it is after the
    last hour; None if it is not.
    """

    episodes: tuple[Episode, ...]
    log_evidence: FloatArray
    log_fairness: FloatArray
    log_threshold: float
    shown_fair: tuple[bool, ...]
    shown_since: int | None

    @property
    def open_episode(self) -> Episode | None:
        """The episode that has not ended; None if there is none."""
        return self.episodes[-1] if self.episodes and self.episodes[-1].resolved is None else None

    @property
    def chapter(self) -> int:
        """The first hour of the present chapter: the one after the last alarm, or after the end of that alarm."""
        if not self.episodes:
            return 0
        last = self.episodes[-1]
        return (last.alarm if last.resolved is None else last.resolved) + 1


def follow(hours: Hours, limit: Limit, *, comparisons: int, months: Sequence[int], budget_hours: float = HOURS_OF_A_YEAR) -> Followed:
    """Follows a comparison over its hours. Pass hours of one model revision and one monitor version only.

    Args:
        hours: Its hours.
        limit: The limit that is watched.
        comparisons: Comparisons that share the budget of false alarms; a figure with two limits counts as two.
        months: For each hour the number of its calendar month, counted without gaps: the next month is 1 more. Evidence against
            unfairness starts again each month.
        budget_hours: Hours in which all comparisons together raise at most one false alarm on average.
    """
    threshold = budget_hours * comparisons
    unfair, fair = (evidence.tolist() for evidence in (weigh_against_fairness(hours, limit), weigh_against_unfairness(hours, limit)))
    watching = Detector(len(unfair[0]) if unfair else 1)
    returning = Detector(len(fair[0]) if fair else 1)
    fairness = _Fairness(returning.alternatives)
    episodes: list[Episode] = []
    chapter, is_open = 0, False
    log_evidence, log_fairness, shown = np.zeros(len(hours)), np.zeros(len(hours)), []
    for hour in range(len(hours)):
        if is_open:
            returning.add(fair[hour])
            log_evidence[hour] = episodes[-1].log_evidence
            if returning.alarms(HOURS_OF_A_YEAR):
                back = find_onset(hours, limit, start=episodes[-1].since.hour, end=hour + 1, leaves=False)
                episodes[-1] = Episode(episodes[-1].alarm, episodes[-1].since, episodes[-1].log_evidence, hour, back)
                chapter, is_open = hour + 1, False
                watching.restart()
                fairness.restart()
        else:
            # While an alert is open its detector rests; it starts again from 0.
            watching.add(unfair[hour])
            log_evidence[hour] = max(watching.log_best, 0.0)
            if watching.alarms(threshold):
                since = find_onset(hours, limit, start=chapter, end=hour + 1, leaves=True)
                episodes.append(Episode(hour, since, watching.log_best))
                chapter, is_open = hour + 1, True
                returning.restart()
                fairness.restart()
            else:
                fairness.add(fair[hour], hour, months[hour], is_doubted=watching.log_best >= math.log(threshold) / 2)
        log_fairness[hour] = max(fairness.log_product, 0.0)
        shown.append(fairness.since is not None)
    return Followed(tuple(episodes), log_evidence, log_fairness, math.log(threshold), tuple(shown), fairness.since)


class _Fairness:
    """Product of the e-values against unfairness since the start of the month or chapter, and whether it has been enough.

    The product starts again only with a month or a chapter. Starting it again whenever there is some evidence of unfairness would give
    it further chances to be wrong: at the limit itself twice as many months would be called fair.
    """

    def __init__(self, alternatives: int) -> None:
        self._alternatives = alternatives
        self._month: int | None = None
        self.restart()

    def restart(self) -> None:
        """Forgets what was shown."""
        self._products = [0.0] * self._alternatives
        self._start: int | None = None
        self._shown: tuple[int, int] | None = None

    @property
    def log_product(self) -> float:
        """Ln of the mean product of the alternatives."""
        return log_mean(self._products)

    @property
    def since(self) -> int | None:
        """The first hour of the evidence that showed the comparison fair; None if it is not shown fair now."""
        return None if self._shown is None else self._shown[0]

    def add(self, log_e_values: Sequence[float], hour: int, month: int, *, is_doubted: bool) -> None:
        """Adds an hour. The comparison stops being shown fair when `is_doubted`, or after the whole month that follows the last proof.

        `is_doubted` says that there is some evidence of unfairness. While it holds, nothing is shown, but the product goes on.
        """
        if month != self._month:
            self._month, self._start = month, None
            self._products = [0.0] * self._alternatives
        if self._shown is not None and (is_doubted or month > self._shown[1] + 1):
            self._shown = None
        self._start = hour if self._start is None else self._start
        self._products = [
            product + (0.0 if math.isnan(log_e) else log_e) for product, log_e in zip(self._products, log_e_values, strict=True)
        ]
        if self.log_product >= math.log(SHOWN_FAIR) and not is_doubted:
            self._shown = (self._start if self._shown is None else self._shown[0], month)
