"""Answers that repeat their inputs, compared with what was asked."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ..domain.deployments import OutputFields
from ..domain.values import canonical, exact_number
from ..errors import ScoringFailed
from .answers import Answer
from .outputs import output_names

_BOOLEANS = {"true": 1, "false": 0}


class RowsDiffer(ValueError):
    """Repeated inputs that are not those asked; the message continues "the answer …"."""


def put_in_order(answer: Answer, fields: Sequence[str], rows: Sequence[Sequence[Any]], outputs: OutputFields) -> Answer:
    """Returns the answer in the order of the rows that were asked. Raises ScoringFailed."""
    try:
        order = find_order(fields, rows, answer.fields, answer.rows, outputs)
    except RowsDiffer as error:
        raise ScoringFailed(f"The model's endpoint gave an answer that {error}.") from error
    if order is None:
        return answer
    return Answer(answer.fields, [answer.rows[place] for place in order], [answer.predictions[place] for place in order])


def find_order(
    fields: Sequence[str], rows: Sequence[Sequence[Any]], answered: Sequence[str], answers: Sequence[Sequence[Any]], outputs: OutputFields
) -> list[int] | None:
    """Returns the place of the answer to each row; None where the answers are in order, or repeat no inputs.

    Values that differ in type or rounding are the same, and a value that was missing may be any. Raises RowsDiffer.
    """
    taken = output_names(outputs)
    shared = [(place, answered.index(name)) for place, name in enumerate(fields) if name in answered and name not in taken]
    faults = []
    for place, at in shared:
        asked, repeated = [row[place] for row in rows], [answer[at] for answer in answers]
        if asked != repeated:
            pairs = enumerate(zip(asked, repeated, strict=True))
            faults += [(row, fields[place]) for row, pair in pairs if not _are_same(*pair)][:1]
    if not faults:
        return None
    for rounded in (exact_number, _round_to_single, "{:.6g}".format):
        keys = [tuple(_key_of(row[place], rounded) for place, _ in shared) for row in rows]
        places = defaultdict(list)
        for number, answer in enumerate(answers):
            places[tuple(_key_of(answer[at], rounded) for _, at in shared)].append(number)
        # Rows that only other columns distinguish cannot be found again.
        different = {(key, *(_key_of(cell, exact_number) for cell in row)) for key, row in zip(keys, rows, strict=True)}
        if len(different) == len(places) and Counter(keys) == {key: len(found) for key, found in places.items()}:
            return [places[key].pop(0) for key in keys]
    row, name = min(faults)
    raise RowsDiffer(
        f"repeats inputs that are not those of the request: row {row + 1} is the first that differs, in '{name}', and no other order has"
        " each row once; answer in the order of the request, or leave out the columns named as inputs"
    )


def _are_same(asked: Any, repeated: Any) -> bool:  # noqa: ANN401 - cells as decoded
    if asked == repeated or _is_missing(asked):
        return True
    one, other = _read_number(asked), _read_number(repeated)
    if one is None or other is None:
        return str(asked) == str(repeated)
    # No tolerance: numbers of customers hardly differ.
    single, decimals = _round_to_single(one), len(canonical(other).partition(".")[2])
    return other in (one, float(single), float(str(single)), float(f"{one:.6g}"), round(one, decimals))


def _key_of(cell: Any, rounded: Callable[[float], Hashable]) -> Hashable:  # noqa: ANN401 - as above
    if _is_missing(cell):
        return None
    number = _read_number(cell)
    return str(cell) if number is None else rounded(number)


def _round_to_single(number: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(number)


def _is_missing(cell: Any) -> bool:  # noqa: ANN401 - as above
    return cell is None or cell != cell  # noqa: PLR0124 - NaN alone differs from itself


def _read_number(cell: Any) -> float | None:  # noqa: ANN401 - as above
    """Returns a number, also one that a text spells; 1 and 0 for true and false."""
    number = exact_number(cell) if isinstance(cell, str | int | float) else None
    return _BOOLEANS.get(str(cell).lower()) if number is None else number
