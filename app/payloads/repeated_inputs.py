"""Answers that repeat their inputs, compared with what was asked."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.errors import ScoringFailed
from ..base.values import canonical, exact_number
from ..domain.deployment import OutputFields
from .find_outputs import output_names
from .read_predictions import Answer
from .wire import Names, Rows

_BOOLEANS = {"true": 1, "false": 0}


def put_in_order(answer: Answer, fields: Names, rows: Rows, outputs: OutputFields) -> Answer:
    """Returns the answer in the order of the rows that were asked. Raises ScoringFailed."""
    order = find_order(fields, rows, answer.fields, answer.rows, outputs)
    if order is None:
        return answer
    return Answer(
        answer.fields,
        [answer.rows[position] for position in order],
        [answer.predictions[position] for position in order],
    )


def find_order(
    fields: Names, rows: Rows, answered: Names, answers: Rows, outputs: OutputFields
) -> list[int] | None:
    """Returns the place of the answer to each row; None where the answers are in order, or repeat no inputs.

    Values that differ in type or rounding are the same, and a value that was missing may be any. Raises
    ScoringFailed.
    """
    named = output_names(outputs)
    shared = [
        (position, answered.index(name))
        for position, name in enumerate(fields)
        if name in answered and name not in named
    ]
    unequal = [
        (position, at)
        for position, at in shared
        if [row[position] for row in rows] != [answer[at] for answer in answers]
    ]
    pairs = enumerate(zip(rows, answers, strict=True))
    fault = next(
        (
            (no, position)
            for no, (row, answer) in pairs
            for position, at in unequal
            if not _are_same(row[position], answer[at])
        ),
        None,
    )
    if fault is None:
        return None
    for rounded in (exact_number, _round_to_single, "{:.6g}".format):

        def write(cells: Sequence[Any], positions: Sequence[int], rounded: Any = rounded) -> str:  # noqa: ANN401 - one of three functions
            plain = [_read_cell(cells[position]) for position in positions]
            return repr([rounded(cell) if isinstance(cell, int | float) else cell for cell in plain])

        sent = [write(row, [position for position, _ in shared]) for row in rows]
        repeated = [write(answer, [at for _, at in shared]) for answer in answers]
        pairs_in_order = [sorted(range(len(rows)), key=texts.__getitem__) for texts in (sent, repeated)]
        # Rows that only other columns distinguish cannot be found again.
        distinct = {(text, repr(list(map(_read_cell, row)))) for text, row in zip(sent, rows, strict=True)}
        if sorted(sent) == sorted(repeated) and len(distinct) == len(set(sent)):
            return [position for _, position in sorted(zip(*pairs_in_order, strict=True))]
    no, position = fault
    raise ScoringFailed(
        "The model's endpoint gave an answer that repeats inputs that are not those of the request: row "
        f"{no + 1} is the first that differs, in '{fields[position]}', and no other order has each row once. "
        "Let it answer in the order of the request, or leave out the columns named as inputs."
    )


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
    """Returns a number, also one that a text spells; 1 and 0 for true and false; else text, None for a
    missing value and NaN.
    """
    number = exact_number(cell) if isinstance(cell, str | int | float) else None
    if number is not None:
        return number
    return None if cell is None or cell != cell else _BOOLEANS.get(str(cell).lower(), str(cell))  # noqa: PLR0124 - NaN alone differs


def _round_to_single(number: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(number)
