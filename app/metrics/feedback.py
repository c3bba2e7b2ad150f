"""Measures predictions against the labels that came back."""

from app.metrics.estimates import Counted, Estimate, Words
from app.metrics.measure import measure_all
from app.metrics.tables import FeedbackCells
from app.metrics.values import Measured
from app.metrics.worst import RatioLimits

CORRECT = Words(noun="correct", empty="no record{of} has a label and a prediction that are both among the outcomes")


def measure_feedback(table: FeedbackCells) -> list[Measured]:
    """Accuracy overall and per group; of a table without groups, overall only.

    Overall counts the records of no group too, so it is the same for every attribute of one window.
    """
    return measure_all("feedback", table.groups, _rates(table), RatioLimits())


def _rates(table: FeedbackCells) -> dict[str, Estimate]:
    # A label spelt otherwise than the outcomes would count as a mistake of the model: what is in neither list is in no rate.
    cells = table.counts[:, :2, :2].sum(axis=(1, 2))
    return {"correct": Counted(CORRECT, cells[:, 1], cells.sum(axis=1))}
