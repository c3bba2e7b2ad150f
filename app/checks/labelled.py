"""The observed labels of a check's window with everything that is known of them, ready to be counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.checks.feedback import PROBABILITY, Comparison, compare
from app.checks.grouping import Grouping, group_records
from app.checks.scores import Scores, favourable_scores
from app.checks.subject import Subject
from app.checks.window import Window


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Labelled records: how each label compares with its prediction, each attribute's groups, and scores (None where not asked for)."""

    window: Window
    comparison: Comparison
    groupings: tuple[Grouping, ...]
    scores: Scores | None


def labelled(subject: Subject, groupings: Sequence[Grouping], window: Window) -> Labelled | None:
    """The window's labels in the groups that the payload window showed; None where there is no label."""
    if not len(window):
        return None
    monitor = subject.monitor
    comparison = compare(window, monitor.outcomes, subject.deployment.problem_type)
    alike = tuple(group_records(subject.fixed(one), one.column, window.values(one.column.name)) for one in groupings)
    scores = None
    if PROBABILITY in window.rows.column_names:
        scores = favourable_scores(window.rows[PROBABILITY], window.rows["predicted"], comparison.predicted, monitor.outcomes)
    return Labelled(window, comparison, alike, scores)
