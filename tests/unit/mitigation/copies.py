"""A window of records with the answers to their copies, written down by hand."""

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from app.checks.classifying import outcome_codes
from app.checks.grouping import Grouping
from app.checks.outcomes_of_copies import CopyOutcomes, TargetAnswers
from app.checks.perturbation import copies_needed, copy_target
from app.domain.deployments import Column, FieldKind, FieldType
from app.domain.groups import Group
from app.domain.outcomes import OutcomeRule

HOME = Column(name="housing", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
GROUPS = (
    Group("rent", "monitored", "rent"),
    Group("free", "monitored", "free"),
    Group("own", "reference", "own"),
    Group("family", "reference", "family"),
)
RULE = OutcomeRule(favourable=(1,), unfavourable=(0,))

Answer = tuple[int | float | str, float | None]
"""What the model answered to a copy: its prediction and probability."""


def window(
    codes: Sequence[int], own: Sequence[int], answers: dict[tuple[int, str], Answer], *, rule: OutcomeRule = RULE, keeps_all: bool = False
) -> CopyOutcomes:
    """Records of these groups and outcomes, and the answers by record and group changed to."""
    grouping = Grouping(HOME, GROUPS, np.array(codes, dtype=np.int64))
    targets = tuple(copy_target(group, HOME, draws=2, seed=0) for group in GROUPS)
    copies = CopyOutcomes(grouping, targets, copies_needed(grouping, np.array(own, dtype=np.int64)), keeps_all)
    for place, group in enumerate(GROUPS):
        mine = sorted((record, answer) for (record, label), answer in answers.items() if label == group.label)
        if not mine:
            continue
        records = np.array([record for record, _ in mine], dtype=np.int64)
        outcomes = pa.chunked_array([pa.array([json.dumps(prediction) for _, (prediction, _) in mine], pa.string())])
        probabilities = [None if probability is None else str(probability) for _, (_, probability) in mine]
        copies.add(place, records, outcome_codes(outcomes, rule))
        if copies.keeps(place):
            copies.answers.append(TargetAnswers(place, records, outcomes, pa.chunked_array([pa.array(probabilities, pa.string())])))
    return copies
