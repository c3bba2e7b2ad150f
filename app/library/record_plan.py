"""Planning from a DataFrame: when an unfairness would be found, at the log's traffic."""

from collections.abc import Sequence
from datetime import date

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.values import frozen, is_number
from ..domain.record_times import LeftOutTimes
from ..statistics.e_values.change_detector import HOURS_OF_A_YEAR
from ..statistics.e_values.expected_hours import Traffic, expect_delay_within
from ..statistics.e_values.nulls import Limit, Scale, UnfairSide
from ..statistics.group_labels import of_role
from ..statistics.sentences.left_out import CountedRecords
from .frame_groups import group_records
from .frame_hours import DAY_HOURS, read_hours
from .frame_outcomes import OutcomeLists, count_left_out, read_outcomes
from .hours_of_groups import RECENT_HOURS, check_arguments, choose_divisor, count_group_hours, list_figures

MAX_HOURS = 17_520


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
    """For each monitored group the hours and records after which a ratio of favourable rates would be
    found.

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
    watched = of_role(grouping.groups, "monitored")
    threshold = budget_hours * len(watched) * sum(len(figure.limits) for figure in figures)
    recent = hours.usable & (hours.numbers >= hours.hours - RECENT_HOURS)
    counted = count_left_out(
        frame, grouping, outcomes, {"time_impossible": ~hours.usable, "outside_period": ~recent}
    )
    divisor = choose_divisor(person, each_record_another_person)
    lower = Limit(Scale.RATIO, UnfairSide.BELOW, limit, 1 / limit)
    span = min(hours.hours, RECENT_HOURS)
    plans = []
    for position in watched:
        series = count_group_hours(hours, grouping, [position], figures[0], recent)
        watched_per_hour, compared_per_hour = (
            float(np.sum(side.records)) / span for side in (series.monitored, series.reference)
        )
        rate = float((series.reference.favourable.sum() + 0.5) / (series.reference.records.sum() + 1))
        traffic = Traffic(watched_per_hour, compared_per_hour, rate)
        needed = expect_delay_within(
            lower, traffic, ratio * rate, threshold, probability=probability, divisor=divisor
        )
        needed = None if needed is None or needed > MAX_HOURS else needed
        plan = Plan(
            attribute=grouping.attribute,
            group=grouping.groups[position].label,
            reference=grouping.reference_label,
            ratio=ratio,
            probability=probability,
            monitored_per_hour=watched_per_hour,
            reference_per_hour=compared_per_hour,
            reference_rate=rate,
            hours=needed,
            records=None if needed is None else round(needed * (watched_per_hour + compared_per_hour)),
            counted=counted,
            left_out=hours.left_out,
            is_daily=hours.block_hours == DAY_HOURS,
            warnings=grouping.warnings,
        )
        plans.append(plan)
    return tuple(plans)
