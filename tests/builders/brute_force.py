"""The best subgroup, not everybody, by trying each one: slow, and written from the definition."""

from itertools import combinations, product

import numpy as np

from app.statistics.scan.search_subgroup import MIN_RECORDS, CellTable

LOG_ODDS = np.linspace(-6, 0, 4_001)


def score_every_subgroup(cells: CellTable, penalty: float) -> float:
    """Returns the highest score of all subgroups with enough records; the multiplier is searched on a fine grid."""
    strata = cells.is_of_stratum
    expected = (cells.favourable @ strata) / (cells.records @ strata)
    best = -np.inf
    for chosen in product(*([some for count in range(1, size + 1) for some in combinations(range(size), count)] for size in cells.sizes)):
        inside = np.ones(len(cells.records), dtype=np.bool_)
        named = 0
        for feature, values in enumerate(chosen):
            inside &= np.isin(cells.codes[:, feature], values)
            named += 0 if len(values) == cells.sizes[feature] else len(values)
        records = cells.records[inside] @ strata[inside]
        if records.sum() < MIN_RECORDS or named == 0:
            continue
        shares = (records * np.log(1 - expected + np.exp(LOG_ODDS)[:, None] * expected)).sum(axis=1)
        best = max(best, float((cells.favourable[inside].sum() * LOG_ODDS - shares).max()) - penalty * named)
    return best
