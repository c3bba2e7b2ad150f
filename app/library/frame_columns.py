"""One column of a frame as arrays: positions in its distinct values, or numbers."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray

from ..base.errors import InvalidInput
from ..base.values import (
    BOOLEANS,
    Range,
    Scalar,
    canonical,
    exact_number,
    frozen_arrays,
    is_number,
    name_value,
    plain_cell,
    quote_names,
    read_number,
)
from ..statistics.group_labels import FloatArray, IntArray

Column: TypeAlias = "pd.Series[Any]"

Codes = NDArray[np.signedinteger[Any]]
"""Code of each record, in the narrowest type that holds them all."""

MISSING = -1
"""Code of a record without a value."""

MAX_DISTINCT_VALUES = 10_000


@frozen_arrays
class Encoded:
    """A column by its distinct values: `codes` [records] are positions in `texts`, or MISSING.

    Texts are canonical: `1`, `1.0` and `"1"` are one value. Where types were kept, `numerals` are the
    positions of text that spells a number.
    """

    name: str
    codes: Codes
    texts: tuple[str, ...]
    is_numeric: bool
    is_boolean: bool
    numerals: frozenset[int] = frozenset()

    @property
    def values(self) -> list[Scalar]:
        """Distinct values in the order of `texts`, numbers and booleans as such."""
        if self.is_boolean:
            return [text == "true" for text in self.texts]
        numbers = [
            None if position in self.numerals else exact_number(text)
            for position, text in enumerate(self.texts)
        ]
        return [text if number is None else number for text, number in zip(self.texts, numbers, strict=True)]

    def spell(self, value: Scalar) -> str:
        """Text of a value as the column spells it: `1.0` is `1` among numbers, `True` is `true` among
        booleans.
        """
        if self.is_boolean:
            text = canonical(value).lower()
            return canonical(BOOLEANS.get(text, text))
        number = exact_number(value) if self.is_numeric and not isinstance(value, bool) else None
        return canonical(value if number is None else number)

    def count_values(self) -> dict[str, int]:
        counts = count_codes(self.codes, len(self.texts))[:-1]
        return {self.texts[code]: int(counts[code]) for code in np.argsort(-counts, kind="stable").tolist()}


def check_name(name: object, option: str) -> str:
    """Raises InvalidInput of the `option`: the name is no text."""
    if not isinstance(name, str):
        raise InvalidInput(
            option,
            f"must name a column by text, found {name!r:.100}; frame.rename(columns=str) makes text of all "
            "names",
        )
    return name


def check_names(names: object, option: str) -> tuple[str, ...]:
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else names
    return tuple(check_name(name, option) for name in listed)


def require_column(frame: pd.DataFrame, name: str, option: str) -> Column:
    """Column of that name. Raises InvalidInput: there is none, or several, or the name is not text."""
    check_name(name, option)
    if frame.columns.nlevels > 1:
        raise InvalidInput(
            "frame", f"must have columns of one name each, found names of {frame.columns.nlevels} levels"
        )
    if name not in frame.columns:
        raise InvalidInput(
            option,
            f"{name!r} is not a column; there are {quote_names([str(column) for column in frame.columns])}",
        )
    namesakes = list(frame.columns).count(name)
    if namesakes > 1:
        raise InvalidInput(option, f"{name!r} is the name of {namesakes} columns; rename all but one")
    return frame[name]


def encode(
    column: Column, option: str, *, keeps_types: bool = False, limit: int = MAX_DISTINCT_VALUES
) -> Encoded:
    """Encodes a column by its distinct values, in order of appearance.

    `keeps_types` distinguishes the text "1" from the number 1.

    Raises:
        InvalidInput: it has more than `limit`.
    """
    codes, values = _factorize(column, option, limit)
    cells = [_read_plain(value) for value in values]
    # A canonical text, and whether it was text already.
    spellings = [(canonical(cell), keeps_types and isinstance(cell, str)) for cell in cells]
    position_of = {spelling: position for position, spelling in enumerate(dict.fromkeys(spellings))}
    return Encoded(
        name=str(column.name),
        codes=look_up([position_of[spelling] for spelling in spellings], codes, missing=MISSING),
        texts=tuple(text for text, _ in position_of),
        is_numeric=is_numeric_column(column),
        is_boolean=pd.api.types.is_bool_dtype(column.dtype),
        numerals=frozenset(
            position
            for (text, is_text), position in position_of.items()
            if is_text and read_number(text) is not None
        ),
    )


def _factorize(column: Column, option: str, limit: int) -> tuple[Codes, list[Any]]:
    try:
        codes, distinct = pd.factorize(column)
        uniques: list[Any] = distinct.tolist()
        hash(tuple(uniques))  # pandas distinguishes lists of some types, which could not be looked up
    except (TypeError, NotImplementedError) as error:  # pandas raises either, by the type
        record, unhashable = next(
            ((number, value) for number, value in enumerate(column, 1) if not isinstance(value, Hashable)),
            (1, None),
        )
        raise InvalidInput(
            option,
            f"{column.name!r} must hold text, numbers or true/false, found {unhashable!r:.100} in "
            f"record {record:,}",
        ) from error
    if column.dtype == object and pd.api.types.infer_dtype(column).startswith("mixed"):
        # To pandas True is 1 and False is 0, and it keeps the first that it meets.
        codes, pairs = pd.factorize(
            column.map(lambda value: (isinstance(value, bool), value), na_action="ignore").to_numpy()
        )
        uniques = [value for _, value in pairs.tolist()]
    if len(uniques) > limit:
        raise InvalidInput(
            option,
            f"{column.name!r} holds {len(uniques):,} different values where at most {limit:,} are expected; "
            "divide it into ranges",
        )
    return codes.astype(choose_integer_type(len(uniques))), uniques


def choose_integer_type(beyond: int) -> DTypeLike:
    return np.min_scalar_type(-max(beyond, 1))


def look_up(code_map: Sequence[int] | IntArray, codes: Codes, *, missing: int) -> Codes:
    """Replaces each record's code by that at its position in `code_map`; -1 becomes `missing`."""
    # The code -1 is the last position.
    return np.array([*code_map, missing], choose_integer_type(max([*code_map, missing]) + 1))[codes]


