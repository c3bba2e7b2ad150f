"""Change of a gap in a DataFrame, by the cells of each feature.

First the hours of a frame and the features of its records, which other modules read as well, then the change.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from pandas import DataFrame

from ..base.clock import floor_to_hour, utc_now
from ..base.errors import InvalidInput
from ..base.values import frozen, frozen_arrays, frozen_by_name
from ..domain.record_times import EPOCH, ImpossibleTime, LeftOutTimes, TimeRule, TimeTally, parse_moment
from ..sources.arrays.association import measure_strengths
from ..statistics.attribution.cell_parts import MIN_BINS, GapChange, count_cells, explain_change_of_gap
from ..statistics.attribution.hybrid_values import MAX_PLAYERS, join_players
from ..statistics.group_labels import BoolArray, FloatArray, IntArray, find_positions
from .frame_columns import (
    Column,
    Encoded,
    check_frame,
    check_names,
    convert_numbers,
    encode,
    is_numeric_column,
    require_column,
)
from .frame_groups import FrameGrouping, group_records
from .frame_report import FAVOURABLE, UNCLASSIFIED, FrameOutcomes, OutcomeLists, classify_outcomes

DAY_HOURS = 24


@frozen(eq=False, kw_only=True)
class HourNumbers:
    """Hour of each record, counted from the first; `first` begins it in UTC, `hours` is their number.

    A date is in the first hour of its day, and a block of evidence is then a day. Records that are not
    `usable` are left out.
    """

    first: datetime
    hours: int
    numbers: IntArray
    seconds: IntArray
    usable: BoolArray
    left_out: tuple[LeftOutTimes, ...]
    block_hours: int

    def find_block_start(self, hour: int) -> datetime:
        """Beginning in UTC of the first block from that hour on."""
        return self.first + timedelta(hours=-(-hour // self.block_hours) * self.block_hours)

    @property
    def months(self) -> list[int]:
        starts = pd.date_range(self.first, periods=self.hours, freq="h")
        return (starts.year * 12 + starts.month).tolist()


def read_hours(
    frame: pd.DataFrame, name: str, time_format: str | None = None, earliest: date | str | None = None
) -> HourNumbers:
    """Reads a column of times: ISO 8601 or digits, else of the `time_format`; UTC unless an offset is stated.

    `earliest` is the first possible day, by default 1 January 20 years before now. If most cells are dates,
    or all hours are 0:00, the column is one of dates.

    Raises:
        InvalidInput: no record, or so many times cannot be that the others are in doubt.
    """
    column = require_column(frame, name, "time")
    if column.empty:
        raise InvalidInput("time", f"{name!r} has no record")
    rule = replace(TimeRule.at(utc_now(), earliest), form=time_format)
    write_time = (
        partial(np.format_float_positional, trim="-") if pd.api.types.is_float_dtype(column.dtype) else str
    )
    codes, texts = pd.factorize(column.map(write_time, na_action="ignore"))
    cells = [*texts, ""]
    # The code -1 of a missing cell is the last position.
    readings = [rule.read(cell) for cell in cells]
    distinct, firsts, counts = (
        array.tolist() for array in np.unique(codes, return_index=True, return_counts=True)
    )
    usable = [
        (readings[code], count)
        for code, count in zip(distinct, counts, strict=True)
        if readings[code].reason is None
    ]
    dates = sum(count for reading, count in usable if reading.is_date)
    is_daily = 2 * dates > sum(count for _, count in usable) or all(
        reading.at.time() == time() for reading, _ in usable
    )
    reasons = [
        ImpossibleTime.NO_HOUR if reading.is_date and not is_daily else reading.reason for reading in readings
    ]
    tally = TimeTally()
    for code, first, count in zip(distinct, firsts, counts, strict=True):
        tally.add(reasons[code], cells[code], first + 1, count)
    if (refusal := tally.find_refusal(rule)) is not None:
        raise InvalidInput("time", f"{name!r} {refusal}, or the first possible day with --earliest.")
    is_usable = np.array([reason is None for reason in reasons])[codes]
    seconds = np.array([(reading.at - EPOCH) // timedelta(seconds=1) for reading in readings])[codes]
    block_hours = DAY_HOURS if is_daily else 1
    numbers = seconds // (3600 * block_hours) * block_hours
    start = int(numbers[is_usable].min())
    last = int(numbers[is_usable].max())
    return HourNumbers(
        first=datetime.fromtimestamp(start * 3600, UTC),
        hours=last - start + block_hours,
        numbers=np.where(is_usable, numbers - start, 0),
        seconds=np.where(is_usable, seconds, np.iinfo(np.int64).max),
        usable=is_usable,
        left_out=tuple(tally.left_out.values()),
        block_hours=block_hours,
    )


def place_in_one_hour(records: int) -> HourNumbers:
    """All are in the present hour."""
    return HourNumbers(
        first=floor_to_hour(utc_now()),
        hours=1,
        numbers=np.zeros(records, np.int64),
        seconds=np.zeros(records, np.int64),
        usable=np.ones(records, np.bool_),
        left_out=(),
        block_hours=1,
    )


def mark_first_records(persons: Column, seconds: IntArray) -> BoolArray:
    """Marks [records] the first record of each person, and those without a person's id."""
    # Stable: of two records in one second the first in the file counts.
    order = np.argsort(seconds, kind="stable")
    is_repeated = persons.iloc[order].duplicated().to_numpy() & persons.iloc[order].notna().to_numpy()
    is_first = np.empty(len(persons), bool)
    is_first[order] = ~is_repeated
    return is_first


