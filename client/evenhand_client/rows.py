"""Rows that a model was asked about, and its answers, in any form that models use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .values import JsonObject, columns_of, plain_list

OUTPUTS = ("prediction", "probability")
"""Names of the columns of an answer, where nothing else is said."""


class Answers(NamedTuple):
    predictions: list[Any]
    probabilities: list[Any] | None = None


def features_of(rows: Any, names: Sequence[str] | None) -> list[JsonObject]:  # noqa: ANN401 - a frame, an array, a list
    """Returns the features of each row; `names` are those of rows that have none.

    Raises:
        TypeError, ValueError: the rows cannot be read.
    """
    if isinstance(rows, Iterator):
        raise TypeError("rows that a generator makes can be read once, by the model; give the model a list of them")
    # In a list of dictionaries one may lack a name.
    columns = None if isinstance(rows, (list, tuple)) else columns_of(rows)
    if columns is not None:
        lists = [plain_list(values) for values in columns.values()]
        if len(set(map(len, lists))) > 1:
            raise ValueError(f"columns differ in length: {', '.join(f'{name} has {len(values)}' for name, values in zip(columns, lists))}")
        return [dict(zip(columns, row)) for row in zip(*lists)]
    plain = plain_list(rows)
    if all(hasattr(row, "keys") for row in plain):
        return [dict(row) for row in plain]
    if names is None:
        raise ValueError("the rows have no names; give feature_names to monitored()")
    lists = [plain_list(row) for row in plain]
    if set(map(len, lists)) != {len(names)}:
        raise ValueError(f"{len(names)} values a row were expected, {', '.join(names)}; found {lists!r:.100}")
    return [dict(zip(names, row)) for row in lists]


def answers_of(answer: Any, outputs: tuple[str, str] = OUTPUTS) -> Answers:  # noqa: ANN401 - what a model returns
    """Returns the answers; `outputs` name the columns of predictions and of probabilities in a frame.

    Raises:
        TypeError, ValueError: the answers cannot be read.
    """
    columns = columns_of(answer)
    if columns is None:
        return Answers(one_a_row(answer))
    prediction, probability = outputs
    if len(columns) == 1 and probability not in columns:
        (prediction,) = columns
    if prediction not in columns:
        raise ValueError(f"no column of the answer is named {prediction!r}, found {', '.join(columns)}; name one in outputs")
    return Answers(one_a_row(columns[prediction]), one_a_row(columns[probability]) if probability in columns else None)


def likeliest_of(shares: Any, classes: Sequence[Any]) -> Answers:  # noqa: ANN401 - as above
    """Returns the likeliest class of each row and its probabilities, in the order of the classes.

    Raises:
        TypeError, ValueError: the probabilities cannot be read, or are not one for each class.
    """
    names = [str(name) for name in classes]
    rows = features_of(shares, names)
    if any(row.keys() != set(names) for row in rows):
        raise ValueError(f"expected a probability of each class, {', '.join(names)}; found {rows!r:.100}")
    lists = [[row[name] for name in names] for row in rows]
    # One that is missing hides which is the highest.
    places = [row.index(max(row)) if all(share == share for share in row) else None for row in lists]  # noqa: PLR0124 - NaN is not itself
    return Answers([None if place is None else classes[place] for place in places], lists)


def one_a_row(values: Any) -> list[Any]:  # noqa: ANN401 - a column, an array, a list
    """Returns the values of a column, also of one in two dimensions. Raises TypeError if it is something else."""
    found = plain_list(values)
    is_column = bool(found) and all(isinstance(row, (list, tuple)) and len(row) == 1 for row in found)
    return [row[0] for row in found] if is_column else found


def number_of(rows: Any) -> int:  # noqa: ANN401 - as above
    """Returns the number of rows of a call that cannot be read; 1 where that cannot be read either."""
    try:
        return len(rows)
    except Exception:  # noqa: BLE001 - a generator, or a frame that is yet to be computed
        return 1
