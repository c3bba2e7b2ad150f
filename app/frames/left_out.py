"""Records of a frame that are left out of its figures."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..metrics.left_out import CountedRecords, Marks, count_records
from .columns import Codes, Column
from .grouping import FrameGrouping

NOT_NUMBERS = "not_numbers"
"""Member of a frame's `attrs`: by column of numbers, which of its missing cells hold another text."""


def count_left_out(
    frame: pd.DataFrame,
    grouping: FrameGrouping,
    answers: Column,
    outcomes: Codes,
    *,
    of: str,
    others: Mapping[str, Marks] | None = None,
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
        outcomes,
        of=of,
        lacks_answer=answers.isna().to_numpy(),
        lacks_value=lacks_value,
        is_no_number=is_no_number,
        others=others,
    )
