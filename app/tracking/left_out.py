"""Records of an era's hours, and why the others of them do not count."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sqlalchemy import Row
from sqlalchemy.orm import Session

from ..domain.checks import DataSet
from ..domain.comparisons import comparisons_of
from ..domain.group_words import GroupWords
from ..metrics.groups import ComparedGroup, Groups, union
from ..metrics.left_out import UNCLASSIFIED, CountedRecords
from ..metrics.tables.count_table import OUTCOMES
from ..store.evidence.hours import COUNTED, sum_cells
from .counting import FollowedEra

_LEFT_OUT = {DataSet.BALANCED: "not_compared", DataSet.FEEDBACK: "no_counted_label"}
"""Reason of a logged record that is not among those of the data set."""


def sum_records(session: Session, followed: FollowedEra) -> tuple[dict[DataSet, list[CountedRecords]], dict[str, str]]:
    """Records of all counted hours for each comparison by data set, and by its label why one is not measured.

    Of labels, the hours are those whose horizon has passed.
    """
    stored = sum_cells(session, followed.era.no)
    records: dict[DataSet, list[CountedRecords]] = {data: [] for data in (DataSet.PAYLOAD, *_LEFT_OUT)}
    for comparison in comparisons_of(followed.monitor):
        rows = [row for row in stored if row.attribute == comparison.label]
        logged = [row for row in rows if row.data == DataSet.PAYLOAD]
        groups = union([tuple(ComparedGroup(row.label, row.role) for row in rows if row.role)])
        for data, listed in records.items():
            own = [row for row in rows if row.data == data]
            counted = _count(comparison.label, groups, logged if data is not DataSet.FEEDBACK else [row for row in logged if row.is_due])
            if own and data in _LEFT_OUT:
                answered = _count(comparison.label, groups, own).counts
                # A check keeps what it counted where records were erased since.
                counted = counted.leave_out(_LEFT_OUT[data], np.minimum(answered, counted.counts)[:-1, :UNCLASSIFIED])
            if own:
                listed.append(counted.named(GroupWords.of(followed.monitor).label))
    return records, {row.attribute: row.label for row in stored if row.label is not None and not row.role}


def _count(label: str, groups: Groups, rows: Iterable[Row[Any]]) -> CountedRecords:
    places = [group.label for group in groups]
    cells = {"": np.zeros((len(groups) + 1, OUTCOMES), np.int64)}
    for row in rows:
        reason = "" if row.reason == COUNTED else row.reason
        of_reason = cells.setdefault(reason, np.zeros_like(cells[""]))
        of_reason[places.index(row.label) if row.role else -1] += [row.records - row.favourable, row.favourable, 0]
    return CountedRecords(attribute=label, groups=groups, counts=cells.pop(""), left_out=cells)
