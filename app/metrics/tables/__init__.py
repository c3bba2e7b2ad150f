"""Small tables of counts, written by a check. Metrics, intervals and roll-ups read these and never the records again."""

from .balanced_cells import BalancedCells
from .debiased_cells import DebiasedCells
from .debiased_feedback import DebiasedFeedback
from .feedback_cells import FeedbackCells
from .group_counts import GroupCounts
from .strata import RecordStrata

__all__ = ["BalancedCells", "DebiasedCells", "DebiasedFeedback", "FeedbackCells", "GroupCounts", "RecordStrata"]
