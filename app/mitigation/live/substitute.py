"""Mitigation of live records: their reference copies, and answers that have the outcomes of the rule.

Source of the copies: spec of the fairness check, section 8: jointly over the record's monitored attributes.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from ...base.values import Scalar, canonical, frozen, read_number
from ...domain.mitigation import AttributeProfile, Mode, StandIn
from ...domain.monitor import Outcome
from ...domain.record import Prediction
from ...statistics.group_labels import IntArray
from ..rule import (
    EQUALITY_TOLERANCE,
    UNKNOWN,
    CopyAnswers,
    Judge,
    average_numbers,
    average_probabilities,
    decide_as_reference,
    substitute,
)

MAX_COPIES = 100
"""Copies of one record for its attributes together: those with the greatest shares."""

Row = Sequence[Scalar | None]


@frozen
class Substitution:
    """Copy of a record: new values by position in the row, and the share of reference records that it
    represents. Shares add up to 1.
    """

    changes: tuple[tuple[int, Scalar | None], ...]
    share: float

    def apply(self, row: Row) -> list[Scalar | None]:
        copy = list(row)
        for column, value in self.changes:
            copy[column] = value
        return copy


@frozen
class CopySet:
    """Of all these attributes together and, if there are several, of each alone."""

    attributes: tuple[str, ...]
    together: tuple[Substitution, ...]
    alone: tuple[tuple[str, tuple[Substitution, ...]], ...]

    @property
    def count(self) -> int:
        return len(self.together) + sum(len(substitutions) for _, substitutions in self.alone)

    def list_rows(self, row: Row) -> Iterator[list[Scalar | None]]:
        for substitutions in (self.together, *(of_attribute for _, of_attribute in self.alone)):
            for substitution in substitutions:
                yield substitution.apply(row)


NO_COPIES = CopySet((), (), ())


def find_copies(
    profiles: Sequence[AttributeProfile], features: Sequence[str], monitored: tuple[str, ...]
) -> CopySet:
    """Copies for monitored values of those attributes that have stand-ins; `features` are in the order of the
    model's rows.
    """
    positions = {name: index for index, name in enumerate(features)}
    stand_ins = {
        profile.feature: profile.stand_ins
        for profile in profiles
        if profile.feature in monitored and profile.stand_ins
    }
    if not stand_ins:
        return NO_COPIES
    alone = [
        (attribute, combine_stand_ins([of_attribute], positions))
        for attribute, of_attribute in stand_ins.items()
        if len(stand_ins) > 1
    ]
    together = combine_stand_ins(list(stand_ins.values()), positions)
    return CopySet(tuple(stand_ins), together, tuple(alone))


def combine_stand_ins(
    stand_ins: Sequence[Sequence[StandIn]], positions: Mapping[str, int]
) -> tuple[Substitution, ...]:
    """Combines stand-ins of several attributes: shares are multiplied, and of too many those with the
    greatest stay.

    Where two attributes change one feature, the later one counts. Shares that are all zero count equally.
    """
    combined: list[tuple[dict[int, Scalar | None], float]] = [({}, 1.0)]
    for of_attribute in stand_ins:
        total = sum(stand_in.share for stand_in in of_attribute)
        weighted = [
            (stand_in, stand_in.share / total if total > 0 else 1 / len(of_attribute))
            for stand_in in of_attribute
        ]
        combined = [
            (changes | {positions[name]: value for name, value in stand_in.changes}, share * weight)
            for changes, share in combined
            for stand_in, weight in weighted
        ]
        if len(combined) > MAX_COPIES:
            # A combination cut here ranks after that many others whatever follows, so none is lost that would
            # have been kept.
            ranked = sorted(range(len(combined)), key=lambda rank: (-combined[rank][1], rank))
            combined = [combined[rank] for rank in sorted(ranked[:MAX_COPIES])]
    total = sum(share for _, share in combined)
    return tuple(Substitution(tuple(changes.items()), share / total) for changes, share in combined)


class MitigationResult(StrEnum):
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
class MitigatedAnswer:
    answer: Prediction
    result: MitigationResult
    changed_by: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return self.result is MitigationResult.CHANGED

    @property
    def columns(self) -> tuple[Any, ...]:
        answer = self.answer
        members = (answer.prediction, answer.probability, answer.label)
        return *members, self.changed, self.changed_by, self.result.value


@frozen
class CopiedRecord:
    """Record with the model's own answer, and the answers to its copies in their order."""

    own: Prediction
    outcome: Outcome
    copies: CopySet
    answers: Sequence[Prediction]


@frozen
class ClassifiedAnswer:
    """Answer to a copy with its outcome, and the share of reference records that the copy represents."""

    prediction: Prediction
    outcome: Outcome
    share: float


