"""Records of an era's hours, and why the others of them do not count."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import Row

from ..domain.check import DataSet
from ..domain.groups import GroupWords
from ..domain.monitor import list_comparisons
from ..statistics.e_values.state_words import MINUTE
from ..statistics.group_labels import ComparedGroup, Groups, union
from ..statistics.sentences.left_out import UNCLASSIFIED, CountedRecords
from ..statistics.tables.count_table import OUTCOMES
from .count_hours import FollowedEra
from .queries.hour_counts import COUNTED

VANISHED = timedelta(days=1)
"""Time without a record after which a group is said to have been last seen."""

_LEFT_OUT = {DataSet.COUNTERFACTUAL: "not_compared", DataSet.LABELLED: "no_counted_label"}
"""Reason of a logged record that is not among those of the data set."""


def sum_records(stored: Sequence[Row[Any]], followed: FollowedEra) -> dict[DataSet, list[CountedRecords]]:
    """Records of all counted hours for each comparison by data set, from `sum_cells`; of labels, of hours
    whose horizon has passed.
    """
    records: dict[DataSet, list[CountedRecords]] = {data: [] for data in (DataSet.AS_LOGGED, *_LEFT_OUT)}
    for comparison in list_comparisons(followed.monitor):
        rows = [row for row in stored if row.attribute == comparison.label]
        logged = [row for row in rows if row.data == DataSet.AS_LOGGED]
        groups = union([tuple(ComparedGroup(row.label, row.role) for row in rows if row.role)])
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
    """Says by attribute and group when one was last seen that has no record for a day in which others
    have.
    """
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
        if newest[attribute] - last >= VANISHED:
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
