"""Evidence over the hours of a DataFrame, with a bound on false alarms, and labels that are still coming
at the end of a log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtri, xlogy

from ..base.errors import InvalidInput
from ..base.frozen import frozen_arrays, frozen_by_name
from ..base.values import is_number, name_value
from ..domain.record_times import LeftOutTimes
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.change_detector import HOURS_OF_A_YEAR
from ..statistics.e_values.confidence import follow_interval
from ..statistics.e_values.expected_hours import EvidenceProgress, expect_more_hours
from ..statistics.e_values.follow import Episode, follow
from ..statistics.e_values.nulls import Hours, Limit, Scale, Side, UnfairSide
from ..statistics.e_values.state_words import State
from ..statistics.group_labels import BoolArray, FloatArray, IntArray, of_role
from ..statistics.measures.labelled_figures import LabelCounts
from ..statistics.sentences.left_out import CountedRecords
from .frame_columns import check_frame, require_column
from .frame_groups import FrameGrouping, group_records
from .frame_hours import DAY_HOURS, HourNumbers, first_of_each, read_hours
from .frame_outcomes import (
    FAVOURABLE,
    UNCLASSIFIED,
    UNFAVOURABLE,
    KnownOutcomes,
    OutcomeLists,
    count_left_out,
    read_outcomes,
    same_label,
)

HOUR_SECONDS = 3_600
DAY_SECONDS = DAY_HOURS * HOUR_SECONDS

UNLIKELY = 0.001
"""Probability of calling labels late that are missing by chance at one rate."""

DIFFERENCE_LIMIT = 0.1
"""Limit of differences of rates, on both sides of 0."""

RECENT_HOURS = 168
"""Last hours, from which the expected traffic is estimated."""


def settle_labels(
    grouping: FrameGrouping,
    hours: HourNumbers,
    counted: BoolArray,
    labelled: BoolArray,
    horizon: float | None,
) -> tuple[BoolArray, str | None]:
    """Records that are old enough for figures of labels, and how that is said; None where all are.

    Leaves out records within `horizon` hours of the last one; None: those of the last days, if they lack more
    labels than others.

    Raises:
        InvalidInput: no record is older than the horizon.
    """
    ages = int(hours.seconds[hours.usable].max()) - hours.seconds
    if horizon is not None:
        settled = ages >= horizon * HOUR_SECONDS
        old = settled & counted
        if not old.any():
            raise InvalidInput("horizon", f"must be shorter than the log, found {horizon:g} hours")
        long = f"{horizon:g} hours" if horizon % DAY_HOURS else f"{horizon / DAY_HOURS:g} days"
        have = f"the {old.sum():,} of {counted.sum():,} records that are {long} older than the last, or more"
        return (
            settled,
            f"Figures of labels count {have}; {(old & labelled).sum():,} have a label." if horizon else None,
        )
    days = find_late_days(ages // DAY_SECONDS, grouping, counted, labelled)
    settled = ages >= days * DAY_SECONDS
    if not days:
        return settled, None
    late = counted & ~settled
    members = [late & (grouping.codes == position) for position in range(len(grouping.groups))]
    counts = ", ".join(
        f"{group.label} {(of & labelled).sum():,} of {of.sum():,}"
        for group, of in zip(grouping.groups, members, strict=True)
    )
    span = "day" if days == 1 else f"{days} days"
    before = f"{(counted & settled & labelled).sum():,} of {(counted & settled).sum():,}"
    return settled, (
        f"Warning: labels are still coming. Of the {late.sum():,} records of the last {span} "
        f"{(late & labelled).sum():,} have one ({counts}), of those before {before}. No figure of labels "
        "counts them; say with --horizon how long labels take, 0h if they are complete."
    )


def find_late_days(ages: IntArray, grouping: FrameGrouping, counted: BoolArray, labelled: BoolArray) -> int:
    """Number of last days, at most half, in which labels are likeliest to be fewer than before; 0 where
    chance explains it.
    """
    grouped = counted & (grouping.codes >= 0)
    days = int(ages[grouped].max(initial=0)) + 1
    size = len(grouping.groups)
    cells = grouping.codes[grouped].astype(int) * days + ages[grouped]
    total, having = (
        np.bincount(cells[which], minlength=size * days).reshape(size, days).astype(float)
        for which in (np.ones(cells.size, bool), labelled[grouped])
    )
    last, last_having = (counts.cumsum(1)[:, : days // 2] for counts in (total, having))
    if not last.size:
        return 0
    before, before_having = (
        counts.sum(1, keepdims=True) - tail for counts, tail in ((total, last), (having, last_having))
    )
    gains = (
        _likelihood(last_having, last)
        + _likelihood(before_having, before)
        - _likelihood(last_having + before_having, last + before)
    )
    gain = np.where(last_having * before < before_having * last, gains, 0.0).sum(0)
    return int(gain.argmax()) + 1 if 2 * gain.max() > chdtri(size, UNLIKELY / gain.size) else 0


def _likelihood(count: FloatArray, total: FloatArray) -> FloatArray:
    """Largest logarithm of the likelihood of so many of the whole."""
    share = np.divide(count, total, out=np.zeros_like(count), where=total > 0)
    likelihood: FloatArray = xlogy(count, share) + xlogy(total - count, 1 - share)
    return likelihood


@frozen_arrays
class ComparisonEvidence:
    """Evidence of one group, metric and direction, after the last hour.

    `interval` holds at all hours at once since the last alarm or its end; None is an open end.
    `more_hours` is the expected number until a decision at the same rates and traffic, if known. If
    unfair, `since` lies between `earliest` and `latest`, and `alarm_at` is the end of the hour of the
    alarm.
    """

    attribute: str
    group: str
    reference: str
    metric: str
    direction: UnfairSide
    limit: float
    state: State
    since: datetime | None
    earliest: datetime | None
    latest: datetime | None
    alarm_at: datetime | None
    interval: tuple[float | None, float | None]
    more_hours: int | None
    episodes: tuple[Episode, ...]
    log_evidence: FloatArray
    log_threshold: float
    is_daily: bool

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, times in ISO 8601 UTC, days where only days are known."""
        return {
            "attribute": self.attribute,
            "group": self.group,
            "metric": self.metric,
            "direction": self.direction.value,
            "state": self.state.value,
            "since": self.state_time(self.since),
            "alarm_at": self.state_time(self.alarm_at),
            "interval": list(self.interval),
        }

    def state_time(self, time: datetime | None) -> str | None:
        return None if time is None else time.strftime("%Y-%m-%d" if self.is_daily else "%Y-%m-%dT%H:%M:%SZ")


