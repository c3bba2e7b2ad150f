"""Strata within which conditional metrics compare: the values of one column."""

import numpy as np
import pyarrow as pa

from ...base.frozen import frozen
from ...base.values import canonical
from ...statistics.group_labels import NEITHER, IntArray
from ...statistics.tables.strata_counts import MOST_STRATA
from .column_cells import stored_cells


@frozen(eq=False)
class Divided:
    """Values of a column, and per record the position of its value or NEITHER; or why there are none."""

    column: str
    labels: tuple[str, ...]
    codes: IntArray
    reason: str = ""


def divide(column: str, values: pa.ChunkedArray) -> Divided:
    """Returns the strata; `values` are numbers of a numeric column, else text."""
    coded = stored_cells(values).coded()
    texts = [canonical(value) for value in coded.values]
    # 0.0 and -0.0 have one text.
    labels = tuple(dict.fromkeys(texts))
    if len(labels) > MOST_STRATA:
        reason = f"{column} has {len(labels):,} different values in the window, where at most {MOST_STRATA:,} are strata"
        return Divided(column, (), np.full(len(values), NEITHER, dtype=np.int64), reason)
    position = {label: index for index, label in enumerate(labels)}
    return Divided(column, labels, coded.spread((position[text] for text in texts), missing=NEITHER))
