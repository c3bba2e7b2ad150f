"""Outcome codes of many predictions at once, by the same rule that `OutcomeRule.classify` states for one.

Predictions and labels come as JSON texts, in which the text "1" is another than the number 1.
"""

import json
import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.values import Range, Scalar, canonical, normalised, number_of


def outcome_codes(texts: pa.ChunkedArray, rule: OutcomeRule) -> npt.NDArray[np.int64]:
    """The outcome of each JSON text [records]; a missing one is unclassified."""
    if any(isinstance(member, Range) for member in (*rule.favourable, *rule.unfavourable)):
        numbers = _numbers(texts)
        return np.select(
            [_in_any(numbers, rule.favourable), _in_any(numbers, rule.unfavourable)],
            [int(Outcome.FAVOURABLE), int(Outcome.UNFAVOURABLE)],
            int(Outcome.UNCLASSIFIED),
        ).astype(np.int64)
    encoded = texts.combine_chunks().dictionary_encode()
    codes = [int(rule.classify(value_of(text))) for text in encoded.dictionary.to_pylist()] + [int(Outcome.UNCLASSIFIED)]
    of_record: npt.NDArray[np.int64] = np.array(codes, dtype=np.int64)[
        encoded.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False)
    ]
    return of_record


def value_of(json_text: str) -> Scalar:
    """The prediction or label that a JSON text stands for."""
    value: Scalar = json.loads(json_text)
    return value


def json_text_of(value: Scalar) -> str:
    """The JSON text of a prediction or label, as `value_of` reads it."""
    return json.dumps(normalised(value))


def canonical_texts(json_texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The canonical text of each JSON text [records], null where there is none: `1` and `1.0` are one class, and so is `"1"`."""
    encoded = json_texts.combine_chunks().dictionary_encode()
    texts = pa.array([canonical(value_of(text)) for text in encoded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([texts.take(encoded.indices)])


class OutcomeClassifier:
    """Classifies predictions as they arrive; a class seen before costs one look-up."""

    def __init__(self, rule: OutcomeRule) -> None:
        # typed: 1, 1.0 and True are equal keys, yet `True` is the class "true".
        self.classify = lru_cache(maxsize=1024, typed=True)(rule.classify)

    def __call__(self, value: Scalar) -> Outcome:
        """The outcome of one prediction."""
        return self.classify(value)


def _numbers(texts: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """The JSON texts as numbers; NaN, which is in no range, where one is none."""
    try:
        return np.asarray(texts.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        return np.array([_number(text) for text in texts.to_pylist()], dtype=np.float64)


def _number(text: str | None) -> float:
    value = None if text is None else value_of(text)
    number = None if isinstance(value, str) else number_of(value)
    return math.nan if number is None else number


def _in_any(numbers: npt.NDArray[np.float64], members: tuple[object, ...]) -> npt.NDArray[np.bool_]:
    inside = np.zeros(len(numbers), dtype=np.bool_)
    for member in members:
        if isinstance(member, Range):
            inside |= (numbers >= member.lo) & (numbers <= member.hi)
        elif isinstance(member, int | float):
            inside |= numbers == member
    return inside
