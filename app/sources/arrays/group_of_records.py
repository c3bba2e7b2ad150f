"""Assigns each record its group of an attribute, or of several together."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from ...base.frozen import frozen
from ...base.values import Scalar, canonical, name_value
from ...domain.deployment import Column, FieldType
from ...domain.groups import (
    MOST_REFERENCE_VALUES,
    NEITHER,
    Group,
    NamedGroup,
    combine_groups,
    find_twins,
    group_test,
    list_groups,
    positions,
)
from ...domain.monitor import MonitoredAttribute
from ...statistics.group_labels import Codes, cross
from .column_cells import Cells, Mask, are_ranges, in_ranges, stored_cells


@frozen
class Grouping:
    """An attribute's groups, and per record the position of its group, or NEITHER."""

    column: Column
    groups: tuple[Group, ...]
    codes: Codes

    @property
    def named(self) -> list[NamedGroup]:
        return [(group.label, group.role) for group in self.groups]

    def is_monitored(self) -> Mask:
        return np.array([group.role == "monitored" for group in self.groups], bool)


@frozen
class ListedGroups:
    """The groups that an attribute lists; without a listed reference, every other value but a near twin is
    a reference group of its own.
    """

    column: Column
    groups: tuple[Group, ...]
    others_are_reference: bool

    @classmethod
    def of(cls, attribute: MonitoredAttribute, column: Column) -> "ListedGroups":
        listed = replace(attribute, reference=attribute.reference or ())
        return cls(column, list_groups(listed, column, ()), attribute.reference is None)

    def find(self, values: Sequence[Scalar | None]) -> list[NamedGroup | None]:
        """Returns each value's group; None for a missing one and one in no group."""
        present = [value for value in values if value is not None]
        group_positions = positions(self.groups, self.column, present)
        twins = find_twins(present, [group.value for group in self.groups])
        named: list[NamedGroup | None] = []
        for value in values:
            position = NEITHER if value is None else next(group_positions)
            if position != NEITHER:
                named.append((self.groups[position].label, self.groups[position].role))
            elif value is not None and self.others_are_reference and value not in twins:
                named.append((name_value(value), "reference"))
            else:
                named.append(None)
        return named


def group_records(
    attribute: MonitoredAttribute,
    column: Column,
    values: pa.ChunkedArray,
    *,
    limit: float = MOST_REFERENCE_VALUES,
) -> Grouping:
    """Returns the groups, as `groups_of`, and each record's place; `values` are numbers for a numeric
    column, else text.
    """
    cells = stored_cells(values, column)
    distinct = cells.coded().values if attribute.reference is None else ()
    groups = list_groups(attribute, column, distinct, limit=limit)
    return Grouping(column, groups, place(groups, column, cells))


def place(groups: Sequence[Group], column: Column, cells: Cells) -> Codes:
    """Returns per record the position of its group, or NEITHER; of ranges that overlap the first counts."""
    tests = [group_test(group.value, column) for group in groups]
    numbers = cells.floats() if are_ranges(tests) else None
    if numbers is not None:
        return np.select(
            [in_ranges(numbers, test) for test in tests], list(range(len(tests))), NEITHER
        ).astype(np.int64)
    coded = cells.coded()
    return coded.spread(positions(groups, column, coded.values), missing=NEITHER)


def intersect(groupings: Sequence[Grouping]) -> tuple[list[NamedGroup], Codes]:
    """Returns the combinations of groups, and per record its combination or NEITHER.

    Raises:
        InvalidInput: there are too many combinations, or two have one label.
    """
    named = combine_groups(
        [grouping.column.name for grouping in groupings], [grouping.named for grouping in groupings]
    )
    return named, cross(
        [grouping.codes for grouping in groupings], [len(grouping.groups) for grouping in groupings]
    )


def typed_value(text_or_value: Scalar, kind: FieldType) -> Scalar:
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
