"""Measurements of pandas DataFrames and of tables of counts, without service and database."""

from ..statistics.catalogue import CATALOGUE, DEFAULT_METRICS, Metric
from ..statistics.measures.measure import measure_feedback, measure_payload, measure_training
from ..statistics.measures.perturbed_data import (
    measure_balanced,
    measure_debiased,
    measure_debiased_feedback,
    measure_perturbed,
)
from ..statistics.tables.count_table import DebiasedFeedback, FeedbackCells, GroupCounts
from ..statistics.tables.record_kinds import BalancedCells, DebiasedCells
from .carried_gap import explain_gap, plan_gap
from .change_of_gap import explain_change
from .frame_report import Report
from .hours_of_groups import follow_frame
from .measurements import measure_frame
from .record_plan import plan_frame
from .selections import report_selections
from .unlisted_groups import find_groups

__all__ = [
    "CATALOGUE",
    "DEFAULT_METRICS",
    "BalancedCells",
    "DebiasedCells",
    "DebiasedFeedback",
    "FeedbackCells",
    "GroupCounts",
    "Metric",
    "Report",
    "explain_change",
    "explain_gap",
    "find_groups",
    "follow_frame",
    "measure_balanced",
    "measure_debiased",
    "measure_debiased_feedback",
    "measure_feedback",
    "measure_frame",
    "measure_payload",
    "measure_perturbed",
    "measure_training",
    "plan_frame",
    "plan_gap",
    "report_selections",
]
