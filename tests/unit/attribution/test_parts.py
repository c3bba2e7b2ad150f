"""Kitagawa's parts: they sum to the difference, and worlds whose truth is known are divided as they must be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.attribution.cell_parts import MIN_BINS, CellCounts, bin_numbers, divide_difference, resample_parts
from tests.builders.attribution_worlds import draw_one_number

CELLS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=6)


def cells(favourable: list[int], records: list[int]) -> CellCounts:
    return CellCounts(np.array(favourable, float), np.array(records, float))


@given(CELLS)
def test_the_parts_sum_to_the_difference_and_swap_their_sign_with_the_sides(drawn: list[tuple[int, int, int, int]]) -> None:
    one, other = (cells([row[k] for row in drawn], [row[k] + row[k + 1] for row in drawn]) for k in (0, 2))
    there, back = divide_difference(one, other), divide_difference(other, one)

    if one.records.sum() == 0 or other.records.sum() == 0:
        assert np.isnan(there.stack()).all()
        return
    assert there.stack().sum() == pytest.approx(one.favourable.sum() / one.records.sum() - other.favourable.sum() / other.records.sum())
    assert there.stack() == pytest.approx(-back.stack())


def test_figures_by_hand() -> None:
    # shares .5/.5 and .25/.75, rates .4/.8 and .6/.9
    found = divide_difference(cells([4, 8], [10, 10]), cells([6, 27], [10, 30]))

    assert found.of_shares == pytest.approx(0.25 * 0.5 - 0.25 * 0.85)
    assert found.of_rates == pytest.approx(-0.2 * 0.375 - 0.1 * 0.625)
    assert found.no_counterpart == pytest.approx(0)
    assert found.difference == pytest.approx(0.6 - 0.825)


def test_equal_rates_leave_all_parts_at_0_even_if_a_cell_has_one_side_only() -> None:
    found = divide_difference(cells([10, 0], [20, 0]), cells([10, 30], [20, 60]))

    assert found.stack() == pytest.approx([0, 0, 0])


def test_a_cell_of_one_side_alone_is_a_part_of_its_own() -> None:
    found = divide_difference(cells([10, 0], [20, 0]), cells([10, 18], [20, 20]))

    assert found.difference == pytest.approx(0.5 - 0.7)
    assert found.stack() == pytest.approx([0, 0, -0.2])


def test_without_a_common_cell_all_has_no_counterpart() -> None:
    found = divide_difference(cells([10, 0], [20, 0]), cells([0, 18], [0, 20]))

    assert found.stack() == pytest.approx([0, 0, -0.4])


def test_two_bins_count_who_applies_as_treatment_and_ten_hardly_do() -> None:
    world = draw_one_number(200_000, 1)
    gap = float(divide_difference(*world.count(bin_numbers(world.numbers))).difference)
    halves = (world.numbers > np.median(world.numbers)).astype(np.int64)
    leaks = [float(divide_difference(*world.count(found)).of_rates) for found in (halves, bin_numbers(world.numbers))]

    assert -gap == pytest.approx(0.149, abs=0.003)
    assert -leaks[0] == pytest.approx(0.041, abs=0.003)
    assert -leaks[1] == pytest.approx(0.002, abs=0.003)


def test_a_world_of_unequal_treatment_alone_is_seen_as_such() -> None:
    rng = np.random.default_rng(2)
    shares, rates = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.5, 0.8])
    sides = []
    for factor in (0.8, 1.0):
        records = rng.multinomial(40_000, shares)
        sides.append(CellCounts(rng.binomial(records, rates * factor).astype(float), records.astype(float)))

    found = divide_difference(*sides)

    assert found.of_rates == pytest.approx(-0.2 * (shares * rates).sum(), abs=0.01)
    assert found.of_shares == pytest.approx(0, abs=0.005)


@pytest.mark.thorough
def test_intervals_of_the_parts_hold_the_truth() -> None:
    rng = np.random.default_rng(3)
    shares = np.array([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]])
    rates = np.array([[0.25, 0.5, 0.7], [0.3, 0.5, 0.8]])
    truth = divide_difference(*(CellCounts(share * rate, share) for share, rate in zip(shares, rates, strict=True))).stack()[:2]
    covered = []
    for _ in range(300):
        sides = []
        for size, share, rate in zip((300, 700), shares, rates, strict=True):
            records = rng.multinomial(size, share)
            sides.append(CellCounts(rng.binomial(records, rate).astype(float), records.astype(float)))
        ends = resample_parts(*sides, rng, draws=400)
        covered.append((ends.low[:2] <= truth) & (truth <= ends.high[:2]))

    assert np.mean(covered, axis=0) == pytest.approx([0.95, 0.95], abs=0.03)


@given(st.lists(st.integers(-30, 30).map(float) | st.just(float("nan")), max_size=200), st.integers(MIN_BINS, 20))
def test_bins_keep_the_order_of_numbers_and_missing_ones_apart(numbers: list[float], bins: int) -> None:
    array = np.array(numbers)
    found = bin_numbers(array, bins)

    known = ~np.isnan(array)
    assert (found[~known] == 0).all()
    assert (found[known] > 0).all()
    assert len(np.unique(found[known])) <= bins
    order = np.argsort(array[known])
    assert (np.diff(found[known][order]) >= 0).all()


def test_few_different_numbers_are_a_bin_each() -> None:
    assert bin_numbers(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3, 1, 3, 2]


def test_many_numbers_are_divided_into_equal_parts() -> None:
    assert np.bincount(bin_numbers(np.arange(1000.0)))[1:].tolist() == [100] * MIN_BINS


def test_more_favourable_than_records_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and records"):
        cells([3], [2])