@frozen
class Decider:
    judge: Judge
    mode: Mode
    classify: Callable[[Scalar], Outcome]

    def decide_answers(self, records: Sequence[CopiedRecord]) -> list[MitigatedAnswer]:
        together = [
            self._classify(record.copies.together, record.answers[: len(record.copies.together)])
            for record in records
        ]
        outcomes = np.array([record.outcome for record in records], dtype=np.int64)
        answers = self._tabulate(together)
        as_reference, after = self._decide(answers, outcomes)
        probabilities = average_probabilities(answers, len(records))
        numbers = average_numbers(answers, len(records)) if self.judge.predicts_numbers else None
        changed_by = self._find_causes(records, np.flatnonzero(after != outcomes).tolist())

        mitigated = []
        for index, record in enumerate(records):
            outcome = Outcome(int(after[index]))
            mean = None if numbers is None else float(numbers[index])
            if as_reference[index] == UNKNOWN:
                mitigated.append(MitigatedAnswer(record.own, MitigationResult.UNDECIDED))
            elif outcome is record.outcome and self.mode is Mode.LIFT_ONLY:
                mitigated.append(MitigatedAnswer(record.own, MitigationResult.UNCHANGED))
            elif mean is not None and (math.isnan(mean) or self.classify(mean) is not outcome):
                # Copies that agree may have a mean between the ranges: then there is no number to answer.
                mitigated.append(MitigatedAnswer(record.own, MitigationResult.UNDECIDED))
            else:
                prediction = (
                    _find_most_frequent([answer for answer in together[index] if answer.outcome is outcome])
                    if mean is None
                    else Prediction(mean)
                )
                answer = Prediction(prediction.prediction, probabilities[index], prediction.label)
                causes = changed_by.get(index, ())
                mitigated.append(
                    MitigatedAnswer(
                        answer, MitigationResult.CHANGED if causes else MitigationResult.UNCHANGED, causes
                    )
                )
        return mitigated

    def _find_causes(
        self, records: Sequence[CopiedRecord], changed: Sequence[int]
    ) -> dict[int, tuple[str, ...]]:
        positions = []
        attributes = []
        alone = []
        for position in changed:
            copies = records[position].copies
            start = len(records[position].copies.together)
            for attribute, substitutions in copies.alone:
                positions.append(position)
                attributes.append(attribute)
                alone.append(
                    self._classify(
                        substitutions, records[position].answers[start : start + len(substitutions)]
                    )
                )
                start += len(substitutions)
        outcomes: IntArray = np.array([records[position].outcome for position in positions], dtype=np.int64)
        _, after = self._decide(self._tabulate(alone), outcomes)
        causes: dict[int, list[str]] = {position: [] for position in changed}
        for position, attribute, is_changed in zip(
            positions, attributes, (after != outcomes).tolist(), strict=True
        ):
            causes[position] += [attribute] if is_changed else []
        return {
            position: tuple(changing) or records[position].copies.attributes
            for position, changing in causes.items()
        }

    def _classify(
        self, substitutions: Sequence[Substitution], answers: Sequence[Prediction]
    ) -> list[ClassifiedAnswer]:
        classified = [
            ClassifiedAnswer(answer, self.classify(answer.outcome_value), substitution.share)
            for substitution, answer in zip(substitutions, answers, strict=True)
        ]
        return [answer for answer in classified if answer.outcome is not Outcome.UNCLASSIFIED]

    def _tabulate(self, answers: Sequence[Sequence[ClassifiedAnswer]]) -> CopyAnswers:
        all_answers = [answer for record_answers in answers for answer in record_answers]
        numbers = [
            read_number(answer.prediction.prediction) if self.judge.predicts_numbers else None
            for answer in all_answers
        ]
        return CopyAnswers(
            np.repeat(
                np.arange(len(answers)),
                np.array([len(record_answers) for record_answers in answers], dtype=np.int64),
            ),
            np.array([answer.outcome for answer in all_answers], dtype=np.int64),
            np.array([answer.share for answer in all_answers], dtype=np.float64),
            [answer.prediction.probability for answer in all_answers],
            np.array(numbers, dtype=np.float64),
        )

    def _decide(self, answers: CopyAnswers, outcomes: IntArray) -> tuple[IntArray, IntArray]:
        classified = np.bincount(answers.records, minlength=len(outcomes))
        favourable = np.bincount(
            answers.records[answers.outcomes == Outcome.FAVOURABLE], minlength=len(outcomes)
        )
        as_reference = decide_as_reference(
            classified,
            favourable,
            lambda divided: answers.select(np.isin(answers.records, divided)),
            self.judge,
        )
        return as_reference, substitute(
            outcomes, as_reference, np.ones(len(outcomes), dtype=np.bool_), self.mode
        )


def _find_most_frequent(answers: Sequence[ClassifiedAnswer]) -> Prediction:
    """Prediction of the greatest share; of equal ones the first."""
    shares: dict[tuple[str, ...], float] = {}
    first: dict[tuple[str, ...], Prediction] = {}
    for answer in answers:
        values = (answer.prediction.prediction, answer.prediction.label)
        # True, 1 and "1" are different classes; 1 and 1.0 are one.
        kinds = (type(value).__name__ if isinstance(value, bool | str) else "number" for value in values)
        key = tuple(
            "" if value is None else f"{kind} {canonical(value)}"
            for kind, value in zip(kinds, values, strict=True)
        )
        shares[key] = shares.get(key, 0.0) + answer.share
        first.setdefault(key, answer.prediction)
    greatest = max(shares.values())
    return next(first[key] for key, share in shares.items() if greatest - share <= EQUALITY_TOLERANCE)
