"""Kinds of records with the outcomes of their counterfactuals, to be resampled as one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ...base.strict_json import JsonObject
from ..group_labels import (
    NEITHER,
    ComparedGroup,
    FloatArray,
    Groups,
    IntArray,
    align_groups,
    build_groups,
    check_codes,
    check_counts,
)
from .count_table import OUTCOMES
from .strata_counts import check_each, check_weights

KEY_SPACE = 2**62
"""Product of the sizes of columns that are packed into one int64."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordKinds:
    """Kinds of records (K) with their numbers.

    `group` [K] is the record's own, each column of `OWN` [K] an outcome of it (0 unfavourable, 1 favourable),
    each of `COPIES` [K, groups] a number of its counterfactuals by target group, `count` [K] the records. One
    with an unclassified outcome is left out with its counterfactuals and counted in `unclassified` [groups];
    one of no group in `other`. An unclassified counterfactual is in no count. `weight` [K] is that of each
    record of a kind.
    """

    OWN: ClassVar[tuple[str, ...]]
    COPIES: ClassVar[tuple[str, ...]]

    groups: Groups
    group: IntArray
    copies_classified: IntArray
    count: IntArray
    unclassified: IntArray
    other: int
    weight: FloatArray | None = None

    def __post_init__(self) -> None:
        size = len(self.groups)
        kinds = len(self.count)
        checked: JsonObject = {
            "groups": build_groups(self.groups),
            "group": check_codes(check_each(self.group, kinds, "group"), 0, size),
            "count": check_counts(self.count, kinds),
            "unclassified": check_counts(self.unclassified, size),
            "weight": check_weights(self.weight, kinds),
        }
        checked |= {
            name: check_codes(check_each(getattr(self, name), kinds, f"{name} outcome"), 0, 2)
            for name in self.OWN
        }
        checked |= {name: check_counts(getattr(self, name), kinds, size) for name in self.COPIES}
        for name, column in checked.items():
            object.__setattr__(self, name, column)
        if any((checked[name] > self.copies_classified).any() for name in self.COPIES):
            raise ValueError("expected no more favourable copies than classified ones")

    @property
    def outcomes(self) -> IntArray:
        """Counts [groups, 2 …] of the records themselves, by the columns of `OWN`."""
        counts = np.zeros((len(self.groups), *(2 for _ in self.OWN)), int)
        np.add.at(counts, (self.group, *(getattr(self, name) for name in self.OWN)), self.count)
        return counts

    @classmethod
    def from_records(
        cls,
        groups: Iterable[ComparedGroup],
        codes: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        **columns: ArrayLike,
    ) -> Self:
        """Counts the records: of each its group (position; -1: none), outcomes (0, 1, 2) in the columns of
        `OWN`, and counterfactuals [records, groups] in those of `COPIES`; `weights` are 1 if absent.
        """
        listed = build_groups(groups)
        group = check_codes(codes, NEITHER, len(listed))
        outcomes = {
            name: check_codes(check_each(columns[name], group.size, f"{name} outcome"), 0, OUTCOMES)
            for name in cls.OWN
        }
        copies = {name: check_counts(columns[name], group.size, len(listed)) for name in cls.COPIES}
        weight = check_weights(weights, group.size)
        is_member = group != NEITHER
        is_counted = is_member & (np.max(list(outcomes.values()), 0) < OUTCOMES - 1)
        unclassified = np.bincount(group[is_member & ~is_counted], minlength=len(listed)).astype(int)
        counted = {
            name: column[is_counted] for name, column in ({"group": group} | outcomes | copies).items()
        }
        kinds = _merge_kinds(
            counted, np.ones(int(is_counted.sum()), int), None if weight is None else weight[is_counted]
        )
        return cls(groups=listed, unclassified=unclassified, other=int((~is_member).sum()), **kinds)

    @classmethod
    def merge(cls, tables: Sequence["RecordKinds"]) -> Self:
        """Sum of the tables, with groups aligned by label and equal kinds merged."""
        groups, rows_of = align_groups([table.groups for table in tables])
        unclassified = np.zeros(len(groups), int)
        columns = {name: [np.zeros(0, int)] for name in ("group", *cls.OWN, "count")}
        columns |= {name: [np.zeros((0, len(groups)), int)] for name in cls.COPIES}
        for table, rows in zip(tables, rows_of, strict=True):
            unclassified[rows[:-1]] += table.unclassified
            columns["group"].append(rows[table.group])
            for name in (*cls.OWN, "count"):
                columns[name].append(getattr(table, name))
            for name in cls.COPIES:
                columns[name].append(np.zeros((len(table.count), len(groups)), int))
                columns[name][-1][:, rows[:-1]] = getattr(table, name)
        weight = None
        if any(table.weight is not None for table in tables):
            weight = np.concatenate(
                [np.ones(len(table.count)) if table.weight is None else table.weight for table in tables]
            )
        stacked = {name: np.concatenate(arrays) for name, arrays in columns.items()}
        kinds = _merge_kinds(stacked, stacked.pop("count"), weight)
        return cls(
            groups=groups, unclassified=unclassified, other=sum(table.other for table in tables), **kinds
        )

    def to_json(self) -> JsonObject:
        arrays = (
            "group",
            *self.OWN,
            *self.COPIES,
            "count",
            "unclassified",
            *(() if self.weight is None else ("weight",)),
        )
        stored = {name: getattr(self, name).tolist() for name in arrays}
        return stored | {"groups": [list(group) for group in self.groups], "other": self.other}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        names = ("group", *cls.OWN, *cls.COPIES, "count", "unclassified", "other")
        return cls(
            groups=stored["groups"], weight=stored.get("weight"), **{name: stored[name] for name in names}
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class CounterfactualCells(RecordKinds):
    """Records by prediction, with their favourable counterfactuals."""

    OWN = ("outcome",)
    COPIES = ("copies_favourable", "copies_classified")

    outcome: IntArray
    copies_favourable: IntArray

    @property
    def has_unequal_weights(self) -> bool:
        return (
            self.weight is not None
            and self.weight.size > 0
            and not np.isclose(self.weight, self.weight[0], rtol=1e-9).all()
        )

    def tabulate_crossing(self) -> IntArray:
        """1 [K, groups] where a counterfactual crosses from one side to the other; only such count."""
        monitored = np.array([group.role == "monitored" for group in self.groups], np.bool_)
        return np.not_equal.outer(monitored[self.group], monitored).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class MitigatedCells(RecordKinds):
    """Records by outcome before and after mitigation, with the same of their counterfactuals."""

    OWN = ("before", "after")
    COPIES = ("copies_classified", "copies_before", "copies_after")

    before: IntArray
    after: IntArray
    copies_before: IntArray
    copies_after: IntArray

    @property
    def counterfactual_before(self) -> CounterfactualCells:
        return self._build_counterfactual(self.before, self.copies_before)

    @property
    def counterfactual_after(self) -> CounterfactualCells:
        return self._build_counterfactual(self.after, self.copies_after)

    def _build_counterfactual(self, outcome: IntArray, favourable: IntArray) -> CounterfactualCells:
        columns = {column.name: getattr(self, column.name) for column in fields(RecordKinds)}
        return CounterfactualCells.merge(
            [CounterfactualCells(outcome=outcome, copies_favourable=favourable, **columns)]
        )


def find_distinct_rows(columns: Sequence[IntArray], weights: IntArray) -> tuple[IntArray, IntArray]:
    """A position of each distinct row, in lexicographic order, and the summed weight of its equals.

    `columns` hold numbers >= 0, packed into one integer per row.
    """
    key = np.zeros(weights.size, int)
    size = 1
    for column in columns:
        base = int(column.max(initial=0)) + 1
        if size * base > KEY_SPACE:
            distinct, key = np.unique(key, return_inverse=True)
            size = distinct.size
        key = key * base + column
        size *= base
    _, positions, kinds = np.unique(key, return_index=True, return_inverse=True)
    return positions, np.bincount(kinds, weights).astype(int)


def _merge_kinds(columns: Mapping[str, IntArray], count: IntArray, weight: FloatArray | None) -> JsonObject:
    """Merges equal kinds of equal weights, whatever the order of the records."""
    flat = [array for column in columns.values() for array in (column.T if column.ndim > 1 else [column])]
    if weight is not None:
        flat.append(np.unique(weight, return_inverse=True)[1].astype(int))
    first, total = find_distinct_rows(flat, count)
    merged = {name: column[first] for name, column in columns.items()}
    return merged | {"count": total, "weight": None if weight is None else weight[first]}
