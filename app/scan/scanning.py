"""Scan of one table, with the frequency by which chance alone finds as much."""

from dataclasses import dataclass

import numpy as np

from ..evidence.nulls import UnfairSide
from .cells import CellTable, count_subsets
from .search import GAIN, MIN_RECORDS, RESTARTS, search_tables

BOOTSTRAPS = 199
"""Tables drawn under the claim that no subgroup differs; the smallest p value is 1 / 200."""

PENALTY = 1.0
"""Score that each named value costs, so that short descriptions win."""


@dataclass(frozen=True, slots=True)
class Subgroup:
    """For each feature the positions of the subgroup's values, or None for all."""

    values: tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """Result of a scan of `subsets` subgroups.

    `subgroup` is None where none is beyond what is expected, or if it or the rest has fewer than MIN_RECORDS records and must not be shown.
    `p_value` is the share of scans with at least this `score`, among those of random tables and this one.
    """

    subgroup: Subgroup | None
    score: float
    p_value: float
    subsets: int
    records: int
    favourable: int


def scan_cells(
    cells: CellTable,
    *,
    direction: UnfairSide = UnfairSide.BELOW,
    seed: int = 0,
    penalty: float = PENALTY,
    restarts: int = RESTARTS,
    bootstraps: int = BOOTSTRAPS,
) -> Scan:
    """Subgroup with the highest score, with a p value from a parametric bootstrap of the whole scan.

    Above: falling short of unfavourable outcomes, as odds multiplied by q are the other outcome's divided by q. Expected is the rate of the
    stratum; it is estimated again in each random table.
    """
    strata = np.eye(cells.strata_count)[cells.strata]
    counted = cells.favourable if direction is UnfairSide.BELOW else cells.records - cells.favourable
    rates = (counted @ strata) / np.maximum(cells.records @ strata, 1)
    rng = np.random.default_rng([seed, 0])
    drawn = rng.binomial(cells.records.astype(np.int64), rates[cells.strata], (bootstraps, len(cells.records)))
    tables = np.vstack([counted, drawn])
    best = search_tables(cells, tables, penalty=penalty, seed=seed, restarts=restarts)
    score = float(best.scores[0])
    p_value = (1 + int((best.scores[1:] >= score - GAIN).sum())) / (bootstraps + 1)
    chosen = [one[0] for one in best.included]
    subgroup = Subgroup(tuple(None if one.all() else tuple(np.flatnonzero(one).tolist()) for one in chosen))
    inside = np.ones(len(cells.codes), dtype=np.bool_)
    for feature, values in enumerate(subgroup.values):
        if values is not None:
            inside &= np.isin(cells.codes[:, feature], values)
    records, favourable = int(cells.records[inside].sum()), int(cells.favourable[inside].sum())
    may_be_shown = MIN_RECORDS <= records <= int(cells.records.sum()) - MIN_RECORDS
    return Scan(subgroup if may_be_shown and score > 0 else None, score, p_value, count_subsets(cells.sizes), records, favourable)
