"""The scan: as good as trying every subgroup, silent where nothing differs, and right where something was planted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from app.statistics.e_values.nulls import UnfairSide
from app.statistics.scan.scan_results import scan_cells
from app.statistics.scan.search_subgroup import (
    MIN_LOG_MULTIPLIER,
    MIN_RECORDS,
    compute_log_likelihood,
    count_cells,
    find_range,
    fit_multiplier,
    search_tables,
)
from tests.builders.brute_force import score_every_subgroup
from tests.builders.planted_tables import draw_codes, draw_table

WORLDS = 40
"""Here; `scripts/trial groups` tries 300."""


@pytest.mark.parametrize("penalty", [0.0, pytest.param(0.5, marks=pytest.mark.thorough), 1.0])
@pytest.mark.parametrize("rates", [(0.5,), (0.3, 0.6)], ids=["one stratum", "two strata"])
@pytest.mark.parametrize("sizes", [(4, 3), (3, 3, 2)], ids=str)
def test_the_search_is_as_good_as_trying_every_subgroup(sizes: tuple[int, ...], rates: tuple[float, ...], penalty: float) -> None:
    for seed in range(5):
        cells = draw_table(seed, records=600, sizes=sizes, rates=rates)
        found = search_tables(cells, cells.favourable[None], penalty=penalty, seed=seed).scores[0]

        assert found == pytest.approx(score_every_subgroup(cells, penalty), abs=1e-4)


@pytest.mark.nightly
def test_without_a_subgroup_the_p_values_are_uniform() -> None:
    p_values = [scan_cells(draw_table(seed, rates=(0.3, 0.6)), seed=seed, bootstraps=49, restarts=10).p_value for seed in range(WORLDS)]

    assert kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.thorough
def test_a_planted_subgroup_is_found_as_it_was_planted() -> None:
    scan = scan_cells(draw_table(3, records=6000, planted={0: (1, 2), 2: (0,)}, ratio=0.6))

    assert scan.subgroup is not None
    assert scan.subgroup == ((1, 2), None, (0,))
    assert scan.p_value == 1 / 200
    assert scan.subsets == 15 * 7 * 7


@pytest.mark.nightly
def test_a_favoured_subgroup_is_found_in_the_other_direction_only() -> None:
    cells = draw_table(3, records=6000, planted={0: (1, 2), 2: (0,)}, ratio=1.5)
    above, below = scan_cells(cells, direction=UnfairSide.ABOVE), scan_cells(cells)

    assert above.subgroup is not None
    assert above.subgroup == ((1, 2), None, (0,))
    assert above.p_value == 1 / 200
    assert above.favourable / above.records > 0.5
    assert above.score > below.score


@pytest.mark.nightly
def test_above_is_below_of_the_other_outcome() -> None:
    for seed in range(5):
        cells = draw_table(seed, rates=(0.3, 0.6))
        turned = replace(cells, favourable=cells.records - cells.favourable)
        above, below = scan_cells(cells, direction=UnfairSide.ABOVE, bootstraps=19), scan_cells(turned, bootstraps=19)

        assert (above.subgroup, above.score, above.p_value, above.records) == (below.subgroup, below.score, below.p_value, below.records)
        assert above.favourable == below.records - below.favourable


def test_the_difference_of_strata_is_not_taken_for_a_subgroup() -> None:
    """A value that only occurs in the stratum with the lower rate."""
    rng = np.random.default_rng(4)
    strata = rng.integers(0, 2, 4000)
    codes = np.column_stack([strata, rng.integers(0, 3, 4000)])
    favourable = rng.random(4000) < np.array([0.6, 0.3])[strata]

    assert scan_cells(count_cells(codes, (2, 3), favourable)).p_value == 1 / 200
    assert scan_cells(count_cells(codes, (2, 3), favourable, strata)).p_value > 0.05


def test_a_handful_of_records_is_never_shown() -> None:
    codes = draw_codes(500, seed=5)
    codes[:, 0] = 0
    codes[: MIN_RECORDS - 1, 0] = 1  # nine records, none of them favourable
    favourable = np.random.default_rng(5).random(500) < 0.9
    favourable[: MIN_RECORDS - 1] = False
    scan = scan_cells(count_cells(codes, (2, 3, 3), favourable))

    assert scan.subgroup is None or scan.records >= MIN_RECORDS


def test_a_subgroup_outside_which_there_is_only_a_handful_is_never_shown() -> None:
    codes = draw_codes(500, seed=5)
    codes[:, 0] = 0
    codes[: MIN_RECORDS - 1, 0] = 1  # nine records, the only favourable ones
    favourable = codes[:, 0] == 1
    scan = scan_cells(count_cells(codes, (2, 3, 3), favourable))

    assert (scan.subgroup, scan.records, scan.p_value) == (None, 500 - MIN_RECORDS + 1, 1 / 200)


def test_a_subgroup_outside_which_there_are_just_enough_may_be_shown() -> None:
    codes = draw_codes(500, seed=5)
    codes[:, 0] = 0
    codes[:MIN_RECORDS, 0] = 1
    scan = scan_cells(count_cells(codes, (2, 3, 3), codes[:, 0] == 1))

    assert scan.subgroup is not None
    assert scan.subgroup == ((0,), None, None)


def test_nothing_is_found_where_every_record_is_favourable_or_none() -> None:
    codes = draw_codes(200, seed=6)
    for outcome in (np.ones(200, dtype=np.bool_), np.zeros(200, dtype=np.bool_)):
        scan = scan_cells(count_cells(codes, (4, 3, 3), outcome), bootstraps=19)

        assert (scan.subgroup, scan.p_value) == (None, 1.0)


def test_the_same_seed_gives_the_same_scan() -> None:
    cells = draw_table(7)

    assert scan_cells(cells, seed=1, bootstraps=19) == scan_cells(cells, seed=1, bootstraps=19)


@settings(deadline=None)
@given(
    records=st.lists(st.integers(0, 500), min_size=2, max_size=2),
    share=st.floats(0, 1),
    expected=st.lists(st.floats(0.01, 0.99), min_size=2, max_size=2),
    penalty=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_the_multiplier_is_the_best_one_and_its_range_the_one_above_the_penalty(
    records: list[int], share: float, expected: list[float], penalty: float
) -> None:
    favourable, of, rates = np.array(round(share * sum(records)), float), np.array(records, float), np.array(expected)
    grid = np.linspace(MIN_LOG_MULTIPLIER, 0, 3_001)
    values = compute_log_likelihood(np.full(grid.shape, favourable), of, rates, grid)
    at = fit_multiplier(favourable, of, rates)
    peak = compute_log_likelihood(favourable, of, rates, at)
    left, right, exceeds = find_range(favourable, of, rates, penalty)

    assert peak >= values.max() - 1e-9 * max(1.0, abs(float(peak)))
    above = grid[values > penalty + 1e-6]
    assert len(above) == 0 or (bool(exceeds) and left <= above[0] + 1e-6 and above[-1] <= right + 1e-6)
