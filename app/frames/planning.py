"""Planning from a DataFrame: after how many records an unfairness of a given size would be found, at the log's traffic."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..errors import InvalidInput
from ..evidence.delays import simulate_delay
from ..evidence.detector import HOURS_OF_A_YEAR
from ..evidence.nulls import Direction, Limit, Scale
from ..evidence.planning import Traffic
from .columns import column_of
from .evidence import RECENT_HOURS, check_arguments, count_hours_of, list_figures
from .grouping import group_records
from .outcomes import OutcomeLists
from .times import hours_of


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of one group: the traffic and reference rate that it assumes, and the hours and records that suffice.

    `hours` and `records` (of both sides) are None where two years do not suffice, or a side had no records in the last week.
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


def plan_frame(  # noqa: PLR0913 - one keyword for each column, as in measure_frame
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
    ratio: float = 0.7,
    probability: float = 0.9,
    limit: float = 0.8,
    budget_hours: float = HOURS_OF_A_YEAR,
) -> tuple[Plan, ...]:
    """Returns for each monitored group the hours and records after which a ratio of favourable rates would be found.

    "Found" is the alarm of `follow_frame` with the same columns, limit and budget, with that probability. Traffic and reference rate are
    the means of the log's last 168 hours. The other arguments are those of `follow_frame`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    check_arguments(frame, prediction, label, limit=limit, budget_hours=budget_hours)
    for name, number, high in (("ratio", ratio, limit), ("probability", probability, 1)):
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < high:
            raise InvalidInput.of(name, f"must be between 0 and {high}, found {number!r:.100}")
    hours = hours_of(column_of(frame, time, "time"), "time")
    grouping = group_records(frame, attribute, monitored, reference)
    figures = list(list_figures(frame, prediction, label, OutcomeLists.of(favourable, unfavourable), limit))
    watched = [place for place, group in enumerate(grouping.groups) if group.role == "monitored"]
    threshold = budget_hours * len(watched) * sum(len(figure.limits) for figure in figures)
    counted = hours.numbers >= hours.hours - RECENT_HOURS
    span = min(hours.hours, RECENT_HOURS)
    plans = []
    for place in watched:
        series = count_hours_of(hours, grouping, place, figures[0], counted)
        sides = [float(np.sum(side.records)) / span for side in (series.monitored, series.reference)]
        rate = float((series.reference.favourable.sum() + 0.5) / (series.reference.records.sum() + 1))
        lower = Limit(Scale.RATIO, Direction.BELOW, limit, 1 / limit)
        traffic = Traffic(sides[0], sides[1], rate)
        delay = simulate_delay(lower, traffic, ratio * rate, threshold, probability=probability) if min(sides) > 0 else None
        plans.append(
            Plan(
                attribute=grouping.attribute,
                group=grouping.groups[place].label,
                reference=", ".join(group.label for group in grouping.groups if group.role == "reference"),
                ratio=ratio,
                probability=probability,
                monitored_per_hour=sides[0],
                reference_per_hour=sides[1],
                reference_rate=rate,
                hours=None if delay is None else delay.hours,
                records=None if delay is None else delay.records,
            )
        )
    return tuple(plans)
