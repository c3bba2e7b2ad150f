"""Which group of an attribute each record of a window is in. The rules of groups are in `app/domain/groups.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.domain.deployments import Column, FieldType
from app.domain.groups import NEITHER, Group, NamedGroup, groups_of, positions, together, typed
from app.domain.monitors import MonitoredAttribute
from app.domain.values import Scalar, canonical

__all__ = ["NEITHER", "Codes", "Group", "Grouping", "group_records", "intersect", "typed_value"]

Codes: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grouping:
    """An attribute's groups, and per record of the window the position of its group, or NEITHER."""

    column: Column
    groups: tuple[Group, ...]
    codes: Codes

    @property
    def named(self) -> list[NamedGroup]:
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
    distinct = [typed(value, column) for value in encoded.dictionary.to_pylist()]
    groups = groups_of(attribute, column, distinct, seen_in="the window")
    of_distinct = np.array([*positions(groups, column, distinct), NEITHER], dtype=np.int64)
    # A missing value has no dictionary index: it takes the extra last place, which is NEITHER.
    indices = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    return Grouping(column, groups, of_distinct[indices])


def intersect(groupings: Sequence[Grouping]) -> tuple[list[NamedGroup], Codes]:
    """The combinations of several attributes' groups, and per record its combination or NEITHER.

    Raises:
        InvalidInput: there are too many combinations, or two have one label.
    """
    named = together([grouping.column.name for grouping in groupings], [grouping.named for grouping in groupings])
    codes = np.zeros(len(groupings[0].codes), dtype=np.int64)
    neither = np.zeros(len(codes), dtype=np.bool_)
    for grouping in groupings:
        neither |= grouping.codes == NEITHER
        codes = codes * len(grouping.groups) + grouping.codes
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
