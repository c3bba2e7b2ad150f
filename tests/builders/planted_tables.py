"""Simulated records in a few features, whose truth is known."""

from collections.abc import Mapping

import numpy as np

from app.statistics.group_labels import BoolArray
from app.statistics.scan.search_subgroup import CellTable, IntArray, count_cells

SIZES = (4, 3, 3)


def draw_codes(records: int, seed: int, sizes: tuple[int, ...] = SIZES) -> IntArray:
    """Returns the values [N, F] of records, all equally frequent."""
    rng = np.random.default_rng([seed, 1])
    return np.column_stack([rng.integers(0, size, records) for size in sizes])


def is_planted(codes: IntArray, planted: Mapping[int, tuple[int, ...]]) -> BoolArray:
    """Returns which records have one of the given values in each of the given features."""
    inside = np.ones(len(codes), dtype=np.bool_)
    for feature, values in planted.items():
        inside &= np.isin(codes[:, feature], values)
    return inside


def draw_table(
    seed: int,
    *,
    records: int = 2000,
    sizes: tuple[int, ...] = SIZES,
    rates: tuple[float, ...] = (0.4,),
    planted: Mapping[int, tuple[int, ...]] | None = None,
    ratio: float = 1.0,
) -> CellTable:
    """Returns the cells of a world: one rate for each stratum, and that times `ratio` for the planted subgroup."""
    rng = np.random.default_rng([seed, 2])
    codes, strata = draw_codes(records, seed, sizes), rng.integers(0, len(rates), records)
    rate = np.array(rates)[strata] * np.where(is_planted(codes, planted or {}), ratio, 1.0)
    return count_cells(codes, sizes, rng.random(records) < rate, strata)
