"""Metrics that read the records themselves and not a table of counts: they cannot be rolled up, and take longer."""

from app.metrics.rows.consistency import consistency
from app.metrics.rows.data import RowData
from app.metrics.rows.flip_test import counterfactual_flip_test
from app.metrics.rows.measure_rows import measure_rows
from app.metrics.rows.rich_subgroup import rich_subgroup

__all__ = ["RowData", "consistency", "counterfactual_flip_test", "measure_rows", "rich_subgroup"]
