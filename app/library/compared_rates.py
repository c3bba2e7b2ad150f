"""Change of a gap: records of a frame, and cells of their features."""

from collections.abc import Sequence
from datetime import date, datetime
from itertools import combinations

import numpy as np
import pandas as pd
from pandas import DataFrame

from ..base.errors import InvalidInput
from ..base.values import frozen, frozen_arrays, frozen_by_name
from ..domain.record_times import parse_moment
from ..sources.arrays.association import measure_strengths
from ..statistics.attribution.cell_parts import MIN_BINS, GapChange, count_cells, explain_change_of_gap
from ..statistics.attribution.hybrid_values import MAX_PLAYERS, join_players
from ..statistics.group_labels import BoolArray, FloatArray, IntArray, of_role
from .frame_columns import (
    Encoded,
    check_frame,
    checked_names,
    convert_numbers,
    encode,
    is_numeric,
    require_column,
)
from .frame_groups import FrameGrouping, group_records
from .frame_hours import read_hours
from .frame_outcomes import FAVOURABLE, UNCLASSIFIED, FrameOutcomes, OutcomeLists, classify_outcomes

MAX_CELLS = 1_000
"""Of a feature; with more, hardly any has records of both groups."""


@frozen_arrays
class Feature:
    name: str
    content: Encoded | FloatArray

    @property
    def places(self) -> IntArray | FloatArray:
        """-1 without a value; or the numbers, NaN without one."""
        return self.content.codes.astype(int) if isinstance(self.content, Encoded) else self.content


def read_features(frame: DataFrame, features: Sequence[str] | str) -> tuple[Feature, ...]:
    """Numbers, everything else as categories.

    Raises:
        InvalidInput: none or too many, a repeated or missing column, or one with too many values.
    """
    names = checked_names(features, "features")
    if not 1 <= len(names) <= MAX_PLAYERS:
        raise InvalidInput("features", f"must name 1 to {MAX_PLAYERS} columns, found {len(names)}")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("features", f"{name!r} is named twice")
    read = []
    for name in names:
        column = require_column(frame, name, "features")
        content = convert_numbers(column, "features") if is_numeric(column) else encode(column, "features")
        if isinstance(content, Encoded) and len(content.texts) > MAX_CELLS:
            raise InvalidInput(
                "features",
                f"{name!r} holds {len(content.texts):,} different texts where at most {MAX_CELLS:,} are "
                "compared; group them",
            )
        read.append(Feature(name, content))
    return tuple(read)


def check_bins(bins: object) -> int:
    if not isinstance(bins, int) or isinstance(bins, bool) or not MIN_BINS <= bins <= MAX_CELLS:
        raise InvalidInput(
            "bins", f"must be a whole number from {MIN_BINS} to {MAX_CELLS:,}, found {bins!r:.100}"
        )
    return bins


def list_players(
    features: Sequence[Feature], together: Sequence[Sequence[str]] | None
) -> tuple[tuple[int, ...], ...]:
    """Positions of those listed `together`; None: of correlated ones.

    Raises:
        InvalidInput: no list of lists, or not a feature, or one named twice.
    """
    if together is None:
        # Whole numbers are quantities even where they number categories.
        return join_players(measure_strengths([feature.places for feature in features]))
    if isinstance(together, str) or any(isinstance(names, str) for names in together):
        raise InvalidInput(
            "together",
            f"must be a list of lists of features, such as [['income', 'tax']], found {together!r:.100}",
        )
    position_of = {feature.name: position for position, feature in enumerate(features)}
    listed = [name for names in together for name in names]
    for name in listed:
        if name not in position_of:
            raise InvalidInput("together", f"{name!r} is not one of features")
        if listed.count(name) > 1:
            raise InvalidInput("together", f"{name!r} is listed twice")
    strengths = np.zeros((len(features), len(features)))
    for names in together:
        for first, second in combinations((position_of[name] for name in names), 2):
            strengths[first, second] = strengths[second, first] = 1
    return join_players(strengths)


@frozen_arrays
class ComparedRecords:
    frame: DataFrame
    grouping: FrameGrouping
    lists: OutcomeLists
    outcomes: FrameOutcomes
    features: tuple[Feature, ...]

    @property
    def favourable(self) -> BoolArray:
        return np.asarray(self.outcomes.codes == FAVOURABLE, bool)

    @property
    def monitored(self) -> tuple[int, ...]:
        return of_role(self.grouping.groups, "monitored")

    def sides(self, position: int) -> list[IntArray]:
        groups = ([position], of_role(self.grouping.groups, "reference"))
        return [
            np.flatnonzero(np.isin(self.grouping.codes, side) & (self.outcomes.codes != UNCLASSIFIED))
            for side in groups
        ]


def read_compared(
    frame: DataFrame,
    attribute: str | Sequence[str],
    prediction: str,
    features: Sequence[str] | str,
    lists: OutcomeLists,
    monitored: object,
    reference: object,
) -> ComparedRecords:
    check_frame(frame)
    return ComparedRecords(
        frame,
        group_records(frame, attribute, monitored, reference),
        lists,
        classify_outcomes(require_column(frame, prediction, "prediction"), lists, "prediction"),
        read_features(frame, features),
    )


def as_rates(outcomes: FrameOutcomes) -> FloatArray:
    return np.select([outcomes.codes == FAVOURABLE, outcomes.codes == UNCLASSIFIED], [1.0, np.nan], 0.0)


@frozen
class FeatureChange:
    """Parts of different features must not be added."""

    feature: str
    parts: GapChange


@frozen_by_name
class ExplainedChange:
    """Gap before and after the moment: favourable rate minus the reference's; None without a record."""

    group: str
    reference: str
    gap_before: float | None
    gap_after: float | None
    features: tuple[FeatureChange, ...]


@frozen_by_name
class ChangeExplanation:
    """With the records before `at` and from then on."""

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
