"""Cells of columns as codes or numbers, the outcomes of answers, and probabilities of the favourable outcome.

Predictions show which number is that probability. Where they do not, there are no scores.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from operator import add
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...base.values import Range, Scalar, canonical, frozen_arrays, normalised
from ...domain.deployment import Column
from ...domain.groups import convert_spelled_number
from ...domain.mitigation import Reading
from ...domain.monitor import Outcome, OutcomeRule, ValueTest
from ...statistics.group_labels import MISSING, Codes, FloatArray, IntArray

Mask = npt.NDArray[np.bool_]


@frozen_arrays
class CodedCells:
    """Distinct values, and for each record the position of its value, or MISSING [records]."""

    values: Sequence[Scalar]
    codes: Codes

    def coded(self) -> "CodedCells":
        return self

    def floats(self) -> None:
        """Returns None: the values need not be numbers."""

    def spread(self, codes_of_values: Iterable[int], *, missing: int) -> Codes:
        # MISSING is -1, the last place.
        return np.array([*codes_of_values, missing], np.int64)[self.codes]


class Cells(Protocol):
    def coded(self) -> CodedCells:
        """Returns its distinct values, and the value of each record."""

    def floats(self) -> FloatArray | None:
        """Numbers [records], NaN where one is missing; None where a value need not be a number."""


class NumberCells:
    """Cells of numbers, coded only if that is asked for."""

    def __init__(self, numbers: pa.Array, column: Column | None = None) -> None:
        self._numbers = numbers
        self._column = column
        self._coded: CodedCells | None = None

    def coded(self) -> CodedCells:
        if self._coded is None:
            self._coded = _encode(self._numbers, self._column)
        return self._coded

    def floats(self) -> FloatArray:
        numbers = self._numbers.cast("float64", safe=False).fill_null(math.nan)
        return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


class JsonCells:
    """Cells of scalars as JSON texts."""

    def __init__(self, texts: pa.ChunkedArray) -> None:
        self._texts = texts

    def coded(self) -> CodedCells:
        encoded = self._texts.combine_chunks().dictionary_encode()
        return CodedCells([parse_value(text) for text in encoded.dictionary.to_pylist()], read_codes(encoded))

    def floats(self) -> FloatArray | None:
        try:
            return np.asarray(self._texts.cast("float64").to_numpy(), np.float64)
        except pa.ArrowInvalid:
            return None


def read_stored_cells(values: pa.ChunkedArray, column: Column | None = None) -> Cells:
    array = values.combine_chunks()
    return NumberCells(array, column) if is_number_type(array.type) else _encode(array, column)


def is_number_type(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_text_type(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def parse_value(json_text: str) -> Scalar:
    value: Scalar = json.loads(json_text)
    return value


def format_value(value: Scalar) -> str:
    return json.dumps(normalised(value))


def read_answers(json_texts: pa.ChunkedArray, rule: OutcomeRule) -> pa.ChunkedArray:
    """[records] as JSON texts of classes: a spelling of a listed boolean is that boolean."""
    tests = rule.tests
    return _spell_json(json_texts, lambda answer: format_value(tests.read(answer)))


def canonical_texts(json_texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """[records], null where missing: `1` and `1.0` are one class, `"1"` another."""
    return _spell_json(json_texts, canonical)


def _spell_json(json_texts: pa.ChunkedArray, spell: Callable[[Scalar], str]) -> pa.ChunkedArray:
    return pa.chunked_array([spell_each(json_texts.combine_chunks(), lambda text: spell(parse_value(text)))])


def spell_each(array: pa.Array, spell: Callable[[Any], str]) -> pa.Array:
    encoded = array.dictionary_encode()
    return pa.array([spell(value) for value in encoded.dictionary.to_pylist()], "string").take(
        encoded.indices
    )


def _encode(array: pa.Array, column: Column | None) -> CodedCells:
    encoded = array.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return CodedCells(
        values if column is None else [convert_spelled_number(value, column) for value in values],
        read_codes(encoded),
    )


def read_codes(encoded: pa.DictionaryArray) -> Codes:
    return np.asarray(encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False), np.int64)


def classify_answers(json_texts: pa.ChunkedArray, rule: OutcomeRule) -> Codes:
    return classify_cells(JsonCells(json_texts), rule)


def classify_cells(answers: Cells, rule: OutcomeRule) -> Codes:
    """Classifies each answer [records]; a missing one is unclassified."""
    tests = rule.tests
    sides = (tests.favourable, tests.unfavourable)
    numbers = answers.floats() if are_ranges(sides) else None
    if numbers is not None:
        inside = [mark_in_ranges(numbers, test) for test in sides]
        return np.select(
            inside, [int(Outcome.FAVOURABLE), int(Outcome.UNFAVOURABLE)], int(Outcome.UNCLASSIFIED)
        ).astype(np.int64)
    coded = answers.coded()
    return coded.spread(
        (int(tests.classify(value)) for value in coded.values), missing=int(Outcome.UNCLASSIFIED)
    )


def are_ranges(tests: Sequence[ValueTest]) -> bool:
    return any(test.ranges for test in tests) and not any(test.texts for test in tests)


def mark_in_ranges(numbers: FloatArray, test: ValueTest) -> Mask:
    """Marks the numbers that pass a test of ranges [records]; NaN does not."""
    inside = np.zeros(len(numbers), bool)
    for bounds in test.ranges:
        inside |= (numbers >= bounds.lo) & (numbers <= bounds.hi)
    return inside


class OutcomeClassifier:
    """Classifies values one by one, and remembers those it has seen."""

    def __init__(self, rule: OutcomeRule) -> None:
        # typed: 1, 1.0 and True are equal keys, yet `True` is the class "true".
        self.classify = lru_cache(maxsize=1024, typed=True)(rule.tests.classify)

    def __call__(self, value: Scalar) -> Outcome:
        return self.classify(value)


NO_PROBABILITIES = "no record was logged with a probability"
REAL_NUMBERS = "the model predicts real numbers, which have no probability"
MIXED_FORMS = "some probabilities are one number and others are lists, or lists of different lengths"
OUTSIDE = "the probabilities are not all between 0 and 1"
ONE_OUTCOME = (
    "all predictions with a probability have one outcome, so nothing shows which outcome the "
    "probability is of"
)
NO_DIRECTION = (
    "the probability does not rise or fall with the predicted outcome, so it is not the probability of "
    "one of the outcomes"
)
SEVERAL_CLASSES = (
    "the probability is one number, and there are more than two classes: it may be that of whatever was "
    "predicted; log a list with a number for each class"
)
TOO_FEW = (
    "at least 10 predictions with a probability, 3 of them favourable and 3 unfavourable, are needed to see "
    "which outcome a single number is the probability of; there are fewer"
)
NO_DISTRIBUTION = (
    "the numbers of a list do not always add up to 1, so they are not the probabilities of the classes"
)
CONFIDENCE = "the probability is never below one half, so it may be that of whatever was predicted"
NO_PLACE = "the largest probability is not in the same place for every prediction of a class"

_TWO = 2
_HALF = 0.5
MIN_PREDICTIONS = 10
MIN_PREDICTIONS_OF_SIDE = 3

MAX_DISTANCE_TO_ONE = 1e-3
"""Distance of the sum of a list from 1, up to which it is a distribution."""
_DECODER = msgspec.json.Decoder(list[float | list[float | None] | None])
_VALUE_DECODER = msgspec.json.Decoder(float | list[float | None])


@frozen_arrays
class Scores:
    """Probabilities of the favourable outcome [records], NaN for none; `values` is None for the `reason`."""

    values: FloatArray | None
    reason: str = ""
    reading: Reading | None = None


def read_favourable_scores(
    probabilities: pa.ChunkedArray, predicted: pa.ChunkedArray, outcomes: IntArray, rule: OutcomeRule
) -> Scores:
    if any(isinstance(value, Range) for value in rule.favourable):
        return Scores(None, REAL_NUMBERS)
    has_answer = np.asarray(probabilities.is_valid().to_numpy(), bool)
    if not has_answer.any():
        return Scores(None, NO_PROBABILITIES)
    table = parse_numbers(probabilities.drop_null())
    if table is None:
        return Scores(None, MIXED_FORMS)
    reading = _find_reading(
        table, read_answers(predicted.filter(pa.array(has_answer)), rule), outcomes[has_answer], rule
    )
    if isinstance(reading, str):
        return Scores(None, reading)
    values = np.full(len(has_answer), np.nan)
    values[has_answer] = _read_scores(table, reading)
    return Scores(values, reading=reading)


def read_scores_by_reading(reading: Reading, probabilities: pa.ChunkedArray) -> FloatArray:
    """[records]; NaN where an answer has another form."""
    has_answer = np.asarray(probabilities.is_valid().to_numpy(), bool)
    values = np.full(len(has_answer), np.nan)
    if has_answer.any():
        texts = probabilities.drop_null()
        table = parse_numbers(texts)
        if table is None:
            answers = [np.asarray([_VALUE_DECODER.decode(text)], np.float64) for text in texts.to_pylist()]
            values[has_answer] = [float(_read_if_form_fits(answer, reading)[0]) for answer in answers]
        else:
            values[has_answer] = _read_if_form_fits(table, reading)
    return values


def _read_if_form_fits(table: FloatArray, reading: Reading) -> FloatArray:
    if table.ndim == 1:
        has_form = reading.form == "number"
    else:
        classes = len(reading.classes) or table.shape[1]
        has_form = (
            reading.form == "list"
            and table.shape[1] == classes
            and max(reading.favourable, default=0) < classes
        )
    return _read_scores(table, reading) if has_form else np.full(len(table), np.nan)


def _read_scores(table: FloatArray, reading: Reading) -> FloatArray:
    if table.ndim == 1:
        return table if reading.rises else 1 - table
    # One by one: the cut-off is compared to the last digit.
    total = reduce(add, (table[:, column] for column in reading.favourable), np.zeros(len(table)))
    scores: FloatArray = np.minimum(total, 1.0)
    return scores


def _find_reading(
    table: FloatArray, predicted: pa.ChunkedArray, outcomes: IntArray, rule: OutcomeRule
) -> Reading | str:
    if not ((table >= 0) & (table <= 1)).all():
        return OUTSIDE
    classes = {
        canonical(value) for value in (*rule.favourable, *rule.unfavourable) if not isinstance(value, Range)
    }
    are_two = len(classes.union(canonical_texts(predicted.drop_null()).unique().to_pylist())) <= _TWO
    if table.ndim == 1 and not are_two:
        return SEVERAL_CLASSES
    if table.ndim == _TWO and (np.abs(table.sum(axis=1) - 1) > MAX_DISTANCE_TO_ONE).any():
        return NO_DISTRIBUTION
    if not {Outcome.FAVOURABLE, Outcome.UNFAVOURABLE} <= set(outcomes.tolist()):
        return ONE_OUTCOME
    if table.ndim == _TWO:
        return _find_reading_of_lists(table, predicted, outcomes, rule, are_two=are_two)
    if _are_few(outcomes):
        return TOO_FEW
    rises = _find_direction(table, outcomes)
    if rises is None:
        return NO_DIRECTION
    if table[outcomes != Outcome.UNCLASSIFIED].min() >= _HALF:
        return CONFIDENCE
    return Reading("number", rises=rises)


def parse_numbers(texts: pa.ChunkedArray) -> FloatArray | None:
    """[records], or of lists [records, classes]; None where they differ in form."""
    try:
        return np.asarray(texts.cast("float64").to_numpy(), np.float64)
    except pa.ArrowInvalid:
        decoded = _DECODER.decode(f"[{','.join(texts.to_pylist())}]")
    try:
        table = np.asarray(decoded, np.float64)
    except (TypeError, ValueError):
        return None
    return table if table.ndim in {1, _TWO} else None


def _find_reading_of_lists(
    table: FloatArray, predicted: pa.ChunkedArray, outcomes: IntArray, rule: OutcomeRule, *, are_two: bool
) -> Reading | str:
    class_places = _find_places(table, predicted)
    favourable = None if class_places is None else _find_favourable_places(table, class_places, rule)
    if class_places is None or favourable is None:
        # With a cut-off other than one half, the larger of two numbers is not always that of the predicted
        # class.
        is_clear = are_two and table.shape[1] == _TWO and not _are_few(outcomes)
        rises = _find_direction(table[:, 1], outcomes) if is_clear else None
        return NO_PLACE if rises is None else Reading("list", favourable=(1 if rises else 0,))

    classes: list[str | None] = []
    if table.shape[1] > _TWO:
        classes = [None] * table.shape[1]
        for value, place in class_places:
            text = canonical(value)
            # The stored reading has texts only: the text "1" is also read as the number 1.
            if place is not None and rule.classify(value) is rule.classify_text(text):
                classes[place] = text
    return Reading("list", favourable=tuple(favourable), classes=tuple(classes))


def _are_few(outcomes: IntArray) -> bool:
    sides = [int((outcomes == outcome).sum()) for outcome in (Outcome.FAVOURABLE, Outcome.UNFAVOURABLE)]
    return sum(sides) < MIN_PREDICTIONS or min(sides) < MIN_PREDICTIONS_OF_SIDE


def _find_direction(numbers: FloatArray, outcomes: IntArray) -> bool | None:
    """True if favourable predictions have the highest numbers, False if the lowest, else None."""
    favourable = numbers[outcomes == Outcome.FAVOURABLE]
    unfavourable = numbers[outcomes == Outcome.UNFAVOURABLE]
    rises = favourable.min() >= unfavourable.max()
    falls = favourable.max() <= unfavourable.min()
    return None if rises == falls else bool(rises)


def _find_places(table: FloatArray, predicted: pa.ChunkedArray) -> list[tuple[Scalar, int | None]] | None:
    encoded = predicted.combine_chunks().dictionary_encode()
    classes = [parse_value(text) for text in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    largest = table.max(axis=1) if table.shape[1] else np.zeros(len(table))
    is_clear = (table == largest[:, None]).sum(axis=1) == 1
    is_largest = np.zeros((len(classes), table.shape[1]), bool)
    is_largest[codes[is_clear], table[is_clear].argmax(axis=1) if is_clear.any() else []] = True
    if (is_largest.sum(axis=1) > 1).any() or (is_largest.sum(axis=0) > 1).any():
        return None
    return [
        (value, int(row.argmax()) if row.any() else None)
        for value, row in zip(classes, is_largest, strict=True)
    ]


def _find_favourable_places(
    table: FloatArray, class_places: Sequence[tuple[Scalar, int | None]], rule: OutcomeRule
) -> list[int] | None:
    places_by_outcome: dict[Outcome, list[int]] = {outcome: [] for outcome in Outcome}
    for value, place in class_places:
        if place is not None:
            places_by_outcome[rule.classify(value)].append(place)
    favourable = places_by_outcome[Outcome.FAVOURABLE]
    unfavourable = places_by_outcome[Outcome.UNFAVOURABLE]
    if len(favourable) == len(rule.favourable):
        return favourable
    # If all classes are listed, the places left by the other side are this side's.
    if len(unfavourable) == len(rule.unfavourable) and table.shape[1] == len(rule.favourable) + len(
        rule.unfavourable
    ):
        return [column for column in range(table.shape[1]) if column not in unfavourable]
    return None
