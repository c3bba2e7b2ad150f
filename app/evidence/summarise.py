"""State of a figure at each of its limits, in short."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType
from sqlalchemy import Row

from ..base.values import frozen
from ..domain.check import DataSet, FigureKey
from ..domain.groups import GroupWords
from ..domain.monitor import Monitor, list_comparisons
from ..statistics.e_values.follow import Episode
from ..statistics.e_values.onset import Onset
from ..statistics.e_values.state_words import MINUTE, State
from ..statistics.group_labels import ComparedGroup, Groups, unite_groups
from ..statistics.sentences.left_out import UNCLASSIFIED, CountedRecords
from ..statistics.tables.count_table import OUTCOMES
from .figure_state import Closed, FigureState, find_hour_start, number_hour
from .queries.figure_states import Alarm, Closure, EndedFigure, KnownFigure, LimitSummary, StoredStatement
from .queries.hour_counts import COUNTED
from .watched_figures import FollowedEra, WatchedMetric


def summarise(
    watched: WatchedMetric, figure: FigureState, statement: StoredStatement | UnsetType = UNSET
) -> list[LimitSummary]:
    """The first limit has the figure's statement."""
    summaries: list[LimitSummary] = []
    for limit, follower in zip(watched.limits, figure.followers, strict=True):
        since = follower.proof.since
        state = State.UNDECIDED if since is None else State.SHOWN_FAIR
        if follower.open_episode is not None:
            since = follower.open_episode.since.hour
            state = State.UNFAIR
        alarms = [
            Alarm(
                since=find_hour_start(episode.since.hour),
                earliest=find_hour_start(episode.since.earliest),
                latest=find_hour_start(episode.since.latest),
                log_evidence=episode.log_evidence,
                alarm_at=find_hour_start(episode.alarm + 1),
                resolved_at=None if episode.resolved is None else find_hour_start(episode.resolved + 1),
                fair_since=None if episode.fair_since is None else find_hour_start(episode.fair_since.hour),
                closed_at=None if episode.closed is None else find_hour_start(episode.closed),
                found_at=None if episode.found is None else find_hour_start(episode.found),
                is_below=episode.is_open and follower.is_below,
            )
            for episode in [*follower.episodes, *follower.past]
        ]
        summaries.append(
            LimitSummary(
                direction=watched.get_direction(limit).value,
                state=state,
                since=None if since is None else find_hour_start(since),
                alarms=alarms,
                statement=UNSET if summaries else statement,
            )
        )
    return summaries


def read_episode(alarm: Alarm) -> Episode:
    since, earliest, latest = map(
        number_hour, (alarm.since, alarm.earliest or alarm.since, alarm.latest or alarm.since)
    )
    back = None if alarm.fair_since is None else number_hour(alarm.fair_since)
    return Episode(
        number_hour(alarm.alarm_at) - 1,
        Onset(since, earliest, latest),
        alarm.log_evidence or 0.0,
        resolved=None if alarm.resolved_at is None else number_hour(alarm.resolved_at) - 1,
        fair_since=None if back is None else Onset(back, back, back),
        closed=None if alarm.closed_at is None else number_hour(alarm.closed_at),
        found=None if alarm.found_at is None else number_hour(alarm.found_at),
    )


def select_closed(closures: Sequence[Closure], watched: WatchedMetric, key: FigureKey) -> Closed:
    """Hours before which a person closed an alarm of the figure, by the limit's direction."""
    return {
        limit.direction: frozenset(
            number_hour(closure.hour)
            for closure in closures
            if closure.key == key and closure.direction is watched.get_direction(limit)
        )
        for limit in watched.limits
    }


VANISHED_AFTER = timedelta(days=1)


_LEFT_OUT = {DataSet.COUNTERFACTUAL: "not_compared", DataSet.LABELLED: "no_counted_label"}
"""Reason, by data set, of a logged record that is not among those of the data set."""


