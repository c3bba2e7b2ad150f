"""Which group of an attribute each record of a window is in. Source: spec of the fairness check, sections 1 to 3."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import prod
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.domain.deployments import Column, FieldType
from app.domain.monitor_rules import MAX_GROUPS_TOGETHER
from app.domain.monitors import MonitoredAttribute
from app.domain.texts import TOGETHER
from app.domain.values import GroupValue, Range, Scalar, canonical, exact_number, label_of, number_of
from app.errors import InvalidInput

Codes: TypeAlias = npt.NDArray[np.int64]

NEITHER = -1
"""The code of a record whose value is in neither group, or missing."""

MOST_REFERENCE_VALUES = 100
"""With `reference` left out every other value seen is one; beyond this many, copies would outnumber the records a hundredfold."""


@dataclass(frozen=True, slots=True)
class Group:
    """One monitored or reference value of an attribute."""

    label: str
    role: Literal["monitored", "reference"]
    value: GroupValue


@dataclass(frozen=True, slots=True)
class Grouping:
    """An attribute's groups, and per record of the window the position of its group, or NEITHER."""

    column: Column
    groups: tuple[Group, ...]
    codes: Codes

    @property
    def named(self) -> list[tuple[str, Literal["monitored", "reference"]]]:
        """(label, role) of each group, as the count tables want them."""
        return [(group.label, group.role) for group in self.groups]

    def is_monitored(self) -> npt.NDArray[np.bool_]:
        """Per group, whether it is monitored."""
        return np.array([group.role == "monitored" for group in self.groups], dtype=np.bool_)


def group_records(attribute: MonitoredAttribute, column: Column, values: pa.ChunkedArray) -> Grouping:
    """The groups of the attribute and where each record is; `values` are float64 for a numeric column, else text.

    Raises:
        InvalidInput: `reference` is left out and too many other values were seen.
    """
    encoded = values.combine_chunks().dictionary_encode()
    distinct = [_typed(value, column) for value in encoded.dictionary.to_pylist()]
    groups = _groups(attribute, column, distinct)
    of_distinct = np.array([*_positions(groups, column, distinct), NEITHER], dtype=np.int64)
    # A missing value has no dictionary index: it takes the extra last place, which is NEITHER.
    indices = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    return Grouping(column, groups, of_distinct[indices])


def intersect(groupings: Sequence[Grouping]) -> tuple[list[tuple[str, Literal["monitored", "reference"]]], Codes]:
    """The combinations of several attributes' groups, and per record its combination or NEITHER.

    The combination of nothing but reference values is reference, every other is monitored; labels are joined by ` × `.

    Raises:
        InvalidInput: there are too many combinations, or two have one label.
    """
    _refuse_many(groupings)
    named: list[tuple[str, Literal["monitored", "reference"]]] = [("", "reference")]
    codes = np.zeros(len(groupings[0].codes), dtype=np.int64)
    neither = np.zeros(len(codes), dtype=np.bool_)
    for grouping in groupings:
        named = [
            (
                f"{label}{TOGETHER}{group.label}" if label else group.label,
                "reference" if {role, group.role} == {"reference"} else "monitored",
            )
            for label, role in named
            for group in grouping.groups
        ]
        neither |= grouping.codes == NEITHER
        codes = codes * len(grouping.groups) + grouping.codes
    _refuse_ambiguous(groupings, [label for label, _ in named])
    return named, np.where(neither, NEITHER, codes)


def typed_value(text_or_value: Scalar, kind: FieldType) -> Scalar:
    """A group's value in the JSON type of its column, as the model expects it (`1` for an integer column, not `"1"`)."""
    text = canonical(text_or_value)
    match kind:
        case FieldType.STRING:
            return text
        case FieldType.BOOLEAN:
            return text == "true"
        case FieldType.INTEGER:
            return int(Decimal(text))
        case FieldType.NUMBER:
            return float(text)


def _refuse_many(groupings: Sequence[Grouping]) -> None:
    counts = [len(grouping.groups) for grouping in groupings]
    # The groups of one attribute by itself are limited by its lists.
    if len(groupings) > 1 and prod(counts) > MAX_GROUPS_TOGETHER:
        each = " × ".join(f"{count} of {grouping.column.name}" for count, grouping in zip(counts, groupings, strict=True))
        raise InvalidInput.of(
            _place(groupings),
            f"has {prod(counts):,} groups ({each}) where at most {MAX_GROUPS_TOGETHER:,} are measured; list fewer values for its"
            " attributes, list the reference values where they are left out, or remove the intersection",
        )


def _refuse_ambiguous(groupings: Sequence[Grouping], labels: list[str]) -> None:
    # Listed values cannot hold the sign that joins; values that were merely seen can.
    if len(set(labels)) < len(labels):
        label = next(label for place, label in enumerate(labels) if label in labels[:place])
        raise InvalidInput.of(
            _place(groupings),
            f"has two groups called {label!r}, because of values that hold × as a word of its own; list the reference values of its"
            " attributes",
        )


def _place(groupings: Sequence[Grouping]) -> str:
    return f"intersections.{TOGETHER.join(grouping.column.name for grouping in groupings)}"


def _typed(value: Scalar, column: Column) -> Scalar:
    """A value, stored or configured, as its column holds it: text that spells a number is one, whole or of double precision."""
    number = None
    if column.type is FieldType.INTEGER:
        number = exact_number(value)
    elif column.type is FieldType.NUMBER:
        number = number_of(value)
    return value if number is None else number


def _groups(attribute: MonitoredAttribute, column: Column, distinct: list[Scalar]) -> tuple[Group, ...]:
    monitored = tuple(Group(label_of(value), "monitored", value) for value in attribute.monitored)
    if attribute.reference is not None:
        return monitored + tuple(Group(label_of(value), "reference", value) for value in attribute.reference)
    seen = zip(distinct, _positions(monitored, column, distinct), strict=True)
    others = sorted({value for value, position in seen if position == NEITHER}, key=_sort_key)
    if len(others) > MOST_REFERENCE_VALUES:
        raise InvalidInput.of(
            f"attributes.{attribute.feature}.reference",
            f"was left out, and the window holds {len(others)} other values of {column.name} where at most {MOST_REFERENCE_VALUES} are"
            " expected; list the reference values",
        )
    return monitored + tuple(Group(label_of(value), "reference", value) for value in others)


def _positions(groups: tuple[Group, ...], column: Column, values: Sequence[Scalar]) -> Iterator[int]:
    """Where in `groups` each of the column's values is, or NEITHER."""
    ranges = [(position, group.value) for position, group in enumerate(groups) if isinstance(group.value, Range)]
    of_text = {
        canonical(_typed(group.value, column)): position for position, group in enumerate(groups) if not isinstance(group.value, Range)
    }
    for value in values:
        position = of_text.get(canonical(value), NEITHER)
        number = number_of(value) if ranges and position == NEITHER else None
        if number is not None:
            position = next((place for place, bounds in ranges if number in bounds), NEITHER)
        yield position


def _sort_key(value: Scalar) -> tuple[float, str]:
    number = number_of(value)
    return (float("inf") if number is None else number, canonical(value))
