"""Planning: when a given disparate impact would be found, at the traffic of the last days."""

import math
import operator
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain

from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..base.values import frozen, frozen_by_name
from ..database.engine import ArrowReader
from ..domain.check import DataSet, Span
from ..domain.monitor import Monitor
from ..statistics.e_values.expected_delays import Traffic, expect_delay_within
from ..statistics.e_values.nulls import Limit, UnfairSide
from .count_hours import count_payload
from .first_records import FirstOfSpan
from .queries.eras import Era, find_era, read_followed_deployment
from .queries.hour_counts import Cells, count_logged, find_newest_hours, find_recent_hour, read_hours_between
from .tell_state import RECENT_HOURS
from .watched_figures import FollowedEra, WatchedMetric, list_watched_metrics

MAX_RECORDS = 20_000
"""Records, of the newest hours, that estimate the traffic before there are counts."""

MIN_BLOCKS = 12
"""Hours with records that estimate the traffic, if they reach further back than `RECENT_HOURS`."""

PLANNED_METRIC = "disparate_impact"

HOURS_OF_A_MONTH = 730

MIN_MONTHS = 2


@frozen
class WantedDetection:
    ratio: float
    chance: float


@frozen
class GroupCount:
    favourable: int
    records: int

    def __add__(self, other: "GroupCount") -> "GroupCount":
        return GroupCount(self.favourable + other.favourable, self.records + other.records)


NO_RECORDS = GroupCount(0, 0)


@frozen_by_name
class PlannedComparison:
    """Plan of one group: assumed counts, and the hours and records that suffice.

    `group` is None where no monitored group has records. `hours` and `records` (of both sides) are None where
    `words` say why. `limit` is the one that the ratio is beyond, if any.
    """

    attribute: str
    group: str | None
    direction: UnfairSide | None
    limit: float | None
    monitored: GroupCount
    reference: GroupCount
    hours: int | None = None
    records: int | None = None
    words: str = ""


@frozen_by_name
class EvidencePlan:
    """Plan of a monitor at the traffic of `span`, None without records.

    `shared_by` comparisons share the budget of false alarms.
    """

    span: Span | None
    shared_by: int
    threshold: float
    comparisons: Sequence[PlannedComparison]

    @property
    def hours(self) -> int:
        return 0 if self.span is None else (self.span.end - self.span.start) // HOUR


def plan_from_counts(
    session: Session, deployment_no: int, monitor: Monitor, detection: WantedDetection
) -> EvidencePlan | None:
    """Plan from the counted hours of the stored monitor; None where no hour has been counted."""
    era = find_era(session, deployment_no, read_followed_deployment(session, deployment_no).model_revision)
    if era is None or era.counted_until is None:
        return None
    start = era.counted_until - RECENT_HOURS * HOUR
    newest = find_newest_hours(session, era.no, MIN_BLOCKS)
    span = Span(start=min([start, *newest[-1:]]), end=era.counted_until)
    counted = {
        watched.comparison.label: read_hours_between(session, era.no, watched.place, span)
        for watched in _list_planned_metrics(monitor)
    }
    return _build_plan(monitor, counted, span, detection)


