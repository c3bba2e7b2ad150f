"""The library's face for pandas: a DataFrame in, measurements out. No service, no database, no files."""

from .measuring import DEFAULT, measure_attributes, measure_frame
from .report import GroupSize, Report, judged, sentence_of

__all__ = ["DEFAULT", "GroupSize", "Report", "judged", "measure_attributes", "measure_frame", "sentence_of"]
