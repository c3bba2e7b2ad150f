"""Small tables of counts, written by a check; everything else reads these."""

from .count_table import DebiasedFeedback, FeedbackCells, GroupCounts
from .record_kinds import BalancedCells, DebiasedCells
from .strata import RecordStrata

__all__ = ["BalancedCells", "DebiasedCells", "DebiasedFeedback", "FeedbackCells", "GroupCounts", "RecordStrata"]
