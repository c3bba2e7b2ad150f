"""Records counted by their values in a few features."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...base.frozen import frozen

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.signedinteger]
BoolArray = npt.NDArray[np.bool_]

MAX_FEATURES = 8
"""Max features of a scan."""


@frozen(eq=False)
class CellTable:
    """Counts of the combinations that occur.

    `codes` [C, F] are positions in the values of each feature, `sizes` how many it has, `strata` [C] counted from 0; `favourable` [C] of
    `records` [C].
    """

    codes: IntArray
    sizes: tuple[int, ...]
    strata: IntArray
    favourable: FloatArray
    records: FloatArray

    def __post_init__(self) -> None:
        if not 1 <= len(self.sizes) <= MAX_FEATURES or self.codes.shape != (len(self.records), len(self.sizes)):
            raise ValueError(f"codes {self.codes.shape} must have a column for each of 1 to {MAX_FEATURES} features, found {self.sizes}")
        if np.any(self.favourable < 0) or np.any(self.favourable > self.records):
            raise ValueError("favourable must be between 0 and records")

    @property
    def strata_count(self) -> int:
        return int(self.strata.max(initial=0)) + 1


def count_subsets(sizes: Sequence[int]) -> int:
    """Subgroups that features of these sizes describe, by at least one value of each."""
    # Python's integers: eight features of ten values exceed 64 bits.
    return math.prod(2 ** int(size) - 1 for size in sizes)


def count_cells(codes: IntArray, sizes: tuple[int, ...], favourable: BoolArray, strata: IntArray | None = None) -> CellTable:
    """Table of records with these `codes` [N, F], outcomes [N] and strata [N], else one stratum."""
    of_records = np.zeros(len(codes), np.int64) if strata is None else strata
    keys = np.column_stack([codes, of_records])
    cells, cell_of_record = np.unique(keys, axis=0, return_inverse=True)
    cell_of_record = cell_of_record.reshape(-1)
    records = np.bincount(cell_of_record, minlength=len(cells)).astype(np.float64)
    of_favourable = np.bincount(cell_of_record[favourable], minlength=len(cells)).astype(np.float64)
    return CellTable(cells[:, :-1], sizes, cells[:, -1], of_favourable, records)
