"""Columns of a frame as features of few values: categories, or ranges of numbers with about as many records each."""

import numpy as np
import numpy.typing as npt

from ..scan.bins import MAX_VALUES, Bins, Codes
from .columns import Column, encode, is_numeric, numbers_of


def bin_feature(column: Column, seen: npt.NDArray[np.bool_]) -> tuple[Bins, Codes]:
    """Returns the division of a column by the records that are `seen` [N], and the position [N] of each record's value.

    Raises:
        InvalidInput: it has too many different values, or values that are neither text, numbers nor true/false.
    """
    name = str(column.name)
    if is_numeric(column) and column[seen].nunique() > MAX_VALUES:
        numbers = numbers_of(column, "features")
        values, counts = np.unique(numbers[seen & ~np.isnan(numbers)], return_counts=True)
        bins = Bins.choose(name, dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return bins, bins.encode_numbers(numbers)
    encoded = encode(column, "features")
    counts = np.bincount(encoded.codes[seen & (encoded.codes >= 0)], minlength=len(encoded.texts))
    bins = Bins.choose(name, dict(zip(encoded.texts, counts.tolist(), strict=True)))
    # A missing value has the code -1, which is the last place.
    return bins, np.append(bins.encode_texts(encoded.texts), bins.missing)[encoded.codes]