def sum_records(stored: Sequence[Row[Any]], followed: FollowedEra) -> dict[DataSet, list[CountedRecords]]:
    records: dict[DataSet, list[CountedRecords]] = {data: [] for data in (DataSet.AS_LOGGED, *_LEFT_OUT)}
    for comparison in list_comparisons(followed.monitor):
        rows = [row for row in stored if row.attribute == comparison.label]
        logged = [row for row in rows if row.data == DataSet.AS_LOGGED]
        groups = unite_groups([tuple(ComparedGroup(row.label, row.role) for row in rows if row.role)])
        for data, listed in records.items():
            of_data = [row for row in rows if row.data == data]
            counted = _count(
                comparison.label,
                groups,
                logged if data is not DataSet.LABELLED else [row for row in logged if row.is_due],
            )
            if of_data and data in _LEFT_OUT:
                answered = _count(comparison.label, groups, of_data).counts
                # A check keeps what it counted where records were erased since.
                counted = counted.leave_out(
                    _LEFT_OUT[data], np.minimum(answered, counted.counts)[:-1, :UNCLASSIFIED]
                )
            if of_data:
                listed.append(counted.named(GroupWords.of(followed.monitor).label))
    return records


def explain_vanished(stored: Sequence[Row[Any]]) -> dict[tuple[str, str], str]:
    last_seen: dict[tuple[str, str], datetime] = {}
    newest: dict[str, datetime] = {}
    for row in stored:
        newest[row.attribute] = max(newest.get(row.attribute, row.last_hour), row.last_hour)
        if row.role == "monitored":
            last_seen[row.attribute, row.label] = max(
                last_seen.get((row.attribute, row.label), row.last_hour), row.last_hour
            )
    unlisted = {row.attribute: row.first_hour for row in stored if row.reason == "in_no_group"}
    reasons = {}
    for (attribute, group), last in last_seen.items():
        if newest[attribute] - last >= VANISHED_AFTER:
            first = unlisted.get(attribute)
            new = (
                f"new values of {attribute} since {first:{MINUTE}}; "
                if first is not None and first >= last
                else ""
            )
            reasons[attribute, group] = f"{new}the group was last seen {last:{MINUTE}}"
    return reasons


def _count(label: str, groups: Groups, rows: Iterable[Row[Any]]) -> CountedRecords:
    labels = [group.label for group in groups]
    cells = {"": np.zeros((len(groups) + 1, OUTCOMES), np.int64)}
    for row in rows:
        of_reason = cells.setdefault("" if row.reason == COUNTED else row.reason, np.zeros_like(cells[""]))
        of_reason[labels.index(row.label) if row.role else -1] += [
            row.records - row.favourable,
            row.favourable,
            0,
        ]
    return CountedRecords(attribute=label, groups=groups, counts=cells.pop(""), left_out=cells)


def count_lag_hours(data: DataSet, monitor: Monitor) -> int:
    """Hours by which an hour of the data set counts later: counterfactual by its check, labels by their
    horizon.
    """
    if data is DataSet.LABELLED:
        return monitor.evidence.label_horizon_hours + 1
    return 1 if data is DataSet.COUNTERFACTUAL else 0


@frozen
class Budget:
    """Budget of false alarms that comparisons share: one alarm in `hours` on average.

    `changes` are the hours in which their number became each of `totals`, ascending.
    """

    hours: int
    changes: Sequence[int]
    totals: Sequence[int]

    @classmethod
    def of(
        cls, figures: Sequence[KnownFigure], ended: Sequence[EndedFigure], followed: FollowedEra
    ) -> "Budget":
        monitor = followed.monitor
        directions = {metric.key: len(metric.limits) for metric in followed.metrics}
        changes = [
            (
                number_hour(figure.first_hour) + count_lag_hours(figure.place.data, monitor),
                directions.get(figure.metric_key, 0),
            )
            for figure in figures
        ]
        for figure in ended:
            lag = count_lag_hours(figure.data, monitor)
            changes += [
                (number_hour(figure.first_hour) + lag, figure.limits),
                (number_hour(figure.ended_at) + lag, -figure.limits),
            ]
        changes.sort()
        return cls(
            monitor.evidence.false_alarm_hours,
            [hour for hour, _ in changes],
            list(accumulate(count for _, count in changes)),
        )

    def total(self, hour: int) -> int:
        position = bisect_right(self.changes, hour)
        return self.totals[position - 1] if position else 0

    def log_threshold(self, hour: int) -> float:
        return math.log(self.hours * max(self.total(hour), 1))
