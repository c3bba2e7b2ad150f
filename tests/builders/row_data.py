"""Records for the metrics that are measured record by record."""

import numpy as np

from app.statistics.catalogue import CATALOGUE
from app.statistics.group_labels import build_groups
from app.statistics.intervals.verdicts import Measured
from app.statistics.records.measure_rows import RowData, measure_rows

ROWS = ["counterfactual_flip_test", "consistency", "prediction_consistency", "rich_subgroup_false_positive", "rich_subgroup_false_negative"]
GROUPS = build_groups([("Female", "monitored"), ("Diverse", "monitored"), ("Male", "reference")])
FEMALE, DIVERSE, MALE, NONE = 0, 1, 2, -1


def wanted(*keys: str) -> dict[str, str]:
    """The metrics of those keys, or all, with their formulas."""
    return {key: CATALOGUE[key].formula for key in keys or ROWS}


def window(records: int = 300, features: int = 2, seed: int = 0) -> RowData:
    """Records whose income decides, and Diverse ones are asked for more of it."""
    random = np.random.default_rng(seed)
    codes = random.choice([FEMALE, DIVERSE, MALE, NONE], records, p=[0.3, 0.15, 0.5, 0.05])
    incomes = random.normal(size=(records, features))
    return RowData(
        groups=GROUPS,
        codes=codes,
        features=incomes,
        predicted=(incomes[:, 0] > np.where(codes == DIVERSE, 1.0, 0.0)).astype(np.int64),
        actual=(incomes[:, 0] + random.normal(size=records) > 0).astype(np.int64),
    )


def measured(rows: RowData, *keys: str) -> list[Measured]:
    """The figures of the records for those metrics, or for all."""
    return measure_rows(rows, wanted(*keys))