MAX_FEATURE_VALUES = 1_000
"""Different values of a feature; with more, hardly any has records of both groups."""


@frozen_arrays
class Feature:
    name: str
    content: Encoded | FloatArray

    @property
    def places(self) -> IntArray | FloatArray:
        """Category of each record, -1 without a value; or its number, NaN without one."""
        return self.content.codes.astype(int) if isinstance(self.content, Encoded) else self.content


def read_features(frame: DataFrame, features: Sequence[str] | str) -> tuple[Feature, ...]:
    """Columns of numbers are read as numbers, all others as categories.

    Raises InvalidInput: none or too many, a repeated or missing column, or one with too many values.
    """
    names = check_names(features, "features")
    if not 1 <= len(names) <= MAX_PLAYERS:
        raise InvalidInput("features", f"must name 1 to {MAX_PLAYERS} columns, found {len(names)}")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("features", f"{name!r} is named twice")
    features_read = []
    for name in names:
        column = require_column(frame, name, "features")
        content = (
            convert_numbers(column, "features") if is_numeric_column(column) else encode(column, "features")
        )
        if isinstance(content, Encoded) and len(content.texts) > MAX_FEATURE_VALUES:
            raise InvalidInput(
                "features",
                f"{name!r} holds {len(content.texts):,} different texts "
                f"where at most {MAX_FEATURE_VALUES:,} are compared; group them",
            )
        features_read.append(Feature(name, content))
    return tuple(features_read)


def check_bins(bins: object) -> int:
    """Raises InvalidInput: the bins are no whole number, too few or too many."""
    if not isinstance(bins, int) or isinstance(bins, bool) or not MIN_BINS <= bins <= MAX_FEATURE_VALUES:
        raise InvalidInput(
            "bins", f"must be a whole number from {MIN_BINS} to {MAX_FEATURE_VALUES:,}, found {bins!r:.100}"
        )
    return bins


def list_players(
    features: Sequence[Feature], together: Sequence[Sequence[str]] | None
) -> tuple[tuple[int, ...], ...]:
    """Positions of the features of each player: those listed `together`, or, if None, correlated ones.

    Raises InvalidInput: it is no list of lists, or names something else than a feature, or one twice.
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
        return find_positions(self.grouping.groups, "monitored")

    def find_sides(self, position: int) -> list[IntArray]:
        """The reference is last."""
        groups = ([position], find_positions(self.grouping.groups, "reference"))
        return [
            np.flatnonzero(np.isin(self.grouping.codes, side) & (self.outcomes.codes != UNCLASSIFIED))
            for side in groups
        ]


def read_compared_records(
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


def read_rates(outcomes: FrameOutcomes) -> FloatArray:
    """Outcomes [records] as 0 and 1; NaN where unclassified."""
    return np.select([outcomes.codes == FAVOURABLE, outcomes.codes == UNCLASSIFIED], [1.0, np.nan], 0.0)


@frozen
class FeatureChange:
    """Parts of a change by the cells of one feature; those of different features must not be added."""

    feature: str
    parts: GapChange


@frozen_by_name
class ExplainedChange:
    """Change of a group's gap: the favourable rate minus the reference's before and after; None without a
    record.
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
        InvalidInput: names the argument that is wrong; it is `at` if all records are on one side of it.
    """
    lists = OutcomeLists.of(favourable, unfavourable)
    records = read_compared_records(frame, attribute, prediction, features, lists, monitored, reference)
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
        positions[sides[positions] == side] for positions in records.find_sides(position) for side in (0, 1)
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
