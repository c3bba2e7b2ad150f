"""Measurements of pandas DataFrames."""

from .measuring import DEFAULT, measure_attributes, measure_frame
from .report import GroupSize, Report, judged, sentence_of

__all__ = ["DEFAULT", "GroupSize", "Report", "judged", "measure_attributes", "measure_frame", "sentence_of"]