def plan_from_records(
    session: Session,
    reader: ArrowReader,
    deployment_no: int,
    monitor: Monitor,
    *,
    detection: WantedDetection,
    until: datetime,
) -> EvidencePlan:
    """Plan from the records of the last days before `until`, or of the newest blocks where these reach
    further back; the monitor need not be stored.

    Raises:
        InvalidInput: the monitor cannot be applied to what was logged.
    """
    deployment = read_followed_deployment(session, deployment_no)
    recent = until - RECENT_HOURS * HOUR
    first_hour = find_recent_hour(session, deployment_no, until, MIN_BLOCKS)
    span = Span(start=min(recent, first_hour or recent), end=until)
    records = count_logged(session, deployment_no, span)
    if records > MAX_RECORDS:
        hours = max(1, (span.end - span.start) // HOUR * MAX_RECORDS // records)
        span = Span(start=until - hours * HOUR, end=until)
    era = Era(model_revision=deployment.model_revision)
    people = None if monitor.evidence.person is None else FirstOfSpan()
    counted: dict[str, dict[datetime, Cells]] = defaultdict(dict)
    for hour in count_payload(reader, FollowedEra(deployment, monitor, era), span, people):
        counted[hour.place.attribute][hour.hour] = hour.cells
    return _build_plan(monitor, counted, span, detection)


def _list_planned_metrics(monitor: Monitor) -> list[WatchedMetric]:
    return [
        metric
        for metric in list_watched_metrics(monitor)
        if metric.definition.data is DataSet.AS_LOGGED and metric.definition.metric == PLANNED_METRIC
    ]


def _build_plan(
    monitor: Monitor, counted: Mapping[str, Mapping[datetime, Cells]], span: Span, detection: WantedDetection
) -> EvidencePlan:
    first = min((hour for hours in counted.values() for hour in hours), default=None)
    traffic_span = None if first is None else Span(start=first, end=span.end)
    sums: dict[str, dict[tuple[str, str], GroupCount]] = defaultdict(lambda: defaultdict(lambda: NO_RECORDS))
    for label, hours in counted.items():
        for group, role, favourable, records in chain.from_iterable(hours.values()):
            sums[label][group, role] += GroupCount(favourable, records)
    monitored = {label: [key for key in groups if key[1] == "monitored"] for label, groups in sums.items()}
    # Every metric of a group has its part of the budget, whether labels and checks exist yet or not; several
    # groups together are one more.
    groups_of = {label: len(groups) + (len(groups) > 1) for label, groups in monitored.items()}
    shared_by = sum(
        len(metric.limits) * groups_of.get(metric.comparison.label, 0)
        for metric in list_watched_metrics(monitor)
    )
    threshold = float(monitor.evidence.false_alarm_hours * max(shared_by, 1))
    comparisons = []
    for watched in _list_planned_metrics(monitor):
        label = watched.comparison.label
        groups = sums[label]
        reference = sum((count for (_, role), count in groups.items() if role == "reference"), NO_RECORDS)
        sides = {UnfairSide.BELOW: operator.lt, UnfairSide.ABOVE: operator.gt}
        limit = next(
            (limit for limit in watched.limits if sides[limit.direction](detection.ratio, limit.value)), None
        )
        for key in monitored.get(label) or [("", "")]:
            comparison = PlannedComparison(
                attribute=label,
                group=key[0] or None,
                direction=None if limit is None else limit.direction,
                limit=None if limit is None else limit.value,
                monitored=groups.get(key, NO_RECORDS),
                reference=reference,
            )
            blocks = sum(
                {role for _, role, _, records in cells if records} >= {"monitored", "reference"}
                for cells in counted.get(label, {}).values()
            )
            pace = _Pace(traffic_span, max(blocks, 1), monitor.evidence.divisor)
            comparisons.append(_describe_plan(comparison, limit, pace, detection, threshold))
    return EvidencePlan(span=traffic_span, shared_by=shared_by, threshold=threshold, comparisons=comparisons)


@frozen
class _Pace:
    """Traffic of a plan: its hours, those with records of both groups, and the divisor of ln E."""

    span: Span | None
    blocks: int
    divisor: int


def _describe_plan(
    comparison: PlannedComparison,
    limit: Limit | None,
    pace: _Pace,
    detection: WantedDetection,
    threshold: float,
) -> PlannedComparison:
    figure = f"A disparate impact of {detection.ratio:g}"
    if limit is None:
        return replace(
            comparison, words=f"{figure} is not beyond a limit that is set, so no alarm would be raised."
        )
    lacking = None if comparison.reference.records else "the reference group"
    if not comparison.monitored.records:
        lacking = comparison.group or "a monitored group"
    span = pace.span
    if lacking is not None or span is None:
        return replace(
            comparison,
            words=f"No record of {lacking} was logged in the last {RECENT_HOURS} hours, so no time can be "
            "given.",
        )
    rate = (comparison.reference.favourable + 0.5) / (comparison.reference.records + 1)
    if not comparison.reference.favourable:
        return replace(
            comparison,
            words=f"No record of the reference group was favourable in the last {RECENT_HOURS} hours, so no "
            "time can be given.",
        )
    if detection.ratio * rate >= 1:
        return replace(
            comparison,
            words=f"{figure} is impossible: {rate:.0%} of the reference records are favourable.".replace(
                "%", " %"
            ),
        )
    traffic = Traffic(
        comparison.monitored.records / pace.blocks, comparison.reference.records / pace.blocks, rate
    )
    blocks = expect_delay_within(
        limit, traffic, detection.ratio * rate, threshold, probability=detection.chance, divisor=pace.divisor
    )
    if blocks is None:
        return replace(
            comparison,
            words=f"{figure} is so close to the limit of {limit.value:g}, or the traffic so small, that no "
            "time can be given.",
        )
    records = math.ceil(blocks * (traffic.monitored + traffic.reference))
    # Batches come further apart than hours.
    needed = math.ceil(blocks * max((span.end - span.start) / HOUR / pace.blocks, 1.0))
    noun = "record" if records == 1 else "records"
    times = "hour" if needed == 1 else "hours"
    months = round(needed / HOURS_OF_A_MONTH)
    duration = f"{needed:,} {times}" if months < MIN_MONTHS else f"{months:,} months"
    sentence = f"{figure} would be found with {detection.chance * 100:g} % probability"
    words = f"{sentence} after about {records:,} {noun}, {duration} at this traffic."
    return replace(comparison, hours=needed, records=records, words=words)
