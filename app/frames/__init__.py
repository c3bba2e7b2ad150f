"""The library's face for pandas: a DataFrame in, measurements out. No service, no database, no files."""

from app.frames.measuring import DEFAULT, measure_attributes, measure_frame
from app.frames.report import GroupSize, Report, judged, sentence_of

__all__ = ["DEFAULT", "GroupSize", "Report", "judged", "measure_attributes", "measure_frame", "sentence_of"]
