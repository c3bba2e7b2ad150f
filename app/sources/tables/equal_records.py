"""Equal records of a batch once, with how many they are."""

from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .stored_columns import as_array

MAX_KINDS = 2**20


def merge_equal(rows: pa.Table) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Returns the distinct rows of coded columns, and how many records each is; each record if there could
    be more than `MAX_KINDS`.
    """
    coded = [as_array(column) for column in rows.columns]
    sizes = [len(column.dictionary) + 1 for column in coded]
    if prod(sizes) > MAX_KINDS:
        plain = [column.dictionary_decode() for column in coded]
        return pa.table(plain, rows.column_names), np.ones(rows.num_rows, np.int64)
    # A missing value has the last place.
    codes = [
        column.indices.fill_null(size - 1).to_numpy(zero_copy_only=False)
        for column, size in zip(coded, sizes, strict=True)
    ]
    counts = np.bincount(np.ravel_multi_index(codes, sizes))
    kinds = np.flatnonzero(counts)
    plain = [
        column.dictionary.take(pa.array(code, mask=code == size - 1))
        for column, size, code in zip(coded, sizes, np.unravel_index(kinds, sizes), strict=True)
    ]
    return pa.table(plain, rows.column_names), counts[kinds].astype(np.int64)
