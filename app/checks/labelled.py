"""Observed labels of a check's window, ready to be counted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..records.grouping import Grouping
from ..records.reading import RecordColumns, RecordTable, read_table
from .feedback import PROBABILITY, ComparedLabels, compare
from .subject import Subject
from .window import Window


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    window: Window
    comparison: ComparedLabels
    read: RecordTable

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        return self.read.groupings


def read_labels(subject: Subject, groupings: Sequence[Grouping], window: Window) -> Labelled | None:
    """Window's labels in the groups that the payload window showed; None without labels."""
    if not len(window):
        return None
    monitor = replace(subject.monitor, attributes=tuple(map(subject.fixed, groupings)))
    probabilities = window.rows[PROBABILITY] if PROBABILITY in window.rows.column_names else None
    read = read_table(RecordColumns(window.values(), window.rows["predicted"], probabilities), subject.deployment.schema, monitor)
    return Labelled(window, compare(window, read.outcomes, monitor.outcomes, subject.deployment.problem_type), read)
