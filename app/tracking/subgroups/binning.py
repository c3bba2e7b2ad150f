"""Columns of records as positions in the values that a scan divides features into."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from ...domain.values import Scalar, canonical
from ...records.cells import MISSING as NO_VALUE
from ...records.cells import stored_cells
from ...scan.bins import Bins, Codes


def encode(bins: Bins, column: pa.ChunkedArray) -> Codes:
    """Position [N] of each record's value."""
    coded = stored_cells(column).coded()
    if bins.edges:
        numbers = [float(value) if isinstance(value, int | float) else np.nan for value in coded.values]
        places = bins.encode_numbers(np.array(numbers, np.float64))
    else:
        places = bins.encode_texts([canonical(value) for value in coded.values])
    # The code -1 is the last place.
    return np.asarray(np.append(places, bins.missing)[coded.codes])


def count_values(columns: Sequence[pa.ChunkedArray]) -> Mapping[Scalar, int]:
    """How many records have each value."""
    counts: Counter[Scalar] = Counter()
    for column in columns:
        coded = stored_cells(column).coded()
        found = np.bincount(coded.codes[coded.codes != NO_VALUE], minlength=len(coded.values)).tolist()
        for value, count in zip(coded.values, found, strict=True):
            counts[value] += count
    return counts
