"""Metrics that read the records themselves, not a table of counts: they cannot be rolled up, and take longer."""

from .data import RowData
from .measure_rows import measure_rows
from .rich_subgroup import rich_subgroup

__all__ = ["RowData", "measure_rows", "rich_subgroup"]
