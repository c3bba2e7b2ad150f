"""Outcome codes of many predictions at once, by the same rule that `OutcomeRule.classify` states for one."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.values import Range, Scalar, number_of


def outcome_codes(texts: pa.ChunkedArray, rule: OutcomeRule) -> npt.NDArray[np.int64]:
    """The outcome of each canonical text [records]; a missing one is unclassified."""
    if any(isinstance(member, Range) for member in (*rule.favourable, *rule.unfavourable)):
        numbers = _numbers(texts)
        return np.select(
            [_in_any(numbers, rule.favourable), _in_any(numbers, rule.unfavourable)],
            [int(Outcome.FAVOURABLE), int(Outcome.UNFAVOURABLE)],
            int(Outcome.UNCLASSIFIED),
        ).astype(np.int64)
    encoded = texts.combine_chunks().dictionary_encode()
    codes = [int(rule.classify(value)) for value in encoded.dictionary.to_pylist()] + [int(Outcome.UNCLASSIFIED)]
    of_record: npt.NDArray[np.int64] = np.array(codes, dtype=np.int64)[
        encoded.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False)
    ]
    return of_record


class OutcomeClassifier:
    """Classifies predictions as they arrive; a class seen before costs one look-up."""

    def __init__(self, rule: OutcomeRule) -> None:
        # typed: 1, 1.0 and True are equal keys, yet `True` is the class "true".
        self.classify = lru_cache(maxsize=1024, typed=True)(rule.classify)

    def __call__(self, value: Scalar) -> Outcome:
        """The outcome of one prediction."""
        return self.classify(value)


def _numbers(texts: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """The texts as numbers; NaN, which is in no range, where one is none."""
    try:
        return np.asarray(texts.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        return np.array([math.nan if text is None else number_of(text) for text in texts.to_pylist()], dtype=np.float64)


def _in_any(numbers: npt.NDArray[np.float64], members: tuple[object, ...]) -> npt.NDArray[np.bool_]:
    inside = np.zeros(len(numbers), dtype=np.bool_)
    for member in members:
        if isinstance(member, Range):
            inside |= (numbers >= member.lo) & (numbers <= member.hi)
        elif isinstance(member, int | float):
            inside |= numbers == member
    return inside
