"""Subgroups of a DataFrame that nobody listed, and plans: records after which evidence would find a ratio."""

from collections.abc import Sequence
from datetime import date

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.values import frozen, is_number
from ..domain.record_times import LeftOutTimes
from ..statistics.e_values.expected_delays import Traffic, expect_delay_within
from ..statistics.e_values.nulls import HOURS_OF_A_YEAR, Limit, Scale, UnfairSide
from ..statistics.group_labels import NEITHER, BoolArray, Codes, find_positions
from ..statistics.scan.scan_results import MAX_VALUES, Bins, SearchResult, search_groups
from ..statistics.scan.search_subgroup import MAX_FEATURES, MIN_RECORDS
from ..statistics.sentences.left_out import CountedRecords, count_records
from .compared_rates import DAY_HOURS, mark_first_records, read_hours
from .frame_columns import Column, convert_numbers, encode, is_numeric_column, require_column
from .frame_groups import group_records
from .frame_report import FAVOURABLE, UNCLASSIFIED, OutcomeLists, count_left_out, read_outcomes
from .hours_of_groups import RECENT_HOURS, check_arguments, choose_divisor, count_group_hours, list_figures
from .measurements import encode_strata

MAX_SCANNED_STRATA = 50


@frozen
class GroupSearch:
    """Result of a search, and the records that it counted and left out."""

    result: SearchResult
    records: CountedRecords


