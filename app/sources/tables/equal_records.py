"""Equal records of a batch once, with how many they are."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MAX_KINDS = 2**20


def merge_equal(rows: pa.Table) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Returns the distinct rows of coded columns, and how many records each is; each record if there could be more than `MAX_KINDS`."""
    coded = [column.combine_chunks() for column in rows.columns]
    coded = [pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column for column in coded]
    sizes = [len(column.dictionary) + 1 for column in coded]
    if np.prod([float(size) for size in sizes]) > MAX_KINDS:
        return pa.table({name: column.dictionary_decode() for name, column in zip(rows.column_names, coded, strict=True)}), np.ones(
            rows.num_rows, np.int64
        )
    key = np.zeros(rows.num_rows, dtype=np.int64)
    for coded_column, size in zip(coded, sizes, strict=True):
        key *= size
        key += coded_column.indices.fill_null(size - 1).to_numpy(zero_copy_only=False)
    counts = np.bincount(key)
    kinds = np.flatnonzero(counts)
    codes, remaining = [], kinds
    for size in reversed(sizes):
        remaining, code = np.divmod(remaining, size)
        codes.append(code)
    plain = {}
    for name, coded_column, size, code in zip(rows.column_names, coded, sizes, reversed(codes), strict=True):
        plain[name] = coded_column.dictionary.take(pa.array(code, mask=code == size - 1))
    return pa.table(plain), counts[kinds].astype(np.int64)
