"""Metrics, intervals and verdicts from tables of counts."""

from .catalogue import CATALOGUE, DEFAULT_METRICS, Data, Direction, Metric, metrics_on
from .groups import NEITHER, ComparedGroup
from .measure import measure_feedback, measure_payload, measure_training
from .perturbed import measure_balanced, measure_debiased, measure_debiased_feedback, measure_perturbed
from .tables import BalancedCells, DebiasedCells, DebiasedFeedback, FeedbackCells, GroupCounts
from .values import Measured, Undefined, Value
from .verdicts import MINIMUM_GROUP_SIZE, Limits, Verdict, verdict
from .worst import AllLimits

__all__ = [
    "CATALOGUE",
    "DEFAULT_METRICS",
    "MINIMUM_GROUP_SIZE",
    "NEITHER",
    "AllLimits",
    "BalancedCells",
    "ComparedGroup",
    "Data",
    "DebiasedCells",
    "DebiasedFeedback",
    "Direction",
    "FeedbackCells",
    "GroupCounts",
    "Limits",
    "Measured",
    "Metric",
    "Undefined",
    "Value",
    "Verdict",
    "measure_balanced",
    "measure_debiased",
    "measure_debiased_feedback",
    "measure_feedback",
    "measure_payload",
    "measure_perturbed",
    "measure_training",
    "metrics_on",
    "verdict",
]
