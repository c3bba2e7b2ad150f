"""Predictions from the columns of a model's answer."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, repeat
from typing import NoReturn, cast

import msgspec

from ..base.errors import ScoringFailed
from ..base.frozen import frozen
from ..base.values import MAX_TEXT, Scalar
from ..domain.deployment import OutputFields
from ..domain.record import Prediction, round_probability
from .find_outputs import OutputsUnclear, find_outputs
from .model_classes import Classes, ClassesUnclear
from .wire import RowList, name_kind

_SCALARS = frozenset((str, int, float, bool))
_NUMBERS = frozenset((int, float))
_FLOATS = list[float]
_LARGEST_INTEGER = 2**63


@frozen
class Answer:
    """A model's answer: its columns and the outputs. Position i is row i."""

    fields: list[str]
    rows: RowList
    predictions: list[Prediction]


def require_rows(rows: int, expected: int) -> None:
    if rows != expected:
        raise ScoringFailed(f"The model's endpoint answered {rows:,} rows for a page of {expected:,}.")


def read_outputs(
    fields: Sequence[str], column: Callable[[int], Sequence[object]], outputs: OutputFields
) -> list[Prediction]:
    """Returns one prediction per row; `column` gives the values at a position. All outputs must be there.
    Raises ScoringFailed.
    """
    try:
        at = find_outputs(fields, outputs)
    except OutputsUnclear as error:
        raise ScoringFailed(f"The model's endpoint gave an answer that {error}.") from error
    for role, name, position in (
        ("probability", outputs.probability, at.probability),
        ("label", outputs.label, at.label),
    ):
        if name is not None and position is None:
            raise ScoringFailed(
                f"The model's endpoint gave an answer without the {role} column '{name}' that the "
                "deployment names."
            )
    return to_predictions(
        column(at.prediction),
        None if at.probability is None else column(at.probability),
        None if at.label is None else column(at.label),
        outputs,
    )


def predict_alone(column: Sequence[object], outputs: OutputFields) -> list[Prediction]:
    """Returns the predictions of the only column of an answer. Raises ScoringFailed."""
    return to_predictions(column, column if outputs.has_only_probabilities else None, None, outputs)


def to_predictions(
    predictions: Sequence[object],
    probabilities: Sequence[object] | None,
    labels: Sequence[object] | None,
    outputs: OutputFields,
) -> list[Prediction]:
    """Returns one prediction per row from columns of one length. Raises ScoringFailed."""
    classes = None if outputs.classes is None else Classes(outputs.classes)
    chances = None if probabilities is None else _require_probabilities(probabilities, classes)
    if classes is None or chances is None or not outputs.has_only_probabilities:
        scalars = _require_scalars("prediction", predictions)
        named = scalars if classes is None else classes.canonical(scalars)
    else:
        try:
            named = classes.likeliest(chances)
        except ClassesUnclear as error:
            raise ScoringFailed(f"The model's endpoint gave {error}.") from error
    return list(
        map(
            Prediction,
            named,
            repeat(None) if chances is None else chances,
            repeat(None) if labels is None else _require_scalars("label", labels),
        )
    )


def _require_scalars(role: str, values: Sequence[object]) -> Sequence[Scalar]:
    # Each distinct value once: a page of a million rows has few.
    distinct = None
    with suppress(TypeError):
        distinct = set(values)
    if distinct is None or not _SCALARS.issuperset(map(type, distinct)):
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
        if isinstance(value, int) and abs(value) >= _LARGEST_INTEGER:
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
    kinds = set(map(type, values))
    if kinds == {dict} and classes is not None:
        try:
            values = [classes.in_order(value) for value in values if isinstance(value, dict)]
        except ClassesUnclear as error:
            raise ScoringFailed(f"The model's endpoint gave {error}.") from error
    arrays = [value for value in values if isinstance(value, list)]
    if len(arrays) < len(values) or not all(arrays):
        expected = "a number or a filled array of numbers, alike in every row"
        if dict in kinds and classes is None:
            expected += " (for an object of classes, list them in outputs.classes)"
        _refuse_type("probability", values, expected, _NUMBERS | {list})
    try:
        return list(map(tuple, msgspec.convert(arrays, list[_FLOATS])))
    except msgspec.ValidationError:
        _refuse_type("probability array's value", list(chain.from_iterable(arrays)), "a number", _NUMBERS)


def fit_probability(prediction: Prediction) -> Prediction:
    """Returns the prediction with its probability in [0, 1]. Raises ScoringFailed for one that rounding
    did not move out.
    """
    probability = prediction.probability
    if probability is None or (isinstance(probability, float) and 0 <= probability <= 1):
        return prediction
    numbers = probability if isinstance(probability, tuple) else (probability,)
    fitted = []
    for number in numbers:
        rounded = round_probability(number)
        if rounded is None:
            raise ScoringFailed(
                f"The model's endpoint gave the probability {number!r}; a probability lies between 0 and 1."
            )
        fitted.append(rounded)
    if tuple(fitted) == numbers:
        return prediction
    return replace(
        prediction,
        probability=tuple(fitted) if isinstance(probability, tuple) else fitted[0],
        is_rounded=True,
    )


def _refuse_type(
    role: str, values: Sequence[object], expected: str, allowed: frozenset[type] = _SCALARS
) -> NoReturn:
    for index, value in enumerate(values):
        if type(value) not in allowed or value == []:
            kind = "null" if value is None else name_kind(value)
            raise ScoringFailed(
                f"The model's endpoint gave {kind} as the {role} of row {index + 1}, where {expected} was "
                "expected."
            )
    raise ScoringFailed(f"The model's endpoint mixed kinds of {role}, where {expected} was expected.")
