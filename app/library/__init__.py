"""Measurements of pandas DataFrames and of tables of counts, without service and database."""

from ..statistics.catalogue import CATALOGUE, DEFAULT_METRICS, Metric
from ..statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from ..statistics.measures.perturbed_data import (
    measure_counterfactual,
    measure_mitigated,
    measure_mitigated_labelled,
    measure_openscale,
)
from ..statistics.tables.count_table import GroupCounts, LabelledCells, MitigatedLabelledCells
from ..statistics.tables.record_kinds import CounterfactualCells, MitigatedCells
from .carried_gap import explain_gap, plan_gap
from .compared_rates import explain_change
from .frame_report import Report
from .hours_of_groups import follow_frame
from .measurements import measure_frame
from .selections import report_selections
from .unlisted_groups import find_groups, plan_frame

__all__ = [
    "CATALOGUE",
    "DEFAULT_METRICS",
    "CounterfactualCells",
    "GroupCounts",
    "LabelledCells",
    "Metric",
    "MitigatedCells",
    "MitigatedLabelledCells",
    "Report",
    "explain_change",
    "explain_gap",
    "find_groups",
    "follow_frame",
    "measure_as_logged",
    "measure_counterfactual",
    "measure_frame",
    "measure_labelled",
    "measure_mitigated",
    "measure_mitigated_labelled",
    "measure_openscale",
    "measure_training",
    "plan_frame",
    "plan_gap",
    "report_selections",
]
