"""One column of records: distinct values with codes, numbers, or JSON texts."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...base.values import Scalar, canonical, frozen_arrays, normalised
from ...domain.deployment import Column
from ...domain.groups import typed
from ...domain.monitor import Outcome, OutcomeRule, ValueTest
from ...statistics.group_labels import MISSING, Codes, FloatArray

Mask = npt.NDArray[np.bool_]


@frozen_arrays
class Coded:
    values: Sequence[Scalar]
    codes: Codes

    def coded(self) -> "Coded":
        return self

    def floats(self) -> None:
        """None: its values need not be numbers."""

    def spread(self, of_value: Iterable[int], *, missing: int) -> Codes:
        # MISSING is -1, the last place.
        return np.array([*of_value, missing], np.int64)[self.codes]


class Cells(Protocol):
    def coded(self) -> Coded:
        """Returns its distinct values, and the value of each record."""

    def floats(self) -> FloatArray | None:
        """Returns its numbers [records], NaN where one is missing; None where a value need not be a
        number.
        """


class NumberCells:
    def __init__(self, numbers: pa.Array, column: Column | None = None) -> None:
        self._numbers = numbers
        self._column = column
        self._coded: Coded | None = None

    def coded(self) -> Coded:
        if self._coded is None:
            self._coded = _encode(self._numbers, self._column)
        return self._coded

    def floats(self) -> FloatArray:
        numbers = self._numbers.cast("float64", safe=False).fill_null(math.nan)
        return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


class JsonCells:
    def __init__(self, texts: pa.ChunkedArray) -> None:
        self._texts = texts

    def coded(self) -> Coded:
        encoded = self._texts.combine_chunks().dictionary_encode()
        return Coded([parse_value(text) for text in encoded.dictionary.to_pylist()], read_codes(encoded))

    def floats(self) -> FloatArray | None:
        try:
            return np.asarray(self._texts.cast("float64").to_numpy(), np.float64)
        except pa.ArrowInvalid:
            return None


def stored_cells(values: pa.ChunkedArray, column: Column | None = None) -> Cells:
    array = values.combine_chunks()
    return NumberCells(array, column) if holds_numbers(array.type) else _encode(array, column)


def holds_numbers(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def holds_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def parse_value(json_text: str) -> Scalar:
    value: Scalar = json.loads(json_text)
    return value


def format_value(value: Scalar) -> str:
    return json.dumps(normalised(value))


def read_answers(json_texts: pa.ChunkedArray, rule: OutcomeRule) -> pa.ChunkedArray:
    """[records], both as JSON texts: a spelling of a listed boolean is that boolean."""
    tests = rule.tests
    return _spell_each(json_texts, lambda answer: format_value(tests.read(answer)))


def canonical_texts(json_texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """[records], null where missing: `1` and `1.0` are one class, `"1"` another."""
    return _spell_each(json_texts, canonical)


def _spell_each(json_texts: pa.ChunkedArray, spell: Callable[[Scalar], str]) -> pa.ChunkedArray:
    encoded = json_texts.combine_chunks().dictionary_encode()
    texts = pa.array([spell(parse_value(text)) for text in encoded.dictionary.to_pylist()], "string")
    return pa.chunked_array([texts.take(encoded.indices)])


def _encode(array: pa.Array, column: Column | None) -> Coded:
    encoded = array.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return Coded(
        values if column is None else [typed(value, column) for value in values], read_codes(encoded)
    )


def read_codes(encoded: pa.DictionaryArray) -> Codes:
    return np.asarray(encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False), np.int64)


def outcome_codes(json_texts: pa.ChunkedArray, rule: OutcomeRule) -> Codes:
    return classify_cells(JsonCells(json_texts), rule)


def classify_cells(answers: Cells, rule: OutcomeRule) -> Codes:
    """[records]; a missing answer is unclassified."""
    tests = rule.tests
    sides = (tests.favourable, tests.unfavourable)
    numbers = answers.floats() if are_ranges(sides) else None
    if numbers is not None:
        inside = [in_ranges(numbers, test) for test in sides]
        return np.select(
            inside, [int(Outcome.FAVOURABLE), int(Outcome.UNFAVOURABLE)], int(Outcome.UNCLASSIFIED)
        ).astype(np.int64)
    coded = answers.coded()
    return coded.spread(
        (int(tests.classify(value)) for value in coded.values), missing=int(Outcome.UNCLASSIFIED)
    )


def are_ranges(tests: Sequence[ValueTest]) -> bool:
    return any(test.ranges for test in tests) and not any(test.texts for test in tests)


def in_ranges(numbers: FloatArray, test: ValueTest) -> Mask:
    """NaN does not pass."""
    inside = np.zeros(len(numbers), bool)
    for bounds in test.ranges:
        inside |= (numbers >= bounds.lo) & (numbers <= bounds.hi)
    return inside


class OutcomeClassifier:
    def __init__(self, rule: OutcomeRule) -> None:
        # typed: 1, 1.0 and True are equal keys, yet `True` is the class "true".
        self.classify = lru_cache(maxsize=1024, typed=True)(rule.tests.classify)

    def __call__(self, value: Scalar) -> Outcome:
        return self.classify(value)