def count_codes(codes: Codes, size: int) -> IntArray:
    """Those without a code are last."""
    return np.roll(np.bincount(codes.astype(int) + 1, minlength=size + 1), -1)


def is_numeric_column(column: Column) -> bool:
    """Whether the column holds numbers, perhaps as objects; booleans are none."""
    if column.dtype == object:
        return pd.api.types.infer_dtype(column) in ("decimal", "integer", "floating", "mixed-integer-float")
    return pd.api.types.is_any_real_numeric_dtype(column.dtype)


def convert_numbers(column: Column, option: str) -> FloatArray:
    """Converts a column to numbers [records], NaN without a value. Text that spells a number is one.

    Raises:
        InvalidInput: a value is not a finite number.
    """
    numbers, not_numbers = _read_numbers(column)
    if not_numbers.any():
        raise InvalidInput(
            option,
            f"{column.name!r} must hold numbers, found {_read_plain(column[not_numbers].iloc[0])!r:.100} in "
            f"{name_records(not_numbers)}",
        )
    return numbers


def convert_some_numbers(column: Column, option: str, notes: list[str]) -> FloatArray:
    """As `convert_numbers`, but NaN for a value that is no finite number, which adds a sentence to `notes`.

    Raises InvalidInput: there are values, and none is a number.
    """
    numbers, not_numbers = _read_numbers(column)
    if not not_numbers.any() or np.isnan(numbers).all():
        return convert_numbers(column, option)
    first = f"{_read_plain(column[not_numbers].iloc[0])!r:.100} in record {int(np.argmax(not_numbers)) + 1:,}"
    notes.append(
        f"{column.name!r} holds numbers: {not_numbers.sum():,} of its {len(column):,} cells are none and "
        f"left out, the first {first}"
    )
    return numbers


def _read_numbers(column: Column) -> "tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]":
    """Numbers [records], NaN elsewhere; and marks [records] of values that are no finite number."""
    if pd.api.types.is_any_real_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        infinite = np.isinf(numbers)
        return np.where(infinite, np.nan, numbers), infinite
    cells = [_read_plain(value) for value in column]
    numbers = np.array(
        [float(cell) if isinstance(cell, bool) else read_number(cell) for cell in cells], float
    )
    return numbers, np.isnan(numbers) & column.notna().to_numpy()


def _read_plain(value: object) -> Any:  # noqa: ANN401 - any value
    return plain_cell(value.item() if isinstance(value, np.generic) else value)


def convert_complete_numbers(column: Column, option: str) -> FloatArray:
    """Numbers [records]. Raises InvalidInput: a value is missing or not a finite number."""
    numbers = convert_numbers(column, option)
    missing = np.isnan(numbers)
    if missing.any():
        raise InvalidInput(
            option,
            f"{column.name!r} must have a number in each record, and has none in {name_records(missing)}",
        )
    return numbers


def read_listing(listed: object, option: str) -> tuple[Scalar | Range, ...]:
    """Reads one value, one range (lo, hi), or a list of these.

    Raises InvalidInput: nothing, mixed kinds, a range that is not valid, repeated or overlapping ones.
    """
    # Two numbers in a tuple are a range; in a list they are two values.
    elements = (
        list(listed)
        if isinstance(listed, Sequence | set | frozenset | pd.Index | np.ndarray)
        and not isinstance(listed, str | tuple)
        else [listed]
    )
    values = tuple(_read_listed(element, option) for element in elements)
    if not values:
        raise InvalidInput(option, "must list at least one value")
    if len({isinstance(value, Range) for value in values}) > 1:
        raise InvalidInput(option, "mixes values and ranges; use one form")
    ranges = sorted((value for value in values if isinstance(value, Range)), key=lambda bounds: bounds.lo)
    for earlier, later in pairwise(ranges):
        if earlier.overlaps(later):
            raise InvalidInput(
                option, f"{later.label} overlaps {earlier.label} (both ends belong to a range)"
            )
    texts = set()
    for text in map(name_value, values):
        if text in texts:
            raise InvalidInput(option, f"{text!r} is listed twice")
        texts.add(text)
    return values


def _read_listed(listed: object, option: str) -> Scalar | Range:
    value = _read_plain(listed)
    if isinstance(value, tuple):
        ends = [_read_plain(end) for end in value]
        if len(ends) != 2 or not all(map(is_number, ends)):  # noqa: PLR2004 - its two ends
            raise InvalidInput(option, f"a range must be two numbers (lo, hi), found {value!r}")
        if not ends[0] <= ends[1]:
            raise InvalidInput(option, f"lo {ends[0]} of a range is above hi {ends[1]}")
        return Range(*ends)
    if isinstance(value, str | bool | int | float):
        return value
    raise InvalidInput(option, f"must list text, numbers, true/false or ranges (lo, hi), found {listed!r}")


def name_records(is_marked: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> str:
    first = int(np.argmax(is_marked)) + 1
    count = int(is_marked.sum())
    return f"record {first:,}" if count == 1 else f"{count:,} records, the first of them {first:,}"


def check_frame(frame: object) -> None:
    """Raises InvalidInput: it is no pandas DataFrame."""
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput("frame", f"must be a pandas DataFrame, found {type(frame).__name__}")
