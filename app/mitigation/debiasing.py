"""What mitigation makes of one live record: its debiased answer, whether it changed, by which attributes, or why it did not.

No model, no database, no labels. The rules of outcomes are in `deciding.py`; here answers are chosen that carry them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.mitigation import Mode, Profile
from app.domain.outcomes import Outcome
from app.domain.records import Prediction
from app.domain.values import Scalar, canonical, number_of
from app.mitigation.copies import CopySet, Substitution
from app.mitigation.deciding import (
    ALMOST,
    CopyAnswer,
    Judge,
    debiased_outcome,
    favourable_score,
    mean_prediction,
    mean_probability,
    outcome_as_reference,
)
from app.mitigation.thresholds import MET


class Debiasing(StrEnum):
    """What became of a record."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_NEEDED = "not_needed"
    REFERENCE = "reference"
    IN_NO_GROUP = "in_no_group"
    UNCLASSIFIED = "unclassified"
    UNDECIDED = "undecided"
    NOT_SCORED = "not_scored"
    NOT_CHOSEN = "not_chosen"


@dataclass(frozen=True, slots=True)
class Debiased:
    """The answer after mitigation, and how it came about."""

    answer: Prediction
    debiasing: Debiasing
    changed_by: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether it has another outcome than the model's own answer."""
        return self.debiasing is Debiasing.CHANGED


@dataclass(frozen=True, slots=True)
class Decider:
    """How the answers of one deployment are judged. `predicts_numbers` says that it is a regression."""

    judge: Judge
    mode: Mode
    predicts_numbers: bool
    classify: Callable[[Scalar], Outcome]

    def substituted(self, own: Prediction, outcome: Outcome, copies: CopySet, answers: Sequence[Prediction]) -> Debiased:
        """The record after substitution; `answers` are to its copies, in their order."""
        together = answers[: len(copies.together)]
        known = self._known(copies.together, together)
        as_reference = outcome_as_reference([answer for answer, _ in known], self.judge)
        if as_reference is None:
            return Debiased(own, Debiasing.UNDECIDED)
        after = debiased_outcome(outcome, as_reference, self.mode)
        if after is outcome and self.mode is Mode.LIFT_ONLY:
            return Debiased(own, Debiasing.UNCHANGED)
        answer = self._answer_of(known, after)
        if answer is None:
            return Debiased(own, Debiasing.UNDECIDED)
        if after is outcome:
            return Debiased(answer, Debiasing.UNCHANGED)
        return Debiased(answer, Debiasing.CHANGED, self._changed_by(outcome, copies, answers))

    def _known(self, substitutions: Sequence[Substitution], answers: Sequence[Prediction]) -> list[tuple[CopyAnswer, Prediction]]:
        """The classified answers, weighed."""
        found = []
        for substitution, answer in zip(substitutions, answers, strict=True):
            outcome = self.classify(answer.outcome_value)
            number = number_of(answer.prediction) if self.predicts_numbers else None
            if outcome is not Outcome.UNCLASSIFIED:
                found.append((CopyAnswer(outcome, answer.probability, substitution.share, number), answer))
        return found

    def _answer_of(self, known: Sequence[tuple[CopyAnswer, Prediction]], outcome: Outcome) -> Prediction | None:
        """What the copies answer together, with that outcome; None where no number of theirs has it."""
        probability = mean_probability([answer for answer, _ in known])
        if self.predicts_numbers:
            mean = mean_prediction([answer for answer, _ in known])
            has_outcome = mean is not None and self.classify(mean) is outcome
            return Prediction(mean, probability) if mean is not None and has_outcome else None
        most = _most_frequent([(answer.share, prediction) for answer, prediction in known if answer.outcome is outcome])
        return Prediction(most.prediction, probability, most.label)

    def _changed_by(self, outcome: Outcome, copies: CopySet, answers: Sequence[Prediction]) -> tuple[str, ...]:
        """The attributes that change the outcome by themselves; where none does, all of them together do."""
        found, start = [], len(copies.together)
        for attribute, substitutions in copies.alone:
            known = self._known(substitutions, answers[start : start + len(substitutions)])
            as_reference = outcome_as_reference([answer for answer, _ in known], self.judge)
            if debiased_outcome(outcome, as_reference, self.mode) is not outcome:
                found.append(attribute)
            start += len(substitutions)
        return tuple(found) or copies.attributes


def held_to_thresholds(own: Prediction, groups: Sequence[tuple[str, str]], profile: Profile) -> Debiased:
    """An unfavourable record in parity mode; `groups` are the attributes of which it is in a monitored group, and which.

    Groups of which nothing could be learnt take no part. A group that meets its goal as it is has no threshold and needs none.
    """
    thresholds, is_met = _thresholds_of(groups, profile)
    if is_met and not thresholds:
        return Debiased(own, Debiasing.UNCHANGED)
    score = favourable_score(own.probability, profile.reading)
    if score is None or not thresholds or profile.favourable is None:
        return Debiased(own, Debiasing.UNDECIDED)
    reached = tuple(attribute for attribute, threshold in thresholds if score >= threshold)
    if not reached:
        return Debiased(own, Debiasing.UNCHANGED)
    favourable = profile.favourable
    return Debiased(Prediction(favourable.prediction, own.probability, favourable.label), Debiasing.CHANGED, reached)


def _thresholds_of(groups: Sequence[tuple[str, str]], profile: Profile) -> tuple[list[tuple[str, float]], bool]:
    """The thresholds of a record's groups, by attribute, and whether one of the groups meets its goal as it is."""
    thresholds: list[tuple[str, float]] = []
    is_met = False
    for attribute, label in groups:
        learnt = profile.attribute(attribute)
        if learnt is not None:
            thresholds += [(attribute, threshold) for group, threshold in learnt.thresholds if group == label]
            is_met = is_met or (label, MET) in learnt.untouched
    return thresholds, is_met


def _most_frequent(weighed: Sequence[tuple[float, Prediction]]) -> Prediction:
    """The answer that the greatest share of copies gave; of equal ones the first."""
    shares: dict[tuple[str, str], float] = {}
    first: dict[tuple[str, str], Prediction] = {}
    for share, prediction in weighed:
        key = (_typed_text(prediction.prediction), "" if prediction.label is None else _typed_text(prediction.label))
        shares[key] = shares.get(key, 0.0) + share
        first.setdefault(key, prediction)
    greatest = max(shares.values())
    return next(first[key] for key, share in shares.items() if greatest - share <= ALMOST)


def _typed_text(value: Scalar) -> str:
    return f"{type(value).__name__ if isinstance(value, bool | str) else 'number'} {canonical(value)}"
