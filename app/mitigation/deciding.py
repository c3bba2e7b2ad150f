"""The debiased outcome of one record, from its own and from what the model said of its reference copies. No model, no database.

Source: spec of the fairness check, section 8. Nothing is random, and only outcomes that the model itself gave are returned.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TypeAlias

from app.domain.mitigation import CutOff, Mode, Profile, Reading
from app.domain.outcomes import Outcome, OutcomeRule

Probability: TypeAlias = "float | tuple[float, ...] | None"
"""As the model answered it: one number, or one for each class."""

ALMOST = 1e-12
"""Shares and means that differ by less are equal: sums of the same parts in another order differ in the last digits."""


@dataclass(frozen=True, slots=True)
class CopyAnswer:
    """The outcome of one reference copy, the probability that came with it, and the share of reference records it stands for.

    `number` is the prediction itself where the model predicts real numbers.
    """

    outcome: Outcome
    probability: Probability
    share: float
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """What is known of the model's way to decide: how its probabilities are read, and its cut-off; None where nobody knows."""

    rule: OutcomeRule
    reading: Reading | None
    cut_off: CutOff | None

    @classmethod
    def of(cls, rule: OutcomeRule, profile: Profile) -> "Judge":
        """What a profile has learnt of it."""
        return cls(rule, profile.reading, profile.cut_off)


def outcome_as_reference(answers: Sequence[CopyAnswer], judge: Judge) -> Outcome | None:
    """What the record's outcome would be with a reference value; None where that cannot be told.

    Copies that agree decide. Where they do not, their mean probability is held against the model's own cut-off; without
    probabilities the outcome of the greater share of copies counts, and a tie tells nothing. Unclassified copies take no part.
    Of real numbers the mean has the outcome.
    """
    known = _weighted([answer for answer in answers if answer.outcome is not Outcome.UNCLASSIFIED])
    outcomes = {answer.outcome for answer in known}
    if len(outcomes) <= 1:
        return next(iter(outcomes), None)
    mean_number = mean_prediction(known)
    if mean_number is not None:
        outcome = judge.rule.classify(mean_number)
        return None if outcome is Outcome.UNCLASSIFIED else outcome
    mean = mean_probability(known)
    decided = None if mean is None else _decided(mean, judge)
    return decided if decided is not None else _majority(known)


def mean_probability(answers: Sequence[CopyAnswer]) -> Probability:
    """The copies' mean probability by share, in the form in which the model gives it; None where one has none, or another form."""
    known = _weighted(answers)
    numbers = [(answer.probability, answer.share) for answer in known if isinstance(answer.probability, int | float)]
    if known and len(numbers) == len(known):
        return _mean(numbers)
    lists = [(answer.probability, answer.share) for answer in known if isinstance(answer.probability, tuple)]
    if not known or len(lists) < len(known) or len({len(numbers_of_one) for numbers_of_one, _ in lists}) > 1:
        return None
    return tuple(_mean([(one[place], share) for one, share in lists]) for place in range(len(lists[0][0])))


def mean_prediction(answers: Sequence[CopyAnswer]) -> float | None:
    """The copies' mean prediction by share, where the model predicts real numbers."""
    known = _weighted(answers)
    numbers = [(answer.number, answer.share) for answer in known if answer.number is not None]
    if not known or len(numbers) < len(known):
        return None
    return _mean(numbers)


def debiased_outcome(own: Outcome, as_reference: Outcome | None, mode: Mode) -> Outcome:
    """The outcome of a monitored record after mitigation by substitution; its own where nothing better is known."""
    if as_reference is None or own is Outcome.UNCLASSIFIED:
        return own
    if mode is Mode.REFERENCE_SUBSTITUTION:
        return as_reference
    return Outcome.FAVOURABLE if Outcome.FAVOURABLE in (own, as_reference) else own


def favourable_score(probability: Probability, reading: Reading | None) -> float | None:
    """The probability of the favourable outcome; None where it cannot be told from what the model answered."""
    if reading is None or probability is None:
        return None
    if isinstance(probability, tuple):
        if reading.form != "list" or max(reading.favourable, default=-1) >= len(probability):
            return None
        # Added one by one, as those of many records are: a threshold is somebody's score, to the last digit.
        return min(1.0, reduce(add, (probability[place] for place in reading.favourable), 0.0))
    if reading.form != "number":
        return None
    return probability if reading.rises else 1 - probability


def _mean(weighed: Sequence[tuple[float, float]]) -> float:
    """The mean of (number, share), never outside the numbers: rounding must not make a probability of more than 1."""
    numbers = [number for number, _ in weighed]
    mean = math.fsum(number * share for number, share in weighed) / math.fsum(share for _, share in weighed)
    return min(max(mean, min(numbers)), max(numbers))


def _decided(mean: Probability, judge: Judge) -> Outcome | None:
    """The outcome of a mean probability, by the model's own way to decide."""
    reading = judge.reading
    if reading is not None and isinstance(mean, tuple) and len(reading.classes) == len(mean):
        # A model of several classes predicts the one with the greatest probability.
        greatest = max(mean)
        places = [place for place, number in enumerate(mean) if greatest - number <= ALMOST]
        found = {judge.rule.classify_text(text) for place in places if (text := reading.classes[place]) is not None}
        clear = len(found) == 1 and all(reading.classes[place] is not None for place in places)
        outcome = found.pop() if clear else Outcome.UNCLASSIFIED
        return None if outcome is Outcome.UNCLASSIFIED else outcome
    score = favourable_score(mean, reading)
    if score is None or judge.cut_off is None:
        return None
    return Outcome.FAVOURABLE if _is_favourable(score, judge.cut_off) else Outcome.UNFAVOURABLE


def _is_favourable(score: float, cut_off: CutOff) -> bool:
    """Whether the model is favourable at that score: above its cut-off, and from the lowest score on at which it was seen to be."""
    was_seen = cut_off.lowest_favourable > cut_off.highest_unfavourable and score >= cut_off.lowest_favourable - ALMOST
    return was_seen or score > cut_off.value + ALMOST


def _majority(known: Sequence[CopyAnswer]) -> Outcome | None:
    favourable = sum(answer.share for answer in known if answer.outcome is Outcome.FAVOURABLE)
    unfavourable = sum(answer.share for answer in known if answer.outcome is Outcome.UNFAVOURABLE)
    if abs(favourable - unfavourable) <= ALMOST:
        return None
    return Outcome.FAVOURABLE if favourable > unfavourable else Outcome.UNFAVOURABLE


def _weighted(answers: Sequence[CopyAnswer]) -> list[CopyAnswer]:
    """The answers that stand for somebody; where none does, all of them alike."""
    weighted = [answer for answer in answers if answer.share > 0]
    return weighted or [replace(answer, share=1.0) for answer in answers]
