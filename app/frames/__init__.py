"""Measurements of pandas DataFrames."""

from .measuring import DEFAULT, measure_attributes, measure_frame
from .report import GroupSize, Report, judged, judged_figure, sentence_of

__all__ = ["DEFAULT", "GroupSize", "Report", "judged", "judged_figure", "measure_attributes", "measure_frame", "sentence_of"]
