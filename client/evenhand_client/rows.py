"""What a model was asked and what it answered, a row each, in any form that models use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .values import columns_of, plain_list

PREDICTION, PROBABILITY = OUTPUTS = ("prediction", "probability")
"""Names of the columns of an answer, where nothing else is said."""


class Answers(NamedTuple):
    """One prediction a row, and one probability a row if there are any."""

    predictions: list[Any]
    probabilities: list[Any] | None = None


def features_of(rows: Any, names: Sequence[str] | None) -> list[dict[str, Any]]:  # noqa: ANN401 - a frame, an array, a list
    """Returns the features of each row; `names` are those of rows that have none.

    Raises:
        TypeError, ValueError: the rows cannot be read.
    """
    if isinstance(rows, Iterator):
        raise TypeError("rows that a generator makes can be read once, by the model; give the model a list of them")
    # In a list of dictionaries one may lack a name.
    columns = None if isinstance(rows, (list, tuple)) else read_columns(rows)
    if columns is not None:
        return [dict(zip(columns, row)) for row in zip(*columns.values())]
    plain = plain_list(rows)
    if all(hasattr(row, "keys") for row in plain):
        return [dict(row) for row in plain]
    lists = [plain_list(row) for row in plain]
    if names is None:
        raise ValueError("the rows have no names; give feature_names to monitored()")
    for row in lists:
        if len(row) != len(names):
            raise ValueError(f"a row has {len(row)} values, and there are {len(names)} feature_names")
    return [dict(zip(names, row)) for row in lists]


def read_columns(frame: Any) -> dict[str, list[Any]] | None:  # noqa: ANN401 - as above
    """Returns the columns of a frame as lists; None if it is none.

    Raises:
        TypeError, ValueError: a name is no text, or the columns differ in length.
    """
    found = columns_of(frame)
    if found is None:
        return None
    columns = {}
    for name, values in found.items():
        if not isinstance(name, (str, int)):
            raise TypeError(f"a column must be named by one text, found {name!r}; rename it")
        columns[str(name)] = plain_list(values)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(columns) < len(found):
        raise ValueError(f"two columns have one name, of {', '.join(map(str, found))}; rename one")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns differ in length: {lengths}")
    return columns


def answers_of(answer: Any, outputs: tuple[str, str] = OUTPUTS) -> Answers:  # noqa: ANN401 - what a model returns
    """Returns the answers; `outputs` name the columns of predictions and of probabilities in a frame.

    Raises:
        TypeError, ValueError: the answers cannot be read.
    """
    columns = columns_of(answer)
    if columns is None:
        return Answers(one_a_row(answer))
    prediction, probability = outputs
    if prediction not in columns and (len(columns) != 1 or probability in columns):
        raise ValueError(f"no column of the answer is named {prediction!r}, found {', '.join(map(str, columns))}; name one in outputs")
    chosen = columns[prediction] if prediction in columns else next(iter(columns.values()))
    return Answers(one_a_row(chosen), one_a_row(columns[probability]) if probability in columns else None)


def likeliest_of(shares: Any, classes: Any) -> Answers:  # noqa: ANN401 - as above
    """Returns the likeliest class of each row and its probabilities, in the order of `classes`; None are the columns of a frame.

    Raises:
        TypeError, ValueError: the probabilities cannot be read, or are not one for each class.
    """
    columns = columns_of(shares)
    names = list(columns or ()) if classes is None else plain_list(classes)
    if columns is None:
        rows = [plain_list(row) for row in plain_list(shares)]
    else:
        by_text = {str(name): plain_list(values) for name, values in columns.items()}
        if by_text.keys() != {str(name) for name in names}:
            raise ValueError(f"the columns {', '.join(by_text)} of the probabilities are not the classes {', '.join(map(str, names))}")
        rows = [list(row) for row in zip(*(by_text[str(name)] for name in names))]
    for row in rows:
        if len(row) != len(names):
            raise ValueError(f"a row has {len(row)} probabilities, and there are {len(names)} classes")
    # One that is missing hides which is the highest.
    are_complete = [all(share == share for share in row) for row in rows]  # noqa: PLR0124 - NaN is not itself
    return Answers([names[row.index(max(row))] if is_complete else None for row, is_complete in zip(rows, are_complete)], rows)


def one_a_row(values: Any) -> list[Any]:  # noqa: ANN401 - a column, an array, a list
    """Returns the values of a column, also of one in two dimensions. Raises TypeError if it is something else."""
    found = plain_list(values)
    is_column = bool(found) and all(isinstance(row, (list, tuple)) and len(row) == 1 for row in found)
    return [row[0] for row in found] if is_column else found


def number_of(rows: Any) -> int:  # noqa: ANN401 - as above
    """Returns the number of rows of a call that cannot be read; 1 where that cannot be read either."""
    try:
        return 1 if isinstance(rows, (str, bytes, Mapping)) else int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
    except Exception:  # noqa: BLE001 - a generator, or a frame that is yet to be computed
        return 1
