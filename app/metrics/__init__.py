"""Counts in, numbers out: tables, metrics, intervals and verdicts. No frames, no configuration, no records after the tables."""

from app.metrics.balanced import measure_balanced
from app.metrics.catalogue import CATALOGUE, DEFAULT_METRICS, Data, Direction, Metric, metrics_on
from app.metrics.debiased import measure_debiased, measure_debiased_feedback
from app.metrics.feedback import measure_feedback
from app.metrics.groups import NEITHER, Group
from app.metrics.payload import measure_payload, measure_training
from app.metrics.perturbed import measure_perturbed
from app.metrics.tables import BalancedCells, DebiasedCells, DebiasedFeedback, FeedbackCells, GroupCounts
from app.metrics.values import Measured, Undefined, Value
from app.metrics.verdicts import MINIMUM_GROUP_SIZE, Limits, Verdict, verdict
from app.metrics.worst import AllLimits

__all__ = [
    "CATALOGUE",
    "DEFAULT_METRICS",
    "MINIMUM_GROUP_SIZE",
    "NEITHER",
    "AllLimits",
    "BalancedCells",
    "Data",
    "DebiasedCells",
    "DebiasedFeedback",
    "Direction",
    "FeedbackCells",
    "Group",
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
