"""Observed labels of a check's window, ready to be counted."""

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from ...base.frozen import frozen
from ...domain.comparison import Comparison
from ...domain.outcome import Outcome
from ...sources.arrays.group_of_records import Grouping
from ...sources.arrays.read_records import RecordColumns, RecordTable, read_table
from ...statistics.group_labels import IntArray, as_groups
from ...statistics.tables.count_table import FeedbackCells
from ..subject import Subject
from .observed_labels import PROBABILITY, ComparedLabels, compare
from .window import Window


@frozen(eq=False)
class Labelled:
    window: Window
    comparison: ComparedLabels
    read: RecordTable
    cohort: RecordTable | None = None
    has_label: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        return self.read.groupings

    def count_cells(self, comparison: Comparison) -> FeedbackCells:
        """Labels by group, without strata and scores."""
        named, codes = self.read.compare(comparison)
        columns = {name: getattr(self.comparison, name) for name in FeedbackCells.AXES}
        return replace(FeedbackCells.from_records(as_groups(named), codes, **columns), cohort=self.count_cohort(comparison))

    def count_cohort(self, comparison: Comparison) -> IntArray | None:
        """Records of the cohort [groups + 1, unfavourable and favourable prediction, all and those with a label]."""
        if self.cohort is None:
            return None
        named, codes = self.cohort.compare(comparison)
        counts, outcomes = np.zeros((len(named) + 1, 2, 2), np.int64), self.cohort.outcomes
        for column, members in enumerate((outcomes < Outcome.UNCLASSIFIED, (outcomes < Outcome.UNCLASSIFIED) & self.has_label)):
            np.add.at(counts, (codes[members], outcomes[members], column), 1)
        return counts


def read_labels(subject: Subject, groupings: Sequence[Grouping], window: Window, cohort: Window | None) -> Labelled | None:
    """Window's labels in the groups that the payload window showed; None without labels."""
    if not len(window):
        return None
    monitor = replace(subject.monitor, attributes=tuple(map(subject.fixed, groupings)))
    probabilities = window.rows[PROBABILITY] if PROBABILITY in window.rows.column_names else None
    read = read_table(RecordColumns(window.values(), window.rows["predicted"], probabilities), subject.deployment.schema, monitor)
    compared = compare(window, read.outcomes, monitor.outcomes, subject.deployment.problem_type)
    if cohort is None:
        return Labelled(window, compared, read)
    of_cohort = read_table(RecordColumns(cohort.values(), cohort.rows["outcome"]), subject.deployment.schema, monitor)
    return Labelled(window, compared, read, of_cohort, np.asarray(cohort.rows["labelled"].to_numpy(), np.bool_))
