"""A window of records with the answers to their copies, written down by hand."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from app.base.values import Scalar
from app.checks.copies.copy_outcomes import CopyOutcomes, TargetAnswers, build_copy_target, mark_needed_copies
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.groups import Group
from app.domain.monitor import Outcome, OutcomeRule
from app.mitigation.rule import UNKNOWN, CopyAnswers, Judge, Probability, decide_as_reference
from app.sources.arrays.favourable_scores import classify_answers
from app.sources.arrays.read_records import Grouping

HOME = Column(name="housing", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
GROUPS = (
    Group("rent", "monitored", "rent"),
    Group("free", "monitored", "free"),
    Group("own", "reference", "own"),
    Group("family", "reference", "family"),
)
RULE = OutcomeRule(favourable=(1,), unfavourable=(0,))

Answer = tuple[Scalar, Probability]
"""What the model answered to a copy: its prediction and probability."""


def window(
    codes: Sequence[int],
    own: Sequence[int],
    answers: dict[tuple[int, str], Answer],
    *,
    rule: OutcomeRule = RULE,
    draws: int = 2,
) -> CopyOutcomes:
    """Records of these groups and outcomes, and the answers by record and group changed to."""
    grouping = Grouping(HOME, GROUPS, np.array(codes, dtype=np.int64))
    targets = tuple(build_copy_target(group, HOME, draws=draws, seed=0) for group in GROUPS)
    copies = CopyOutcomes(grouping, targets, mark_needed_copies(grouping, np.array(own, dtype=np.int64)))
    for place, group in enumerate(GROUPS):
        mine = sorted((record, answer) for (record, label), answer in answers.items() if label == group.label)
        if not mine:
            continue
        records = np.array([record for record, _ in mine], dtype=np.int64)
        outcomes = pa.chunked_array([pa.array([json.dumps(prediction) for _, (prediction, _) in mine], pa.string())])
        probabilities = [None if probability is None else json.dumps(probability) for _, (_, probability) in mine]
        copies.add(place, records, classify_answers(outcomes, rule))
        if copies.keeps_answers(place):
            copies.answers.append(TargetAnswers(place, records, outcomes, pa.chunked_array([pa.array(probabilities, pa.string())])))
    return copies


@dataclass(frozen=True)
class CopyAnswer:
    """The answer to one copy: its outcome and probability, its share, and the number where the model predicts real numbers."""

    outcome: Outcome
    probability: Probability
    share: float
    number: float | None = None


def table(answers: Sequence[CopyAnswer], records: Sequence[int] | None = None) -> CopyAnswers:
    """Those answers as columns, all of record 0 unless the records are named."""
    return CopyAnswers(
        np.array([0] * len(answers) if records is None else records, dtype=np.int64),
        np.array([answer.outcome for answer in answers], dtype=np.int64),
        np.array([answer.share for answer in answers], dtype=np.float64),
        [answer.probability for answer in answers],
        np.array([answer.number for answer in answers], dtype=np.float64),
    )


def outcomes(answers: CopyAnswers, count: int, judge: Judge) -> list[Outcome | None]:
    """The outcomes as reference of that many records; None where their copies decide nothing."""
    classified = np.bincount(answers.records[answers.outcomes != UNKNOWN], minlength=count)
    favourable = np.bincount(answers.records[answers.outcomes == Outcome.FAVOURABLE], minlength=count)
    found = decide_as_reference(classified, favourable, lambda divided: answers.select(np.isin(answers.records, divided)), judge)
    return [None if outcome == UNKNOWN else Outcome(outcome) for outcome in found.tolist()]


def outcome_as_reference(answers: Sequence[CopyAnswer], judge: Judge) -> Outcome | None:
    """The same of one record."""
    (found,) = outcomes(table(answers), 1, judge)
    return found
