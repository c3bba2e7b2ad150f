"""Equal records of a batch once, with how many they are."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MAX_KINDS = 2**20


def merge_equal(rows: pa.Table) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Returns the distinct rows of coded columns, and how many records each is; each record if there could be more than `MAX_KINDS`."""
    coded = [column.combine_chunks() for column in rows.columns]
    coded = [pa.concat_arrays(one.chunks) if isinstance(one, pa.ChunkedArray) else one for one in coded]
    sizes = [len(one.dictionary) + 1 for one in coded]
    if np.prod([float(size) for size in sizes]) > MAX_KINDS:
        return pa.table({name: one.dictionary_decode() for name, one in zip(rows.column_names, coded, strict=True)}), np.ones(
            rows.num_rows, np.int64
        )
    key = np.zeros(rows.num_rows, dtype=np.int64)
    for one, size in zip(coded, sizes, strict=True):
        key *= size
        key += one.indices.fill_null(size - 1).to_numpy(zero_copy_only=False)
    counts = np.bincount(key)
    kinds = np.flatnonzero(counts)
    places, rest = [], kinds
    for size in reversed(sizes):
        rest, place = np.divmod(rest, size)
        places.append(place)
    plain = {}
    for name, one, size, place in zip(rows.column_names, coded, sizes, reversed(places), strict=True):
        plain[name] = one.dictionary.take(pa.array(place, mask=place == size - 1))
    return pa.table(plain), counts[kinds].astype(np.int64)