@frozen_by_name
class Evidence:
    """Evidence of all comparisons. `labels` says which records are old enough for figures of labels."""

    comparisons: tuple[ComparisonEvidence, ...]
    hours: int
    first: datetime
    records: CountedRecords
    left_out: tuple[LeftOutTimes, ...]
    is_daily: bool
    favourable: tuple[str, ...]
    warnings: tuple[str, ...]
    chosen: str | None
    labels: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        span = {"days": self.hours // DAY_HOURS} if self.is_daily else {"hours": self.hours}
        left_out = [asdict(times) for times in self.left_out]
        comparisons = [comparison.to_json() for comparison in self.comparisons]
        return {
            "comparisons": comparisons,
            **span,
            "left_out_times": left_out,
            "records": self.records.to_json(),
            "labels": self.labels,
        }


def follow_frame(
    frame: pd.DataFrame,
    *,
    attribute: str | Sequence[str],
    time: str,
    prediction: str | None = None,
    label: str | None = None,
    person: str | None = None,
    favourable: object = 1,
    unfavourable: object = None,
    monitored: object = None,
    reference: object = None,
    limit: float = 0.8,
    budget_hours: float = HOURS_OF_A_YEAR,
    time_format: str | None = None,
    earliest: date | str | None = None,
    horizon: float | None = None,
) -> Evidence:
    """Follows the groups of an attribute, or of several together, over the hours of a log.

    Each monitored group is compared with the reference: the ratio of favourable rates with `limit` and
    1/`limit` and, where both `prediction` and `label` are given, the differences of true positive rate, false
    positive rate and accuracy with 0.1 on both sides. All comparisons together raise at most one false alarm
    in `budget_hours` on average. With `person` only a person's first record counts. Labels take up to
    `horizon` hours: figures of labels leave out records that are younger than that at the last one; without
    it, those of the last days if they lack more labels. The other arguments are those of `measure_frame`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    check_arguments(frame, prediction, label, limit=limit, budget_hours=budget_hours)
    hours = read_hours(frame, time, time_format, earliest)
    grouping = group_records(frame, attribute, monitored, reference)
    lists = OutcomeLists.of(favourable, unfavourable)
    outcomes = read_outcomes(frame, label, prediction, lists)
    counted = hours.usable
    if person is not None:
        counted = counted & first_of_each(require_column(frame, person, "person"), hours.seconds)
    settled, labels = counted, None
    if outcomes.actual is not None:
        settled, labels = settle_labels(grouping, hours, counted, ~outcomes.actual.is_missing, horizon)
    compared = []
    unknown = []
    for position, figure in product(of_role(grouping.groups, "monitored"), list_figures(outcomes, limit)):
        needs_labels = outcomes.predicted is None or "labels" in CATALOGUE[figure.metric].needs
        used = counted & settled if needs_labels else counted
        reason = explain_labels(grouping, position, figure, outcomes, used)
        if reason is None:
            compared.append(
                _Compared(position, figure, count_group_hours(hours, grouping, position, figure, used))
            )
        else:
            unknown.append(f"no evidence on {figure.metric} of {grouping.groups[position].label}: {reason}")
    comparisons = sum(len(comparison.figure.limits) for comparison in compared)
    return Evidence(
        comparisons=tuple(
            evidence
            for comparison in compared
            for evidence in _look_at(comparison, grouping, hours, comparisons, budget_hours)
        ),
        hours=hours.hours,
        first=hours.first,
        records=count_left_out(
            frame, grouping, outcomes, {"time_impossible": ~hours.usable, "repeated_person": ~counted}
        ),
        left_out=hours.left_out,
        is_daily=hours.block_hours == DAY_HOURS,
        favourable=tuple(map(name_value, lists.favourable)),
        warnings=(*grouping.warnings, *unknown),
        chosen=grouping.chosen,
        labels=labels,
    )


def check_arguments(
    frame: object,
    prediction: str | None,
    label: str | None,
    *,
    limit: object = 0.8,
    budget_hours: object = HOURS_OF_A_YEAR,
) -> None:
    """Refuses arguments that no column can make right.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    check_frame(frame)
    if prediction is None and label is None:
        raise InvalidInput("prediction", "is needed, or label, or both")
    if not is_number(limit) or not 0 < limit < 1:
        raise InvalidInput("limit", f"must be a ratio between 0 and 1, such as 0.8, found {limit!r:.100}")
    if not is_number(budget_hours) or not 1 <= budget_hours < np.inf:
        raise InvalidInput(
            "budget_hours", f"must be a number of hours, 1 or more, found {budget_hours!r:.100}"
        )


@frozen_arrays
class Figure:
    """Share of the records in `total` that are in `part`. A reversed one is reference - monitored."""

    metric: str
    part: BoolArray
    total: BoolArray
    scale: Scale
    limits: tuple[Limit, ...]
    is_reversed: bool = False


def list_figures(outcomes: KnownOutcomes, limit: float) -> Iterator[Figure]:
    """Yields the metrics that the columns suffice for."""
    predicted = outcomes.predicted
    actual = outcomes.actual
    outcome = outcomes.rated
    ratios = (
        Limit(Scale.RATIO, UnfairSide.BELOW, limit, 1 / limit),
        Limit(Scale.RATIO, UnfairSide.ABOVE, 1 / limit, limit),
    )
    yield Figure(
        "disparate_impact", outcome.codes == FAVOURABLE, outcome.codes != UNCLASSIFIED, Scale.RATIO, ratios
    )
    if predicted is None or actual is None:
        return
    differences = (
        Limit(Scale.DIFFERENCE, UnfairSide.BELOW, -DIFFERENCE_LIMIT, DIFFERENCE_LIMIT),
        Limit(Scale.DIFFERENCE, UnfairSide.ABOVE, DIFFERENCE_LIMIT, -DIFFERENCE_LIMIT),
    )
    classified = (predicted.codes != UNCLASSIFIED) & (actual.codes != UNCLASSIFIED)
    for metric, code in (
        ("true_positive_rate_difference", FAVOURABLE),
        ("false_positive_rate_difference", UNFAVOURABLE),
    ):
        yield Figure(
            metric,
            predicted.codes == FAVOURABLE,
            classified & (actual.codes == code),
            Scale.DIFFERENCE,
            differences,
        )
    yield Figure(
        "accuracy_difference",
        same_label(actual, predicted),
        classified,
        Scale.DIFFERENCE,
        differences,
        is_reversed=True,
    )


def explain_labels(
    grouping: FrameGrouping, position: int, figure: Figure, outcomes: KnownOutcomes, counted: BoolArray
) -> str | None:
    """Reason why labels of one decision say nothing of a monitored group's figure; None where they do."""
    metric = CATALOGUE[figure.metric]
    if "labels" not in metric.needs or outcomes.predicted is None or outcomes.actual is None:
        return None
    labelled = outcomes.actual.codes != UNCLASSIFIED
    for members in ([position], of_role(grouping.groups, "reference")):
        of_side = counted & np.isin(grouping.codes, members)
        counts = [
            [
                int((of_side & (outcomes.predicted.codes == code) & which).sum())
                for which in (of_side, labelled)
            ]
            for code in (0, 1)
        ]
        labels = LabelCounts.of(np.array(counts))
        if not labels.allows(metric):
            return labels.explain(metric)
    return None


def count_group_hours(
    hours: HourNumbers, grouping: FrameGrouping, position: int, figure: Figure, counted: BoolArray
) -> Hours:
    """Hours of one monitored group and all reference groups together."""
    sides = []
    for codes in ([position], of_role(grouping.groups, "reference")):
        total = counted & figure.total & np.isin(grouping.codes, codes)
        counts = (
            np.bincount(hours.numbers[which], minlength=hours.hours).astype(float)
            for which in (total & figure.part, total)
        )
        sides.append(Side(*counts))
    return Hours(*sides)


@frozen_arrays
class _Compared:
    """One figure of the monitored group at `place`, hour by hour."""

    place: int
    figure: Figure
    series: Hours


def _look_at(
    compared: _Compared, grouping: FrameGrouping, hours: HourNumbers, comparisons: int, budget_hours: float
) -> Iterator[ComparisonEvidence]:
    figure = compared.figure
    series = compared.series
    followed = [
        follow(series, limit, comparisons=comparisons, months=hours.months, budget_hours=budget_hours)
        for limit in figure.limits
    ]
    # An alarm on either side begins a chapter of the figure.
    chapter = max(result.chapter for result in followed)
    ends = np.full(2, np.nan)
    if chapter < len(series):
        hours_of_chapter = series.between(chapter, len(series))
        ends = np.array([end[-1] for end in follow_interval(hours_of_chapter, figure.scale)])
    if figure.is_reversed:
        ends = -ends[::-1]
    lower, upper = (None if np.isnan(end) else float(end) for end in ends)
    recent = series.between(max(chapter, len(series) - RECENT_HOURS), len(series))
    for limit, result in zip(figure.limits, followed, strict=True):
        opened = result.open_episode
        state = (
            State.UNFAIR
            if opened
            else State.SHOWN_FAIR
            if result.shown_since is not None
            else State.UNDECIDED
        )
        since = opened.since.hour if opened else result.shown_since
        is_below = (limit.direction is UnfairSide.BELOW) is not figure.is_reversed
        more_hours = None
        if state is State.UNDECIDED:
            more_hours = expect_more_hours(
                limit,
                recent,
                EvidenceProgress(
                    result.log_threshold, float(result.log_evidence[-1]), float(result.log_fairness[-1])
                ),
            )
        yield ComparisonEvidence(
            attribute=grouping.attribute,
            group=grouping.groups[compared.place].label,
            reference=grouping.reference_label,
            metric=figure.metric,
            direction=UnfairSide.BELOW if is_below else UnfairSide.ABOVE,
            limit=-limit.value if figure.is_reversed else limit.value,
            state=state,
            since=None if since is None else hours.start_of(since),
            earliest=hours.start_of(opened.since.earliest) if opened else None,
            latest=hours.start_of(opened.since.latest) if opened else None,
            alarm_at=hours.start_of(opened.alarm) + timedelta(hours=1) if opened else None,
            interval=(lower, upper),
            more_hours=more_hours,
            episodes=result.episodes,
            log_evidence=result.log_evidence,
            log_threshold=result.log_threshold,
            is_daily=hours.block_hours == DAY_HOURS,
        )