def find_groups(
    frame: pd.DataFrame,
    *,
    features: Sequence[str],
    time: str | None = None,
    prediction: str | None = None,
    label: str | None = None,
    strata: str | None = None,
    person: str | None = None,
    favourable: object = 1,
    unfavourable: object = None,
    direction: str = "below",
    seed: int = 0,
    time_format: str | None = None,
    earliest: date | str | None = None,
) -> GroupSearch:
    """Looks for the subgroup whose favourable rate falls short most (or is furthest ahead, `direction`
    "above").

    One scan over up to eight `features` reads all records. A subgroup that chance alone would find in at most
    5 % of scans is named, by its rule over the features; with `strata`, records are compared with those of
    the same stratum. Of each `person` only the first record counts, by `time` or else in the order of the
    frame. Outcomes are those of `prediction`, else of `label`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    if direction not in tuple(UnfairSide):
        raise InvalidInput("direction", f"must be 'below' or 'above', found {direction!r:.100}")
    check_arguments(frame, prediction, label)
    outcome_columns = read_outcomes(
        frame, label if prediction is None else None, prediction, OutcomeLists.of(favourable, unfavourable)
    )
    outcomes = outcome_columns.rated
    counted = outcomes.codes != UNCLASSIFIED
    reasons = {}
    seconds = (
        np.arange(len(frame)) if time is None else read_hours(frame, time, time_format, earliest).seconds
    )
    if person is not None:
        is_first = mark_first_records(require_column(frame, person, "person"), seconds)
        counted &= is_first
        reasons = {"repeated_person": ~is_first}
    names = [features] if isinstance(features, str) else []
    if not names and isinstance(features, Sequence):
        names = list(features)
    if not 1 <= len(names) <= MAX_FEATURES or len(set(map(str, names))) < len(names):
        raise InvalidInput("features", f"must name 1 to {MAX_FEATURES} columns, each once")
    binned = [bin_feature(require_column(frame, name, "features"), counted) for name in names]
    stratum_codes = None
    if strata is not None:
        encoded = encode_strata(require_column(frame, strata, "strata"))
        if len(encoded.labels) > MAX_SCANNED_STRATA:
            raise InvalidInput(
                "strata",
                f"{strata!r} holds {len(encoded.labels):,} different values where at most {MAX_SCANNED_STRATA} are "
                "compared",
            )
        stratum_codes = np.unique(np.asarray(encoded.codes), return_inverse=True)[1].astype(int)[counted]
    if counted.sum() < 2 * MIN_RECORDS:
        raise InvalidInput(
            outcome_columns.answers[:-1],
            f"has {counted.sum()} records that count, and a scan needs {2 * MIN_RECORDS}",
        )
    result = search_groups(
        [bins for bins, _ in binned],
        np.column_stack([codes for _, codes in binned])[counted],
        (outcomes.codes == FAVOURABLE)[counted],
        strata=stratum_codes,
        direction=UnfairSide(direction),
        seed=seed,
    )
    records = count_records(
        "",
        (),
        np.full(len(frame), NEITHER),
        outcomes.codes,
        answers=outcome_columns.answers,
        lacks_answer=outcomes.is_missing,
        excluded=reasons,
    )
    return GroupSearch(result, records)


def bin_feature(column: Column, counted: BoolArray) -> tuple[Bins, Codes]:
    """Divides a feature for the records that are `counted` [N], and finds each record's position [N].

    Raises InvalidInput: too many values, or values that are neither text, numbers nor true/false.
    """
    name = str(column.name)
    if is_numeric_column(column) and column[counted].nunique() > MAX_VALUES:
        numbers = convert_numbers(column, "features")
        values, counts = np.unique(numbers[counted & ~np.isnan(numbers)], return_counts=True)
        bins = Bins.choose(name, dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return bins, bins.encode_numbers(numbers)
    encoded = encode(column, "features")
    counts = np.bincount(encoded.codes[counted & (encoded.codes >= 0)], minlength=len(encoded.texts))
    bins = Bins.choose(name, dict(zip(encoded.texts, counts.tolist(), strict=True)))
    # The code -1 is the last position.
    return bins, np.append(bins.encode_texts(encoded.texts), bins.missing)[encoded.codes]


MAX_PLANNED_HOURS = 17_520
"""Hours that a plan looks ahead: two years."""


@frozen
class Plan:
    """Plan of one group, at an assumed traffic and reference rate.

    `hours` and `records` (of both sides) are None where two years do not suffice, or a side had no records in
    the last week, of which the log's `counted`.
    """

    attribute: str
    group: str
    reference: str
    ratio: float
    probability: float
    monitored_per_hour: float
    reference_per_hour: float
    reference_rate: float
    hours: int | None
    records: int | None
    counted: CountedRecords
    left_out: tuple[LeftOutTimes, ...]
    is_daily: bool
    warnings: tuple[str, ...]


def plan_frame(
    frame: pd.DataFrame,
    *,
    attribute: str | Sequence[str],
    time: str,
    prediction: str | None = None,
    label: str | None = None,
    favourable: object = 1,
    unfavourable: object = None,
    monitored: object = None,
    reference: object = None,
    person: str | None = None,
    each_record_another_person: str | None = None,
    ratio: float = 0.7,
    probability: float = 0.9,
    limit: float = 0.8,
    budget_hours: float = HOURS_OF_A_YEAR,
    time_format: str | None = None,
    earliest: date | str | None = None,
) -> tuple[Plan, ...]:
    """Plans for each monitored group after how many records a ratio of favourable rates would be found.

    "Found" is the alarm of `follow_frame` with the same columns, limit and budget, with that probability.
    Traffic and reference rate are the means of the log's last 168 hours. The other arguments are those of
    `follow_frame`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    check_arguments(frame, prediction, label, limit=limit, budget_hours=budget_hours)
    for name, number, high in (("ratio", ratio, limit), ("probability", probability, 1)):
        if not is_number(number) or not 0 < number < high:
            raise InvalidInput(name, f"must be between 0 and {high}, found {number!r:.100}")
    hours = read_hours(frame, time, time_format, earliest)
    grouping = group_records(frame, attribute, monitored, reference)
    outcomes = read_outcomes(frame, label, prediction, OutcomeLists.of(favourable, unfavourable))
    figures = list(list_figures(outcomes, limit))
    monitored_positions = find_positions(grouping.groups, "monitored")
    threshold = budget_hours * len(monitored_positions) * sum(len(figure.limits) for figure in figures)
    recent = hours.usable & (hours.numbers >= hours.hours - RECENT_HOURS)
    counted_records = count_left_out(
        frame, grouping, outcomes, {"time_impossible": ~hours.usable, "outside_period": ~recent}
    )
    divisor = choose_divisor(person, each_record_another_person)
    lower = Limit(Scale.RATIO, UnfairSide.BELOW, limit, 1 / limit)
    span = min(hours.hours, RECENT_HOURS)
    plans = []
    for position in monitored_positions:
        series = count_group_hours(hours, grouping, [position], figures[0], recent)
        monitored_per_hour, reference_per_hour = (
            float(np.sum(side.records)) / span for side in (series.monitored, series.reference)
        )
        reference_rate = float(
            (series.reference.favourable.sum() + 0.5) / (series.reference.records.sum() + 1)
        )
        traffic = Traffic(monitored_per_hour, reference_per_hour, reference_rate)
        needed = expect_delay_within(
            lower, traffic, ratio * reference_rate, threshold, probability=probability, divisor=divisor
        )
        needed = None if needed is None or needed > MAX_PLANNED_HOURS else needed
        plan = Plan(
            attribute=grouping.attribute,
            group=grouping.groups[position].label,
            reference=grouping.reference_label,
            ratio=ratio,
            probability=probability,
            monitored_per_hour=monitored_per_hour,
            reference_per_hour=reference_per_hour,
            reference_rate=reference_rate,
            hours=needed,
            records=None if needed is None else round(needed * (monitored_per_hour + reference_per_hour)),
            counted=counted_records,
            left_out=hours.left_out,
            is_daily=hours.block_hours == DAY_HOURS,
            warnings=grouping.warnings,
        )
        plans.append(plan)
    return tuple(plans)
