"""The small tables of counts a check leaves. Metrics, intervals and roll-ups read these and never the records again."""

from app.metrics.tables.balanced_cells import BalancedCells
from app.metrics.tables.debiased_cells import DebiasedCells
from app.metrics.tables.debiased_feedback import DebiasedFeedback
from app.metrics.tables.feedback_cells import FeedbackCells
from app.metrics.tables.group_counts import GroupCounts

__all__ = ["BalancedCells", "DebiasedCells", "DebiasedFeedback", "FeedbackCells", "GroupCounts"]
