"""Explanation of a change in a DataFrame."""

from collections.abc import Sequence
from datetime import date, datetime

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.values import frozen, frozen_by_name
from ..domain.record_times import parse_moment
from ..statistics.attribution.change_of_gap import GapChange, explain_change_of_gap
from ..statistics.attribution.feature_bins import MIN_BINS, count_cells
from ..statistics.group_labels import IntArray
from .compared_rates import ComparedRecords, check_bins, read_compared
from .frame_hours import read_hours
from .frame_outcomes import OutcomeLists


@frozen
class FeatureChange:
    """Change of a gap by the cells of one feature; parts of different features must not be added."""

    feature: str
    parts: GapChange


@frozen_by_name
class ExplainedChange:
    """Gap of a monitored group before and after the moment: its favourable rate minus the reference's;
    None without a record.
    """

    group: str
    reference: str
    gap_before: float | None
    gap_after: float | None
    features: tuple[FeatureChange, ...]


@frozen_by_name
class ChangeExplanation:
    """Change of each monitored group's gap, with the records before `at` and from then on."""

    attribute: str
    at: datetime
    records_before: int
    records_after: int
    groups: tuple[ExplainedChange, ...]
    warnings: tuple[str, ...]


def explain_change(
    frame: pd.DataFrame,
    *,
    at: datetime | str,
    time: str,
    attribute: str | Sequence[str],
    prediction: str,
    features: Sequence[str] | str,
    favourable: object = 1,
    unfavourable: object = None,
    monitored: object = None,
    reference: object = None,
    bins: int = MIN_BINS,
    time_format: str | None = None,
    earliest: date | str | None = None,
) -> ChangeExplanation:
    """Returns why the gap of each monitored group changed: who asked, or how the model answers, by the cells
    of each feature.

    Records before `at` are compared with those from then on, such as the `since` of `follow_frame`. The
    result describes and proves nothing: a moment that was chosen because of an alarm exaggerates the change.
    The other arguments are those of `explain_gap` and `follow_frame`.

    Raises:
        InvalidInput: names the argument that is wrong; it is `at` if all records are on the same side of
    the moment.
    """
    lists = OutcomeLists.of(favourable, unfavourable)
    records = read_compared(frame, attribute, prediction, features, lists, monitored, reference)
    check_bins(bins)
    moment = parse_moment("at", at)
    hours = read_hours(frame, time, time_format, earliest)
    # 0 before it, 1 after it, 2 without a time.
    sides = np.where(hours.usable, hours.seconds >= moment.timestamp(), 2)
    before, after = (int((sides == side).sum()) for side in (0, 1))
    if not before or not after:
        raise InvalidInput(
            "at", f"must have records before it and after it; all are {'before' if before else 'after'}"
        )
    return ChangeExplanation(
        attribute=records.grouping.attribute,
        at=moment,
        records_before=before,
        records_after=after,
        groups=tuple(_explain_group(records, position, sides, bins) for position in records.monitored),
        warnings=records.grouping.warnings,
    )


def _explain_group(records: ComparedRecords, position: int, sides: IntArray, bins: int) -> ExplainedChange:
    populations = [
        positions[sides[positions] == side] for positions in records.sides(position) for side in (0, 1)
    ]
    rates = [
        float(records.favourable[positions].mean()) if len(positions) else None for positions in populations
    ]
    before, after, reference_before, reference_after = rates
    features = []
    for feature in records.features if None not in rates else ():
        # All four in one division into bins, else their cells could not be compared.
        counts = count_cells(feature.places, records.favourable, populations, bins)
        features.append(FeatureChange(feature.name, explain_change_of_gap(*counts)))
    return ExplainedChange(
        group=records.grouping.groups[position].label,
        reference=records.grouping.reference_label,
        gap_before=None if before is None or reference_before is None else before - reference_before,
        gap_after=None if after is None or reference_after is None else after - reference_after,
        features=tuple(features),
    )
