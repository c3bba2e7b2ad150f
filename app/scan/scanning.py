"""Scan of one table: the subgroup that falls short most, or is furthest ahead, and how often chance alone would find as much."""

from dataclasses import dataclass

import numpy as np

from ..evidence.nulls import UnfairSide
from .cells import CellTable, count_subsets
from .search import GAIN, MIN_RECORDS, RESTARTS, search_tables

BOOTSTRAPS = 199
"""Tables drawn under the claim that no subgroup differs; the smallest p value is 1 / 200."""

PENALTY = 1.0
"""Score that each named value costs, so that a short description wins over a longer one that is hardly better."""


@dataclass(frozen=True, slots=True)
class Subgroup:
    """A subgroup: for each feature the positions of the values that belong to it, or None where all do."""

    values: tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """Result of a scan.

    `subgroup` is None where no subgroup is beyond what is expected, or where it or the rest has fewer than MIN_RECORDS records, so that it
    must not be shown. `p_value` is the share of scans with at least this `score`, among those of random tables and this one. `subsets`
    subgroups were searched.
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
    """Returns the subgroup with the highest score, with a p value from a parametric bootstrap of the whole scan.

    Above: the subgroup that is favourable more often, which is the one that falls short most of unfavourable outcomes: odds of one that
    are multiplied by q are odds of the other divided by q, and the likelihood is the same.
    The expected rate is that of all records of the same stratum. Random tables are drawn with it in every cell; when they are scanned,
    their own rates are estimated from them, as those of the real table are.
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
