"""Records of a frame that are left out of its figures."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..metrics.left_out import CountedRecords, Marks, count_records
from .grouping import FrameGrouping
from .outcomes import KnownOutcomes

NOT_NUMBERS = "not_numbers"
"""Member of a frame's `attrs`: by column of numbers, which of its missing cells hold another text."""


def count_left_out(
    frame: pd.DataFrame, grouping: FrameGrouping, known: KnownOutcomes, others: Mapping[str, Marks] | None = None
) -> CountedRecords:
    """Counts records by group and outcome, and those left out; `others` are further reasons with the records that each marks."""
    lacks_value, is_no_number = np.zeros((2, len(frame)), dtype=np.bool_)
    for name in grouping.names:
        is_other = frame.attrs.get(NOT_NUMBERS, {}).get(name, np.False_)
        lacks_value |= frame[name].isna().to_numpy() & ~is_other
        is_no_number |= is_other
    return count_records(
        grouping.attribute,
        grouping.groups,
        grouping.codes,
        known.rated.codes,
        answers=known.answers,
        lacks_answer=known.rated.is_missing,
        lacks_value=lacks_value,
        is_no_number=is_no_number,
        others=others,
    )
