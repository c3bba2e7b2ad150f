"""Mitigation of live records: chooses answers that have the outcomes of `rule.py`. No model, no database, no labels."""

import math
from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

from ...domain.mitigation import Mode
from ...domain.outcomes import Outcome
from ...domain.records import Prediction
from ...domain.values import Scalar, canonical, number_of
from ...frozen import frozen
from ...metrics.groups import IntArray
from ..rule import ALMOST, UNKNOWN, CopyAnswers, Judge, mean_numbers, mean_probabilities, outcomes_as_reference, substitute
from .copies import CopySet, Substitution


class Debiasing(StrEnum):
    """Result of mitigation for a record."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_NEEDED = "not_needed"
    REFERENCE = "reference"
    IN_NO_GROUP = "in_no_group"
    UNCLASSIFIED = "unclassified"
    UNDECIDED = "undecided"
    NOT_SCORED = "not_scored"
    NOT_CHOSEN = "not_chosen"


@frozen
class Debiased:
    answer: Prediction
    debiasing: Debiasing
    changed_by: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return self.debiasing is Debiasing.CHANGED


@frozen
class CopiedRecord:
    own: Prediction
    outcome: Outcome
    copies: CopySet
    answers: Sequence[Prediction]


@frozen
class ClassifiedAnswer:
    prediction: Prediction
    outcome: Outcome
    share: float


@frozen
class Decider:
    """Decides records of one deployment, all of a request together, each as it would be alone."""

    judge: Judge
    mode: Mode
    classify: Callable[[Scalar], Outcome]

    def substitute(self, records: Sequence[CopiedRecord]) -> list[Debiased]:
        together = [self._classify(record.copies.together, record.answers[: len(record.copies.together)]) for record in records]
        own: IntArray = np.array([record.outcome for record in records], dtype=np.int64)
        known = self._tabulate(together)
        as_reference, after = self._decide(known, own)
        probabilities = mean_probabilities(known, len(records))
        numbers = mean_numbers(known, len(records)) if self.judge.predicts_numbers else None
        changed_by = self._find_causes(records, np.flatnonzero(after != own).tolist())

        found = []
        for place, record in enumerate(records):
            outcome = Outcome(int(after[place]))
            mean = None if numbers is None else float(numbers[place])
            if as_reference[place] == UNKNOWN:
                found.append(Debiased(record.own, Debiasing.UNDECIDED))
            elif outcome is record.outcome and self.mode is Mode.LIFT_ONLY:
                found.append(Debiased(record.own, Debiasing.UNCHANGED))
            elif mean is not None and (math.isnan(mean) or self.classify(mean) is not outcome):
                # Copies that agree may have a mean between the ranges: then there is no number to answer.
                found.append(Debiased(record.own, Debiasing.UNDECIDED))
            else:
                most = _find_most_frequent([one for one in together[place] if one.outcome is outcome]) if mean is None else Prediction(mean)
                answer = Prediction(most.prediction, probabilities[place], most.label)
                causes = changed_by.get(place, ())
                found.append(Debiased(answer, Debiasing.CHANGED if causes else Debiasing.UNCHANGED, causes))
        return found

    def _find_causes(self, records: Sequence[CopiedRecord], changed: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Returns, of each changed record, the attributes that change the outcome by themselves; where none does, all of them."""
        places, attributes, alone = [], [], []
        for place in changed:
            copies, start = records[place].copies, len(records[place].copies.together)
            for attribute, substitutions in copies.alone:
                places.append(place)
                attributes.append(attribute)
                alone.append(self._classify(substitutions, records[place].answers[start : start + len(substitutions)]))
                start += len(substitutions)
        own: IntArray = np.array([records[place].outcome for place in places], dtype=np.int64)
        _, after = self._decide(self._tabulate(alone), own)
        causes: dict[int, list[str]] = {place: [] for place in changed}
        for place, attribute, is_changed in zip(places, attributes, (after != own).tolist(), strict=True):
            causes[place] += [attribute] if is_changed else []
        return {place: tuple(found) or records[place].copies.attributes for place, found in causes.items()}

    def _classify(self, substitutions: Sequence[Substitution], answers: Sequence[Prediction]) -> list[ClassifiedAnswer]:
        found = [
            ClassifiedAnswer(answer, self.classify(answer.outcome_value), substitution.share)
            for substitution, answer in zip(substitutions, answers, strict=True)
        ]
        return [one for one in found if one.outcome is not Outcome.UNCLASSIFIED]

    def _tabulate(self, answers: Sequence[Sequence[ClassifiedAnswer]]) -> CopyAnswers:
        every = [one for of_record in answers for one in of_record]
        numbers = [number_of(one.prediction.prediction) if self.judge.predicts_numbers else None for one in every]
        return CopyAnswers(
            np.repeat(np.arange(len(answers)), np.array([len(of_record) for of_record in answers], dtype=np.int64)),
            np.array([one.outcome for one in every], dtype=np.int64),
            np.array([one.share for one in every], dtype=np.float64),
            [one.prediction.probability for one in every],
            np.array(numbers, dtype=np.float64),
        )

    def _decide(self, known: CopyAnswers, own: IntArray) -> tuple[IntArray, IntArray]:
        classified = np.bincount(known.records, minlength=len(own))
        favourable = np.bincount(known.records[known.outcomes == Outcome.FAVOURABLE], minlength=len(own))
        as_reference = outcomes_as_reference(
            classified, favourable, lambda divided: known.select(np.isin(known.records, divided)), self.judge
        )
        return as_reference, substitute(own, as_reference, np.ones(len(own), dtype=np.bool_), self.mode)


def _find_most_frequent(answers: Sequence[ClassifiedAnswer]) -> Prediction:
    """Returns the answer that the greatest share of copies gave; of equal ones the first."""
    shares: dict[tuple[str, ...], float] = {}
    first: dict[tuple[str, ...], Prediction] = {}
    for one in answers:
        values = (one.prediction.prediction, one.prediction.label)
        # True, 1 and "1" are different classes; 1 and 1.0 are one.
        kinds = (type(value).__name__ if isinstance(value, bool | str) else "number" for value in values)
        key = tuple("" if value is None else f"{kind} {canonical(value)}" for kind, value in zip(kinds, values, strict=True))
        shares[key] = shares.get(key, 0.0) + one.share
        first.setdefault(key, one.prediction)
    greatest = max(shares.values())
    return next(first[key] for key, share in shares.items() if greatest - share <= ALMOST)
