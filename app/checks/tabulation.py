"""Reduces a window to the small count tables that everything else reads. Source: spec of the fairness check, section 5.

Each table is made twice: of the records of the span itself, and of the additional ones from before it. Metrics of the
check read both together; roll-ups read the first alone, so that no record is counted twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from app.checks.feedback import Comparison
from app.checks.grouping import NEITHER, Grouping, intersect
from app.checks.outcomes_of_copies import CopyOutcomes
from app.checks.window import Window
from app.domain.checks import DataSet
from app.domain.texts import TOGETHER
from app.metrics.tables import BalancedCells, FeedbackCells, GroupCounts

Table: TypeAlias = GroupCounts | BalancedCells | FeedbackCells
TABLE_TYPES: dict[DataSet, type[GroupCounts] | type[BalancedCells] | type[FeedbackCells]] = {
    DataSet.PAYLOAD: GroupCounts,
    DataSet.BALANCED: BalancedCells,
    DataSet.FEEDBACK: FeedbackCells,
}

OWN, ADDITIONAL = "span", "additional"
EVERYBODY = ""
"""The attribute of the table that has no groups: accuracy overall."""


@dataclass(frozen=True, slots=True)
class Tabulated:
    """One table in its two parts. `attribute` is a feature, several joined by ` × `, or EVERYBODY."""

    data: DataSet
    attribute: str
    own: Table
    additional: Table

    @property
    def whole(self) -> Table:
        """Both parts together."""
        return merged(self.data, [self.own, self.additional])


def merged(data: DataSet, tables: Sequence[Any]) -> Table:
    """The sum of tables of one kind, groups aligned by label."""
    return TABLE_TYPES[data].merged(tables)


def tabulate_payload(window: Window, outcomes: npt.NDArray[np.int64], groupings: Sequence[Grouping]) -> Tabulated:
    """Outcomes by group: of one attribute, or of several together."""
    named, codes = intersect(groupings)
    parts = [GroupCounts.from_records(named, codes[part], outcomes[part]) for part in _parts(window)]
    return Tabulated(DataSet.PAYLOAD, _name(groupings), *parts)


def tabulate_balanced(window: Window, outcomes: npt.NDArray[np.int64], copies: CopyOutcomes) -> Tabulated:
    """Outcomes of records together with those of their copies."""
    grouping = copies.grouping
    parts = [
        BalancedCells.from_records(
            grouping.named,
            grouping.codes[part],
            outcomes[part],
            copies_favourable=copies.favourable[part],
            copies_classified=copies.classified[part],
        )
        for part in _parts(window)
    ]
    return Tabulated(DataSet.BALANCED, grouping.column.name, *parts)


def tabulate_feedback(window: Window, comparison: Comparison, groupings: Sequence[Grouping]) -> Tabulated:
    """Labels against predictions by group; without groupings, of everybody."""
    named, codes = intersect(groupings) if groupings else ([], np.full(len(window), NEITHER, dtype=np.int64))
    parts = [
        FeedbackCells.from_records(
            named, codes[part], actual=comparison.actual[part], predicted=comparison.predicted[part], correct=comparison.correct[part]
        )
        for part in _parts(window)
    ]
    return Tabulated(DataSet.FEEDBACK, _name(groupings), *parts)


def _parts(window: Window) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    own = window.is_own()
    return own, ~own


def _name(groupings: Sequence[Grouping]) -> str:
    return TOGETHER.join(grouping.column.name for grouping in groupings) or EVERYBODY
