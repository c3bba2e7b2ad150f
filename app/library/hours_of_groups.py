"""Evidence over the hours of a DataFrame.

First the labels that are still coming at the end of a log, then the evidence of each comparison and its
words.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date, datetime, timedelta
from itertools import islice, product

import numpy as np
import pandas as pd
from scipy.special import chdtri, xlogy

from ..base.clock import utc_now
from ..base.errors import InvalidInput
from ..base.strict_json import JsonObject
from ..base.values import frozen_arrays, frozen_by_name, is_number, name_value
from ..domain.monitor import POOLED_GROUP, UNKNOWN_PERSON_DIVISOR
from ..domain.record_times import LeftOutTimes
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.confidence import RunningInterval, add_hours
from ..statistics.e_values.expected_delays import expect_more_hours
from ..statistics.e_values.follow import (
    ComparisonFamily,
    Episode,
    EvidenceSeries,
    begin_comparison,
    follow_family,
)
from ..statistics.e_values.nulls import (
    HOURS_OF_A_YEAR,
    Hours,
    Limit,
    Scale,
    SideHours,
    UnfairSide,
    find_own_side,
)
from ..statistics.e_values.onset import Onset
from ..statistics.e_values.state_words import (
    DAY,
    FAVOURABLE_RATE,
    MINUTE,
    RATE_PHRASES,
    EvidenceState,
    FigureFacts,
    FigureStatement,
    State,
    say_guarantee,
    say_some_group,
    say_start,
)
from ..statistics.e_values.tell_figure import EndedHours, tell_figure
from ..statistics.group_labels import BoolArray, FloatArray, IntArray, find_positions
from ..statistics.intervals.verdicts import Verdict
from ..statistics.measures.label_states import LabelCounts
from ..statistics.sentences.left_out import CountedRecords
from .compared_rates import DAY_HOURS, HourNumbers, mark_first_records, place_in_one_hour, read_hours
from .frame_columns import check_frame, require_column
from .frame_groups import FrameGrouping, group_records
from .frame_report import (
    FAVOURABLE,
    UNCLASSIFIED,
    UNFAVOURABLE,
    KnownOutcomes,
    OutcomeLists,
    count_left_out,
    match_labels,
    read_outcomes,
)

HOUR_SECONDS = 3_600
DAY_SECONDS = DAY_HOURS * HOUR_SECONDS

MAX_LATE_P_VALUE = 0.001
"""Below it, the last days have fewer labels than chance explains."""

DIFFERENCE_LIMIT = 0.1
"""Limit of differences of rates, on both sides."""

RECENT_HOURS = 168
"""Newest hours that traffic is estimated from and statements read."""


def settle_labels(
    grouping: FrameGrouping,
    hours: HourNumbers,
    counted: BoolArray,
    labelled: BoolArray,
    horizon: float | None,
) -> tuple[BoolArray, str | None]:
    """Returns which records are old enough for figures of labels, and a sentence on it; None if all are.

    Without a `horizon` of hours, those of the last days are left out, if they lack more labels than others.

    Raises:
        InvalidInput: no record is older than the horizon.
    """
    ages = int(hours.seconds[hours.usable].max()) - hours.seconds
    if horizon is not None:
        settled = ages >= horizon * HOUR_SECONDS
        of_settled = settled & counted
        if not of_settled.any():
            raise InvalidInput("horizon", f"must be shorter than the log, found {horizon:g} hours")
        age_text = f"{horizon:g} hours" if horizon % DAY_HOURS else f"{horizon / DAY_HOURS:g} days"
        if not horizon:
            return settled, None
        return settled, (
            f"Figures of labels count the {of_settled.sum():,} of {counted.sum():,} records "
            f"that are {age_text} older than the last, or more; "
            f"{(of_settled & labelled).sum():,} have a label."
        )
    days = find_late_days(ages // DAY_SECONDS, grouping, counted, labelled)
    settled = ages >= days * DAY_SECONDS
    if not days:
        return settled, None
    late = counted & ~settled
    late_by_group = [late & (grouping.codes == position) for position in range(len(grouping.groups))]
    counts = ", ".join(
        f"{group.label} {(of_group & labelled).sum():,} of {of_group.sum():,}"
        for group, of_group in zip(grouping.groups, late_by_group, strict=True)
    )
    span = "day" if days == 1 else f"{days} days"
    earlier_text = f"{(counted & settled & labelled).sum():,} of {(counted & settled).sum():,}"
    return settled, (
        f"Warning: labels are still coming. Of the {late.sum():,} records of the last {span} "
        f"{(late & labelled).sum():,} have one ({counts}), of those before {earlier_text}. "
        "No figure of labels counts them; say with --horizon how long labels take, 0h if they are complete."
    )


def find_late_days(ages: IntArray, grouping: FrameGrouping, counted: BoolArray, labelled: BoolArray) -> int:
    """Number of last days, at most half, that most likely have fewer labels; 0 if chance explains it.

    `ages` [records] are days before the last record.
    """
    grouped = counted & (grouping.codes >= 0)
    days = int(ages[grouped].max(initial=0)) + 1
    size = len(grouping.groups)
    cells = grouping.codes[grouped].astype(int) * days + ages[grouped]
    total, with_label = (
        np.bincount(cells[mask], minlength=size * days).reshape(size, days).astype(float)
        for mask in (np.ones(cells.size, bool), labelled[grouped])
    )
    last, late_labelled = (counts.cumsum(1)[:, : days // 2] for counts in (total, with_label))
    if not last.size:
        return 0
    before, before_with_label = (
        counts.sum(1, keepdims=True) - last_days
        for counts, last_days in ((total, last), (with_label, late_labelled))
    )
    gains = (
        _log_likelihood(late_labelled, last)
        + _log_likelihood(before_with_label, before)
        - _log_likelihood(late_labelled + before_with_label, last + before)
    )
    gain = np.where(late_labelled * before < before_with_label * last, gains, 0.0).sum(0)
    return int(gain.argmax()) + 1 if 2 * gain.max() > chdtri(size, MAX_LATE_P_VALUE / gain.size) else 0


def _log_likelihood(count: FloatArray, total: FloatArray) -> FloatArray:
    share = np.divide(count, total, out=np.zeros_like(count), where=total > 0)
    likelihood: FloatArray = xlogy(count, share) + xlogy(total - count, 1 - share)
    return likelihood


@frozen_arrays
class ComparisonEvidence:
    """Evidence on one side of a figure of a group, after the last hour.

    `statement` is the figure's, which its two limits share. `more_hours` is the expected number until a
    decision at the same rates and traffic. If unfair, `since` lies between `earliest` and `latest`, and
    `alarm_at` is the end of the hour of the alarm.
    """

    attribute: str
    group: str
    reference: str
    metric: str
    direction: UnfairSide
    limit: float
    state: State
    evidence: EvidenceState
    statement: FigureStatement
    since: datetime | None
    earliest: datetime | None
    latest: datetime | None
    alarm_at: datetime | None
    more_hours: int | None
    episodes: tuple[Episode, ...]
    log_evidence: FloatArray
    log_threshold: float
    is_daily: bool

    def to_json(self) -> JsonObject:
        """Times in ISO 8601 UTC, days where only days are known."""
        statement = self.statement
        return {
            "attribute": self.attribute,
            "group": self.group,
            "metric": self.metric,
            "direction": self.direction.value,
            "state": statement.state.value,
            "row": statement.row,
            "sentence": statement.sentence,
            "evidence": self.evidence.value,
            "since": self.write_time(self.since),
            "alarm_at": self.write_time(self.alarm_at),
            "interval": statement.interval and list(statement.interval),
            "interval_kind": statement.interval_kind and statement.interval_kind.value,
        }

    def write_time(self, time: datetime | None) -> str | None:
        return None if time is None else time.strftime("%Y-%m-%d" if self.is_daily else "%Y-%m-%dT%H:%M:%SZ")


@frozen_by_name
class Evidence:
    """Evidence of all comparisons. `labels` says which records are old enough for figures of labels.

    `guarantee` is the bound on false alarms; `some_group` says that one is unfair, not yet clear which.
    `divisor` is that of evidence, by what was said of persons.
    """

    comparisons: tuple[ComparisonEvidence, ...]
    hours: int
    first: datetime
    records: CountedRecords
    left_out: tuple[LeftOutTimes, ...]
    is_daily: bool
    favourable: tuple[str, ...]
    warnings: tuple[str, ...]
    chosen: str | None
    guarantee: str
    divisor: int
    some_group: str | None = None
    labels: str | None = None
    has_times: bool = True

    def to_json(self) -> JsonObject:
        return {
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            **({"days": self.hours // DAY_HOURS} if self.is_daily else {"hours": self.hours}),
            "left_out_times": [asdict(times) for times in self.left_out],
            "records": self.records.to_json(),
            "labels": self.labels,
            "guarantee": self.guarantee,
            "some_group": self.some_group,
        }


def follow_frame(
    frame: pd.DataFrame,
    *,
    attribute: str | Sequence[str],
    time: str | None = None,
    prediction: str | None = None,
    label: str | None = None,
    person: str | None = None,
    each_record_another_person: str | None = None,
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
    in `budget_hours` on average, under the condition that `guarantee` names. With `person` only a person's
    first record counts; somebody may declare with a name that each record is another person; without either,
    evidence counts at a tenth. Without `time` all records are one block. Several monitored groups together
    are one more. Labels take up to `horizon` hours: figures of labels leave out records that are younger than
    that at the last one; without it, those of the last days if they lack more labels. The other arguments are
    those of `measure_frame`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    check_arguments(frame, prediction, label, limit=limit, budget_hours=budget_hours)
    divisor = choose_divisor(person, each_record_another_person)
    hours = place_in_one_hour(len(frame)) if time is None else read_hours(frame, time, time_format, earliest)
    grouping = group_records(frame, attribute, monitored, reference)
    lists = OutcomeLists.of(favourable, unfavourable)
    outcomes = read_outcomes(frame, label, prediction, lists)
    counted = hours.usable
    if person is not None:
        counted = counted & mark_first_records(require_column(frame, person, "person"), hours.seconds)
    settled = counted
    labels = None
    if outcomes.actual is not None:
        settled, labels = settle_labels(grouping, hours, counted, ~outcomes.actual.is_missing, horizon)
    compared = []
    unmeasured = []
    watched = find_positions(grouping.groups, "monitored")
    pooled = [watched] if len(watched) > 1 else []
    for positions, figure in product(
        [*([position] for position in watched), *pooled], list_figures(outcomes, limit)
    ):
        needs_labels = outcomes.predicted is None or "labels" in CATALOGUE[figure.metric].needs
        used = counted & settled if needs_labels else counted
        reason = explain_labels(grouping, positions, figure, outcomes, used)
        label_of = POOLED_GROUP if len(positions) > 1 else grouping.groups[positions[0]].label
        if reason is None:
            series = count_group_hours(hours, grouping, positions, figure, used)
            compared.append(_ComparedGroup(label_of, figure, series))
        else:
            unmeasured.append(f"no evidence on {figure.metric} of {label_of}: {reason}")
    family = ComparisonFamily(math.log(budget_hours))
    names = _GroupNames(grouping, tuple(map(name_value, lists.favourable)))
    total = sum(len(comparison.figure.limits) for comparison in compared)
    declared = each_record_another_person and (each_record_another_person, utc_now().date().isoformat())
    comparisons = tuple(_follow(compared, names, hours, family, divisor, has_times=time is not None))
    return Evidence(
        comparisons=comparisons,
        hours=hours.hours,
        first=hours.first,
        records=count_left_out(
            frame, grouping, outcomes, {"time_impossible": ~hours.usable, "repeated_person": ~counted}
        ),
        left_out=hours.left_out,
        is_daily=hours.block_hours == DAY_HOURS,
        favourable=names.favourable,
        warnings=(*grouping.warnings, *unmeasured),
        chosen=grouping.chosen,
        guarantee=say_guarantee(
            max(total, 1), budget_hours, by_person=person is not None, declared=declared or None
        ),
        divisor=divisor,
        some_group=_say_alarm(family),
        labels=labels,
        has_times=time is not None,
    )


def check_arguments(
    frame: object,
    prediction: str | None,
    label: str | None,
    *,
    limit: object = 0.8,
    budget_hours: object = HOURS_OF_A_YEAR,
) -> None:
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


def choose_divisor(person: str | None, each_record_another_person: str | None) -> int:
    """Raises InvalidInput: both are given, or the declaration has no name."""
    if each_record_another_person is None:
        return UNKNOWN_PERSON_DIVISOR if person is None else 1
    if person is not None:
        reason = f"cannot be declared together with the column of person ids, {person!r:.100}"
        raise InvalidInput("each_record_another_person", reason)
    if not each_record_another_person.strip():
        raise InvalidInput("each_record_another_person", "must be the name of the person who declares it")
    return 1


def list_figures(outcomes: KnownOutcomes, limit: float) -> Iterator[Figure]:
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
        match_labels(actual, predicted),
        classified,
        Scale.DIFFERENCE,
        differences,
        is_reversed=True,
    )


def explain_labels(
    grouping: FrameGrouping,
    positions: Sequence[int],
    figure: Figure,
    outcomes: KnownOutcomes,
    counted: BoolArray,
) -> str | None:
    metric = CATALOGUE[figure.metric]
    if "labels" not in metric.needs or outcomes.predicted is None or outcomes.actual is None:
        return None
    labelled = outcomes.actual.codes != UNCLASSIFIED
    for members in (positions, find_positions(grouping.groups, "reference")):
        of_side = counted & np.isin(grouping.codes, members)
        counts = [
            [int((of_side & (outcomes.predicted.codes == code) & mask).sum()) for mask in (of_side, labelled)]
            for code in (0, 1)
        ]
        labels = LabelCounts.of(np.array(counts))
        if not labels.allows(metric):
            return labels.explain(metric)
    return None


def count_group_hours(
    hours: HourNumbers, grouping: FrameGrouping, positions: Sequence[int], figure: Figure, counted: BoolArray
) -> Hours:
    sides = []
    for codes in (positions, find_positions(grouping.groups, "reference")):
        total = counted & figure.total & np.isin(grouping.codes, codes)
        counts = (
            np.bincount(hours.numbers[mask], minlength=hours.hours).astype(float)
            for mask in (total & figure.part, total)
        )
        sides.append(SideHours(*counts))
    return Hours(*sides)


@frozen_arrays
class _ComparedGroup:
    """Group with the counts of one figure over the hours."""

    group: str
    figure: Figure
    series: Hours


@frozen_arrays
class _GroupNames:
    grouping: FrameGrouping
    favourable: tuple[str, ...]

    def name_records(self, group: str) -> str:
        if group == POOLED_GROUP:
            return f"the monitored groups of {self.grouping.attribute} together"
        return f"records with {self.grouping.attribute} {group}"


def _follow(
    compared: Sequence[_ComparedGroup],
    names: _GroupNames,
    hours: HourNumbers,
    family: ComparisonFamily,
    divisor: int,
    *,
    has_times: bool,
) -> Iterator[ComparisonEvidence]:
    comparisons = [
        begin_comparison(
            comparison.series,
            limit,
            hours.months,
            divisor=divisor,
            name=(comparison.figure.metric, comparison.group),
        )
        for comparison in compared
        for limit in comparison.figure.limits
    ]
    followed = iter(follow_family(family, comparisons, hours.months, total=lambda _: len(comparisons)))
    is_some_group = family.open_alarm is not None
    for comparison in compared:
        of_figure = list(islice(followed, len(comparison.figure.limits)))
        yield from _describe_figure(comparison, of_figure, names, hours, divisor, is_some_group, has_times)


def _describe_figure(
    compared: _ComparedGroup,
    followed: Sequence[EvidenceSeries],
    names: _GroupNames,
    hours: HourNumbers,
    divisor: int,
    is_some_group: bool,  # noqa: FBT001 - of all comparisons
    has_times: bool,  # noqa: FBT001 - of the file
) -> Iterator[ComparisonEvidence]:
    figure = compared.figure
    series = compared.series
    end = len(compared.series)
    open_episode = next((result.open_episode for result in followed if result.open_episode), None)
    chapter = (
        max(result.follower.chapter for result in followed)
        if open_episode is None
        else open_episode.since.hour
    )
    of_chapter = series.between(chapter, end)
    interval = RunningInterval.empty(figure.scale)
    add_hours([interval], [of_chapter], [np.full(len(of_chapter), float(divisor))])
    is_daily = hours.block_hours == DAY_HOURS
    form = DAY if is_daily else MINUTE

    def say_onset(since: Onset) -> str:
        onset, earliest, latest = map(hours.find_block_start, (since.hour, since.earliest, since.latest))
        return say_start(onset, earliest, latest, form, is_first=not since.hour)

    by_side = {
        find_own_side(limit, is_reversed=figure.is_reversed): -limit.value
        if figure.is_reversed
        else limit.value
        for limit in figure.limits
    }
    first = max(0, end - RECENT_HOURS)
    ended_hours = EndedHours(
        followers=[result.follower for result in followed],
        limits=figure.limits,
        counts=interval.counts,
        ends=interval.find_ends(),
        chapter=chapter,
        recent=series.between(first, end),
        first=first,
        end=end,
        say=lambda hour: f"{hours.find_block_start(hour):{DAY}}",
        say_onset=say_onset,
        is_some_group=is_some_group,
    )
    block = "day" if is_daily else "hour"
    facts = FigureFacts(
        group=names.name_records(compared.group),
        reference=names.name_records(names.grouping.reference_label),
        outcome=f"get {' or '.join(names.favourable)}",
        rate=RATE_PHRASES.get(figure.metric, FAVOURABLE_RATE),
        is_ratio=figure.scale is Scale.RATIO,
        is_reversed=figure.is_reversed,
        lower_limit=by_side.get(UnfairSide.BELOW),
        upper_limit=by_side.get(UnfairSide.ABOVE),
        verdict=Verdict.NOT_COMPUTABLE,
        evidence=EvidenceState.NONE_YET,
        block=block if has_times else "file",
    )
    log_thresholds = [result.log_threshold for result in followed]
    statement, evidence, more_hours = tell_figure(
        ended_hours, facts, log_thresholds, divisor, expect_more_hours
    )
    for limit, result, of_limit, hours_more in zip(
        figure.limits, followed, evidence, more_hours, strict=True
    ):
        episode = result.open_episode
        since_hour = episode.since.hour if episode else result.shown_since
        state = State.UNFAIR if episode else State.SHOWN_FAIR
        if since_hour is None:
            state = State.UNDECIDED
        yield ComparisonEvidence(
            attribute=names.grouping.attribute,
            group=compared.group,
            reference=names.grouping.reference_label,
            metric=figure.metric,
            direction=find_own_side(limit, is_reversed=figure.is_reversed),
            limit=-limit.value if figure.is_reversed else limit.value,
            state=state,
            evidence=of_limit,
            statement=statement,
            since=None if since_hour is None else hours.find_block_start(since_hour),
            earliest=hours.find_block_start(episode.since.earliest) if episode else None,
            latest=hours.find_block_start(episode.since.latest) if episode else None,
            alarm_at=hours.find_block_start(episode.alarm) + timedelta(hours=1) if episode else None,
            more_hours=hours_more,
            episodes=result.episodes,
            log_evidence=result.log_evidence,
            log_threshold=result.log_threshold,
            is_daily=is_daily,
        )


METRIC_TITLES = {
    "disparate_impact": "disparate impact",
    "true_positive_rate_difference": "TPR difference",
    "false_positive_rate_difference": "FPR difference",
    "accuracy_difference": "accuracy difference",
}


def _say_alarm(family: ComparisonFamily) -> str | None:
    alarm = family.open_alarm
    if alarm is None:
        return None
    return say_some_group(
        alarm.comparisons, dict.fromkeys(f"{metric} of {group}" for (metric, group), _ in alarm.leading)
    )
