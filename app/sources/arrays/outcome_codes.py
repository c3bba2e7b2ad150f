"""Outcome codes of many answers at once."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...base.values import Scalar
from ...domain.outcome import Outcome, OutcomeRule
from ...domain.value_tests import ValueTest
from ...statistics.group_labels import Codes, FloatArray
from .column_cells import Cells, JsonCells


def outcome_codes(json_texts: pa.ChunkedArray, rule: OutcomeRule) -> Codes:
    return classify_cells(JsonCells(json_texts), rule)


def classify_cells(answers: Cells, rule: OutcomeRule) -> Codes:
    """Returns the outcome of each answer [records]; a missing one is unclassified."""
    tests = rule.tests
    sides = (tests.favourable, tests.unfavourable)
    numbers = answers.floats() if are_ranges(sides) else None
    if numbers is not None:
        inside = [in_ranges(numbers, test) for test in sides]
        return np.select(inside, [int(Outcome.FAVOURABLE), int(Outcome.UNFAVOURABLE)], int(Outcome.UNCLASSIFIED)).astype(np.int64)
    coded = answers.coded()
    return coded.spread((int(tests.classify(value)) for value in coded.values), missing=int(Outcome.UNCLASSIFIED))


def are_ranges(tests: Sequence[ValueTest]) -> bool:
    """Returns whether only numbers pass the tests, by size."""
    return any(test.ranges for test in tests) and not any(test.texts for test in tests)


def in_ranges(numbers: FloatArray, test: ValueTest) -> npt.NDArray[np.bool_]:
    """Returns per number whether it passes a test of ranges; NaN does not."""
    inside = np.zeros(len(numbers), dtype=np.bool_)
    for bounds in test.ranges:
        inside |= (numbers >= bounds.lo) & (numbers <= bounds.hi)
    return inside


class OutcomeClassifier:
    """Classifies predictions as they arrive; a class seen before costs one look-up."""

    def __init__(self, rule: OutcomeRule) -> None:
        # typed: 1, 1.0 and True are equal keys, yet `True` is the class "true".
        self.classify = lru_cache(maxsize=1024, typed=True)(rule.tests.classify)

    def __call__(self, value: Scalar) -> Outcome:
        return self.classify(value)
