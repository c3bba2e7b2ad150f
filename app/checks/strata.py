"""The strata within which the conditional metrics compare: the values of one column of the window."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from app.domain.values import canonical
from app.metrics.groups import NEITHER, IntArray
from app.metrics.tables.strata import MOST_STRATA


@dataclass(frozen=True, slots=True, eq=False)
class Divided:
    """The values of a column, and per record of the window the position of its value or NEITHER; or why there are none."""

    column: str
    labels: tuple[str, ...]
    codes: IntArray
    reason: str = ""


def divide(column: str, values: pa.ChunkedArray) -> Divided:
    """The strata of the records by their values of the column: float64 of a numeric one, else text."""
    encoded = values.combine_chunks().dictionary_encode()
    texts = [canonical(value) for value in encoded.dictionary.to_pylist()]
    # Two values can have one text: 0.0 and -0.0.
    labels = tuple(dict.fromkeys(texts))
    if len(labels) > MOST_STRATA:
        reason = f"{column} has {len(labels):,} different values in the window, where at most {MOST_STRATA:,} are strata"
        return Divided(column, (), np.full(len(values), NEITHER, dtype=np.int64), reason)
    place = {label: position for position, label in enumerate(labels)}
    # A missing value has no dictionary index: it takes the extra last place, which is NEITHER.
    of_value = np.array([*(place[text] for text in texts), NEITHER], dtype=np.int64)
    return Divided(column, labels, of_value[encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)])
