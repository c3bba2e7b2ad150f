"""Stacks kinds of records: shared by the tables of records with their counterfactuals."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..groups import Groups, IntArray, positions, union


class OfGroups(Protocol):
    """The groups of a table of kinds of records."""

    @property
    def groups(self) -> Groups:
        """The groups."""
        ...

    @property
    def unclassified(self) -> IntArray:
        """Unclassified records by group."""
        ...


def aligned(tables: Sequence[OfGroups]) -> tuple[Groups, list[IntArray], IntArray]:
    """Returns the groups of all tables by label, the position of each table's groups among them, and the sum of the unclassified."""
    groups = union([table.groups for table in tables])
    places = [positions(table.groups, groups) for table in tables]
    unclassified = np.zeros(len(groups), np.int64)
    for table, place in zip(tables, places, strict=True):
        unclassified[place] += table.unclassified
    return groups, places, unclassified


def stacked(columns: Sequence[IntArray]) -> IntArray:
    """Concatenates the columns; an empty one for none."""
    return np.concatenate([np.zeros(0, np.int64), *columns])


def spread(matrices: Sequence[IntArray], places: Sequence[IntArray], width: int) -> IntArray:
    """Stacks the matrices [K, T], with each column moved to its group's place among `width`."""
    rows = [np.zeros((0, width), np.int64)]
    for matrix, place in zip(matrices, places, strict=True):
        wide = np.zeros((len(matrix), width), np.int64)
        wide[:, place] = matrix
        rows.append(wide)
    return np.concatenate(rows)
