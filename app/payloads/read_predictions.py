"""Reads predictions from a model's answer: which columns are the outputs, checks of their values, and the
order of rows, which repeated inputs show.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, NoReturn, cast

import msgspec
import numpy as np

from ..base.errors import ScoringFailed
from ..base.values import MAX_TEXT, Scalar, canonical, exact_number, frozen, join_first
from ..domain.deployment import OutputFields
from ..domain.record import Prediction, round_probability
from .model_classes import Classes, ClassesUnclear
from .wire import Names, RowList, Rows, name_kind

_SCALAR_TYPES = frozenset((str, int, float, bool))
_NUMBER_TYPES = frozenset((int, float))
_FLOATS = list[float]
_INTEGER_BOUND = 2**63


@frozen
class Answer:
    """All columns of an answer, and one prediction per row."""

    fields: list[str]
    rows: RowList
    predictions: list[Prediction]


def require_rows(rows: int, expected: int) -> None:
    if rows != expected:
        raise ScoringFailed(f"The model's endpoint answered {rows:,} rows for a page of {expected:,}.")


def read_outputs(
    fields: Sequence[str], column: Callable[[int], Sequence[object]], outputs: OutputFields
) -> list[Prediction]:
    """Raises ScoringFailed if an output is missing."""
    try:
        positions = find_outputs(fields, outputs)
    except OutputsUnclear as error:
        raise ScoringFailed(f"The model's endpoint gave an answer that {error}.") from error
    for role, name, position in (
        ("probability", outputs.probability, positions.probability),
        ("label", outputs.label, positions.label),
    ):
        if name is not None and position is None:
            raise ScoringFailed(
                f"The model's endpoint gave an answer without the {role} column '{name}' that the "
                "deployment names."
            )
    return build_predictions(
        column(positions.prediction),
        None if positions.probability is None else column(positions.probability),
        None if positions.label is None else column(positions.label),
        outputs,
    )


def predict_from_one_column(column: Sequence[object], outputs: OutputFields) -> list[Prediction]:
    """Raises ScoringFailed."""
    return build_predictions(column, column if outputs.has_only_probabilities else None, None, outputs)


def build_predictions(
    predictions: Sequence[object],
    probabilities: Sequence[object] | None,
    labels: Sequence[object] | None,
    outputs: OutputFields,
) -> list[Prediction]:
    """All columns have one length. Raises ScoringFailed."""
    classes = None if outputs.classes is None else Classes(outputs.classes)
    class_probabilities = None if probabilities is None else _require_probabilities(probabilities, classes)
    if classes is None or class_probabilities is None or not outputs.has_only_probabilities:
        scalars = _require_scalars("prediction", predictions)
        spelled_predictions = scalars if classes is None else classes.spell_as_listed(scalars)
    else:
        try:
            spelled_predictions = classes.choose_likeliest(class_probabilities)
        except ClassesUnclear as error:
            raise ScoringFailed(f"The model's endpoint gave {error}.") from error
    return list(
        map(
            Prediction,
            spelled_predictions,
            repeat(None) if class_probabilities is None else class_probabilities,
            repeat(None) if labels is None else _require_scalars("label", labels),
        )
    )


def _require_scalars(role: str, values: Sequence[object]) -> Sequence[Scalar]:
    # Each distinct value once: a page of a million rows has few.
    distinct = None
    with suppress(TypeError):
        distinct = set(values)
    if distinct is None or not _SCALAR_TYPES.issuperset(map(type, distinct)):
        _refuse_type(role, values, "a number, text, true or false")
    scalars = cast("Sequence[Scalar]", values)
    for value in cast("set[Scalar]", distinct):
        if isinstance(value, str) and "\0" in value:
            raise ScoringFailed(
                f"The model's endpoint gave a {role} that holds a NUL character (in row "
                f"{values.index(value) + 1})."
            )
        if isinstance(value, str) and len(value) > MAX_TEXT:
            row = values.index(value) + 1
            raise ScoringFailed(
                f"The model's endpoint gave a {role} of more than {MAX_TEXT:,} characters (in row {row})."
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise ScoringFailed(
                f"The model's endpoint gave {value} as the {role} (in row {values.index(value) + 1})."
            )
        # The database's integers have 64 bits.
        if isinstance(value, int) and abs(value) >= _INTEGER_BOUND:
            raise ScoringFailed(
                f"The model's endpoint gave a {role} beyond 64 bits (in row {values.index(value) + 1})."
            )
    return scalars


def _require_probabilities(
    values: Sequence[object], classes: Classes | None
) -> Sequence[float | tuple[float, ...]]:
    with suppress(msgspec.ValidationError):
        # A third of the time that looking at the type of each takes.
        return msgspec.convert(values, _FLOATS)
    types = set(map(type, values))
    if types == {dict} and classes is not None:
        try:
            values = [classes.list_by_class(value) for value in values if isinstance(value, dict)]
        except ClassesUnclear as error:
            raise ScoringFailed(f"The model's endpoint gave {error}.") from error
    arrays = [value for value in values if isinstance(value, list)]
    if len(arrays) < len(values) or not all(arrays):
        expected = "a number or a filled array of numbers, alike in every row"
        if dict in types and classes is None:
            expected += " (for an object of classes, list them in outputs.classes)"
        _refuse_type("probability", values, expected, _NUMBER_TYPES | {list})
    try:
        return list(map(tuple, msgspec.convert(arrays, list[_FLOATS])))
    except msgspec.ValidationError:
        _refuse_type(
            "probability array's value", list(chain.from_iterable(arrays)), "a number", _NUMBER_TYPES
        )


def fit_probability(prediction: Prediction) -> Prediction:
    """Raises ScoringFailed of one further out."""
    probability = prediction.probability
    if probability is None or (isinstance(probability, float) and 0 <= probability <= 1):
        return prediction
    numbers = probability if isinstance(probability, tuple) else (probability,)
    rounded_numbers = []
    for number in numbers:
        rounded = round_probability(number)
        if rounded is None:
            raise ScoringFailed(
                f"The model's endpoint gave the probability {number!r}; a probability lies between 0 and 1."
            )
        rounded_numbers.append(rounded)
    if tuple(rounded_numbers) == numbers:
        return prediction
    return replace(
        prediction,
        probability=tuple(rounded_numbers) if isinstance(probability, tuple) else rounded_numbers[0],
        is_rounded=True,
    )


def _refuse_type(
    role: str, values: Sequence[object], expected: str, allowed: frozenset[type] = _SCALAR_TYPES
) -> NoReturn:
    for index, value in enumerate(values):
        if type(value) not in allowed or value == []:
            kind = "null" if value is None else name_kind(value)
            raise ScoringFailed(
                f"The model's endpoint gave {kind} as the {role} of row {index + 1}, where {expected} was "
                "expected."
            )
    raise ScoringFailed(f"The model's endpoint mixed kinds of {role}, where {expected} was expected.")


FALLBACK_PREDICTIONS = ("prediction", "predictedLabel", "predicted_label")
"""Columns that may be the prediction if the named one is absent and exactly one of these is there: published
OpenScale scripts declare `predictedLabel` while their endpoint answers `prediction`.
"""

_MAX_LISTED_COLUMNS = 12


def list_output_names(outputs: OutputFields) -> set[str]:
    return {*outputs.names, *FALLBACK_PREDICTIONS}


class OutputsUnclear(ValueError):
    """Columns of an answer that cannot be distinguished; the message continues "the answer …"."""


@frozen
class OutputPositions:
    prediction: int
    probability: int | None
    label: int | None


def find_outputs(fields: Names, outputs: OutputFields) -> OutputPositions:
    """Raises OutputsUnclear."""
    prediction = outputs.prediction
    if prediction not in fields:
        reserved = (outputs.probability, outputs.label)
        # A label of such a name must not become the prediction.
        candidates = [name for name in FALLBACK_PREDICTIONS if name in fields and name not in reserved]
        if not candidates:
            raise OutputsUnclear(f"has no prediction column '{prediction}'; it has {list_names(fields)}")
        if len(candidates) > 1:
            raise OutputsUnclear(
                f"has no prediction column '{prediction}', and each of {list_names(candidates)} could be it; "
                "name one of them as the deployment's prediction field"
            )
        prediction = candidates[0]
    for name in (prediction, outputs.probability, outputs.label):
        if fields.count(name) > 1:
            raise OutputsUnclear(f"names the column '{name}' more than once")
    probability, label = (
        fields.index(name) if name in fields else None for name in (outputs.probability, outputs.label)
    )
    return OutputPositions(fields.index(prediction), probability, label)


def list_names(fields: Names) -> str:
    return join_first((f"'{field}'" for field in fields), _MAX_LISTED_COLUMNS) or "no column at all"


_NUMBERS_OF_BOOLEANS = {"true": 1, "false": 0}


def put_in_order(answer: Answer, fields: Names, rows: Rows, outputs: OutputFields) -> Answer:
    """Raises ScoringFailed."""
    order = find_order(fields, rows, answer.fields, answer.rows, outputs)
    if order is None:
        return answer
    return Answer(
        answer.fields,
        [answer.rows[position] for position in order],
        [answer.predictions[position] for position in order],
    )


def find_order(
    fields: Names, rows: Rows, answer_fields: Names, answers: Rows, outputs: OutputFields
) -> list[int] | None:
    """Finds the position of the answer to each row; None where they are in order, or repeat no inputs.

    Values that differ in type or rounding are the same, and a missing value may be any. Raises ScoringFailed.
    """
    output_names = list_output_names(outputs)
    shared = [
        (position, answer_fields.index(name))
        for position, name in enumerate(fields)
        if name in answer_fields and name not in output_names
    ]
    unequal = [
        (position, answer_position)
        for position, answer_position in shared
        if [row[position] for row in rows] != [answer[answer_position] for answer in answers]
    ]
    fault = next(
        (
            (row_number, position)
            for row_number, (row, answer) in enumerate(zip(rows, answers, strict=True), start=1)
            for position, answer_position in unequal
            if not _are_same(row[position], answer[answer_position])
        ),
        None,
    )
    if fault is None:
        return None
    sent_positions = [position for position, _ in shared]
    answer_positions = [answer_position for _, answer_position in shared]
    for round_number in (exact_number, _round_to_single, "{:.6g}".format):
        sent = [_write_cells(row, sent_positions, round_number) for row in rows]
        repeated = [_write_cells(answer, answer_positions, round_number) for answer in answers]
        orders = [sorted(range(len(rows)), key=texts.__getitem__) for texts in (sent, repeated)]
        # Rows that only other columns distinguish cannot be found again.
        distinct = {(text, repr(list(map(_read_cell, row)))) for text, row in zip(sent, rows, strict=True)}
        if sorted(sent) == sorted(repeated) and len(distinct) == len(set(sent)):
            return [position for _, position in sorted(zip(*orders, strict=True))]
    row_number, position = fault
    raise ScoringFailed(
        "The model's endpoint gave an answer that repeats inputs that are not those of the request: row "
        f"{row_number} is the first that differs, in '{fields[position]}', "
        "and no other order has each row once. Let it answer in the order of the request, "
        "or leave out the columns named as inputs."
    )


def _write_cells(cells: Sequence[Any], positions: Sequence[int], round_number: Any) -> str:  # noqa: ANN401 - three unlike functions
    plain = [_read_cell(cells[position]) for position in positions]
    return repr([round_number(cell) if isinstance(cell, int | float) else cell for cell in plain])


def _are_same(sent: Any, repeated: Any) -> bool:  # noqa: ANN401 - cells as decoded
    sent_value = _read_cell(sent)
    repeated_value = _read_cell(repeated)
    if sent_value is None or sent_value == repeated_value:
        return True
    if not isinstance(sent_value, int | float) or not isinstance(repeated_value, int | float):
        return False
    # No tolerance: numbers of customers hardly differ.
    single = _round_to_single(sent_value)
    decimals = len(canonical(repeated_value).partition(".")[2])
    return repeated_value in (
        float(single),
        float(str(single)),
        float(f"{sent_value:.6g}"),
        round(sent_value, decimals),
    )


def _read_cell(cell: Any) -> float | str | None:  # noqa: ANN401 - as above
    """Text that spells a number and booleans as numbers; None for a missing value and NaN."""
    number = exact_number(cell) if isinstance(cell, str | int | float) else None
    if number is not None:
        return number
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN alone differs
        return None
    return _NUMBERS_OF_BOOLEANS.get(str(cell).lower(), str(cell))


def _round_to_single(number: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(number)
