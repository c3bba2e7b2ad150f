"""Metrics that read the records themselves, not a table of counts: they cannot be rolled up, and take longer."""

from .consistency import consistency
from .data import RowData
from .flip_test import counterfactual_flip_test
from .measure_rows import measure_rows
from .rich_subgroup import rich_subgroup

__all__ = ["RowData", "consistency", "counterfactual_flip_test", "measure_rows", "rich_subgroup"]
