"""Records of a frame that are left out of its figures."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..metrics.groups import NEITHER
from ..metrics.left_out import CountedRecords, Marks, count_records
from .columns import Codes, Column
from .grouping import FrameGrouping
from .outcomes import UNCLASSIFIED

NOT_NUMBERS = "not_numbers"
"""Member of a frame's `attrs`: by column of numbers, which of its missing cells hold another text."""

RATES_OF = {"prediction": "predictions", "label": "labels", "score": None}
"""What the rates as logged are of, by the argument that names the column."""


def count_left_out(
    frame: pd.DataFrame,
    grouping: FrameGrouping,
    answers: Column,
    outcomes: Codes,
    *,
    option: str,
    others: Mapping[str, Marks] | None = None,
) -> CountedRecords:
    """Counts records by group and outcome, and those left out; `answers` are the column that the argument `option` names.

    `others` are further reasons with the records that each marks.
    """
    lacks_group = grouping.codes == NEITHER
    lacks_value, is_no_number = np.zeros((2, len(frame)), dtype=np.bool_)
    for name in grouping.names:
        is_other = frame.attrs.get(NOT_NUMBERS, {}).get(name, np.False_)
        lacks_value |= frame[name].isna().to_numpy() & ~is_other
        is_no_number |= is_other
    marks = {"attribute_missing": lacks_group & lacks_value, "not_a_number": lacks_group & is_no_number, "in_no_group": lacks_group}
    marks |= mark_unanswered(answers, outcomes, option) | dict(others or {})
    return count_records(grouping.attribute, grouping.groups, grouping.codes, outcomes, marks, named=RATES_OF[option])


def mark_unanswered(answers: Column, outcomes: Codes, option: str) -> dict[str, Marks]:
    """Marks records without an answer, and those with one in neither outcome list."""
    is_unclassified, is_missing = outcomes == UNCLASSIFIED, answers.isna().to_numpy()
    missing, unlisted = ("no_label", "label_unlisted") if option == "label" else (f"no_{option}", "outcome_unlisted")
    return {missing: is_unclassified & is_missing, unlisted: is_unclassified & ~is_missing}
