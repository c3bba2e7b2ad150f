"""Metrics that read the records themselves: they cannot be rolled up."""

from .data import RowData
from .measure_rows import measure_rows
from .rich_subgroup import rich_subgroup

__all__ = ["RowData", "measure_rows", "rich_subgroup"]
