"""Records of an era's hours, and why the others of them do not count."""

import numpy as np
from sqlalchemy.orm import Session

from ..domain.comparisons import comparisons_of
from ..domain.group_words import GroupWords
from ..metrics.groups import ComparedGroup, union
from ..metrics.left_out import CountedRecords
from ..metrics.tables.count_table import OUTCOMES
from ..store.evidence.hours import sum_payload
from .counting import FollowedEra


def sum_records(session: Session, followed: FollowedEra) -> tuple[list[CountedRecords], dict[str, str]]:
    """Records of all counted hours for each comparison, and by its label why one is not measured."""
    stored, records = sum_payload(session, followed.era.no), []
    for comparison in comparisons_of(followed.monitor):
        rows = [row for row in stored if row.attribute == comparison.label]
        groups = union([tuple(ComparedGroup(row.label, row.role) for row in rows if row.role)])
        places = {group.label: place for place, group in enumerate(groups)}
        cells = {reason: np.zeros((len(groups) + 1, OUTCOMES), np.int64) for reason in ("", *(row.reason for row in rows))}
        for row in rows:
            cells[row.reason][places[row.label] if row.role else -1] += [row.records - row.favourable, row.favourable, 0]
        if rows:
            counted = CountedRecords(attribute=comparison.label, groups=groups, counts=cells.pop(""), left_out=cells)
            records.append(counted.named(GroupWords.of(followed.monitor).label))
    return records, {row.attribute: row.label for row in stored if row.label is not None and not row.role}
