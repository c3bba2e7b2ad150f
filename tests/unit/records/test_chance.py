"""What chance makes of associations: exact against all shuffles, close against many of them, and the corrections against the truth."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtri

from app.sources.arrays.association import (
    AbsolutePearson,
    AssociationCounts,
    CorrelationRatio,
    CramersV,
    Moments,
    ProjectionShape,
    ShuffledSquare,
    Strength,
    measure_categories_shape,
    measure_quantity_shape,
)
from app.statistics.group_labels import Codes
from app.statistics.group_labels import FloatArray as Numbers
from app.statistics.intervals.verdicts import Undefined

Column = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Squared = Callable[[Column, Column], float]

SHUFFLES = 2_000


def shape(column: Column) -> ProjectionShape:
    """Categories are whole numbers, quantities are not."""
    if column.dtype == np.int64:
        counts = np.bincount(column)
        return measure_categories_shape(counts[counts > 0])
    apart = column - column.mean()
    return measure_quantity_shape(float((apart**2).sum()), float((apart**4).sum()))


def projection(column: Column) -> npt.NDArray[np.float64]:
    """Onto the column's categories or its line, without the mean [records, records]."""
    one = np.eye(int(column.max()) + 1)[column] if column.dtype == np.int64 else column[:, None]
    centred = one - one.mean(axis=0)
    return centred @ np.linalg.pinv(centred)


def squares(first: Column, second: Column, orders: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The squared association for each order of the second column's records."""
    if first.dtype == second.dtype == np.int64:
        return np.array([phi_squared(first, second[order]) for order in orders])
    if second.dtype == np.int64:
        first, second = second, first
    unit = (second - second.mean()) / np.sqrt(((second - second.mean()) ** 2).sum())
    if first.dtype == np.int64:
        counts = np.maximum(np.bincount(first), 1)
        return np.array([(np.bincount(first, unit[order]) ** 2 / counts).sum() for order in orders])
    line = (first - first.mean()) / np.sqrt(((first - first.mean()) ** 2).sum())
    return np.array([(line @ unit[order]) ** 2 for order in orders])


def phi_squared(first: Column, second: Column) -> float:
    size = int(second.max()) + 1
    counts = np.bincount(first.astype(np.int64) * size + second.astype(np.int64), minlength=(int(first.max()) + 1) * size).reshape(-1, size)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / len(first)
    return float(((counts - expected) ** 2 / expected).sum() / len(first))


def shuffled_orders(records: int, seed: int) -> npt.NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    return np.array([generator.permutation(records) for _ in range(SHUFFLES)])


def categories(count: int, records: int, *, skew: float, seed: int = 1) -> Codes:
    """That many categories, the k-th with a share of 1 / k to that power."""
    shares = 1 / np.arange(1, count + 1) ** skew
    return np.random.default_rng(seed).choice(count, records, p=shares / shares.sum())


def rare(records: int, share: float) -> Codes:
    """A group of that share against everybody else."""
    return (np.arange(records) < records * share).astype(np.int64)


def lognormal(records: int, sigma: float, seed: int = 2) -> Numbers:
    return np.random.default_rng(seed).lognormal(0, sigma, records)


def measured(counted: AssociationCounts) -> Strength:
    found = counted.strength()
    assert isinstance(found, Strength)
    return found


def cramers_v(first: Codes, second: Codes) -> Strength:
    counted = CramersV(int(first.max()) + 1, int(second.max()) + 1)
    counted.add(first, second)
    return measured(counted)


def ratio(codes: Codes, numbers: Numbers) -> Strength:
    counted = CorrelationRatio(int(codes.max()) + 1)
    counted.add(codes, numbers)
    return measured(counted)


def pearson(first: Numbers, second: Numbers) -> Strength:
    counted = AbsolutePearson()
    counted.add(first, second)
    return measured(counted)


FEW: dict[str, Column] = {
    "two categories": np.array([0, 0, 0, 1, 1, 1]),
    "three categories": np.array([0, 0, 1, 2, 1, 0]),
    "a rare category": np.array([0, 1, 0, 0, 0, 0]),
    "a quantity": np.array([0.5, 1.0, 2.0, 4.0, 3.0, 9.0]),
    "an outlier": np.array([1.0, 1.0, 2.0, 1.0, 1.0, 99.0]),
}


@pytest.mark.parametrize("first", FEW)
@pytest.mark.parametrize("second", FEW)
def test_mean_and_variance_are_those_of_all_shuffles_of_six_records(first: str, second: str) -> None:
    one, other = FEW[first], FEW[second]
    every = squares(one, other, np.array(list(permutations(range(6)))))

    shuffled = ShuffledSquare(shape(one), shape(other), 6)

    assert shuffled.mean == pytest.approx(every.mean())
    assert shuffled.variance == pytest.approx(every.var())


def test_the_square_of_each_measure_is_the_overlap_of_two_projections() -> None:
    order = np.arange(6)
    for one in FEW.values():
        for other in FEW.values():
            overlap = float(np.trace(projection(one) @ projection(other)))
            assert squares(one, other, order[None, :])[0] == pytest.approx(overlap)


COMPAS = 6_000
INDEPENDENT: dict[str, tuple[Column, Column]] = {
    "309 values by 2": (categories(309, COMPAS, skew=0), categories(2, COMPAS, skew=0.5, seed=3)),
    "309 skewed values by 2": (categories(309, COMPAS, skew=1), categories(2, COMPAS, skew=0.5, seed=3)),
    "309 very skewed values by a group of 2 %": (categories(309, COMPAS, skew=2), rare(COMPAS, 0.02)),
    "309 skewed values by a group of 0.2 %": (categories(309, COMPAS, skew=1), rare(COMPAS, 0.002)),
    "309 skewed values by 6": (categories(309, COMPAS, skew=1), categories(6, COMPAS, skew=1.5, seed=3)),
    "309 skewed values by 6 in 400 records": (categories(309, 400, skew=1), categories(6, 400, skew=1.5, seed=3)),
    "309 values by 2 in 400 records": (categories(309, 400, skew=0), categories(2, 400, skew=0, seed=3)),
    "100 skewed values by 100 in 1,000 records": (categories(100, 1_000, skew=1), categories(100, 1_000, skew=1, seed=3)),
    "3 by 4 in 30 records": (categories(3, 30, skew=0), categories(4, 30, skew=1, seed=3)),
    "309 skewed values by a quantity": (categories(309, COMPAS, skew=1), lognormal(COMPAS, 0.5)),
    "309 skewed values by a quantity with outliers": (categories(309, COMPAS, skew=1), lognormal(COMPAS, 2)),
    "2 by a quantity in 30 records": (categories(2, 30, skew=0), lognormal(30, 0.5)),
    "5 by a quantity with outliers in 300 records": (categories(5, 300, skew=1), lognormal(300, 2)),
    "two quantities": (lognormal(COMPAS, 0.5), lognormal(COMPAS, 0.5, seed=3)),
    "two quantities with outliers in 300 records": (lognormal(300, 2), lognormal(300, 1, seed=3)),
    "two quantities in 20 records": (lognormal(20, 0.5), lognormal(20, 0.5, seed=3)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", INDEPENDENT)
def test_about_five_of_a_hundred_shuffles_reach_the_level_of_chance(name: str) -> None:
    one, other = INDEPENDENT[name]
    shuffles = squares(one, other, shuffled_orders(len(one), 4))

    level = ShuffledSquare(shape(one), shape(other), len(one)).level

    # 5 % are wanted; of 2,000 shuffles the share itself is off by 1 point in 95 of 100 cases.
    assert 0.025 < (shuffles > level).mean() < 0.085


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["309 very skewed values by a group of 2 %", "100 skewed values by 100 in 1,000 records"])
def test_chi_squared_would_call_a_quarter_of_the_shuffles_of_rare_values_more_than_chance(name: str) -> None:
    one, other = INDEPENDENT[name]
    shuffles = squares(one, other, shuffled_orders(len(one), 4))

    assert (shuffles > chdtri(shape(one).rank * shape(other).rank, 0.05) / len(one)).mean() > 0.25


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (rare(100, 0.05), rare(100, 0.1)[::-1].copy()),
        (categories(3, 20, skew=0), categories(4, 20, skew=1, seed=3)),
        (rare(40, 0.05), lognormal(40, 2)),
        (lognormal(30, 2), lognormal(30, 2, seed=3)),
        (categories(5, 3_000, skew=4), categories(5, 3_000, skew=4, seed=3)),
    ],
)
def test_where_an_association_has_few_possible_values_at_most_twelve_of_a_hundred_reach_it(one: Column, other: Column) -> None:
    shuffles = squares(one, other, shuffled_orders(len(one), 5))

    assert (shuffles > ShuffledSquare(shape(one), shape(other), len(one)).level).mean() < 0.12


def test_a_column_of_309_random_values_is_strong_uncorrected_and_no_stronger_than_chance() -> None:
    found = [cramers_v(categories(309, COMPAS, skew=0, seed=seed), rare(COMPAS, 0.4)) for seed in range(100)]

    assert min(strength.uncorrected for strength in found) > 0.2
    assert max(strength.corrected for strength in found) < 0.15
    assert sum(strength.corrected > strength.chance_level for strength in found) <= 10
    assert all(strength.chance_level < 0.1 for strength in found)


def test_the_correction_of_bergsma_by_hand() -> None:
    # 30 and 10 against 20 and 40: phi squared 1 / 6, of which 1 / 99 is chance; the room is 1 - 1 / 99.
    first, second = np.repeat([0, 0, 1, 1], [30, 10, 20, 40]), np.repeat([0, 1, 0, 1], [30, 10, 20, 40])
    assert cramers_v(first, second).corrected == pytest.approx(np.sqrt((1 / 6 - 1 / 99) / (1 - 1 / 99)))
    # 2 values by 3 in 60 records, expected 10 each, off by 5 in four cells: phi squared 100 / 10 / 60, of which 2 / 59 is chance.
    first, second = np.repeat([0, 0, 0, 1, 1, 1], [15, 5, 10, 5, 15, 10]), np.repeat([0, 1, 2, 0, 1, 2], [15, 5, 10, 5, 15, 10])
    assert cramers_v(first, second).corrected == pytest.approx(np.sqrt((1 / 6 - 2 / 59) / (1 - 1 / 59)))


def test_the_corrections_of_kelley_and_ezekiel_by_hand() -> None:
    # Means 2 and 6 of 1, 3 and 5, 7: 16 of 20 between, so epsilon squared is 1 - (1 - 0.8) x 3 / 2.
    assert ratio(np.array([0, 0, 1, 1]), np.array([1.0, 3, 5, 7])).corrected == pytest.approx(np.sqrt(0.7))
    # r = 0.8 in 5 records: 1 - (1 - 0.64) x 4 / 3.
    assert pearson(np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])).corrected == pytest.approx(np.sqrt(0.52))


def test_with_few_records_the_corrected_strength_is_close_to_the_true_one_and_the_uncorrected_is_not() -> None:
    generator = np.random.default_rng(6)
    # In the odd ones of 40 values 70 % are of the first group, in the even ones 30 %: the true V is 0.4.
    values = [generator.integers(0, 40, 400) for _ in range(200)]
    groups = [(generator.random(400) < np.where(value % 2, 0.7, 0.3)).astype(np.int64) for value in values]
    found = [cramers_v(value, group) for value, group in zip(values, groups, strict=True)]

    # Bergsma takes off what unrelated columns reach, of related ones a little too much.
    assert np.mean([strength.corrected for strength in found]) == pytest.approx(0.4, abs=0.025)
    assert np.mean([strength.uncorrected for strength in found]) > 0.48
    assert all(strength.corrected > strength.chance_level for strength in found)


@pytest.mark.thorough
def test_the_level_of_chance_is_on_the_scale_of_the_corrected_strength() -> None:
    value, group = categories(40, 400, skew=0.5), rare(400, 0.4)
    orders = shuffled_orders(400, 7)

    corrected = [cramers_v(value, group[order]).corrected for order in orders]

    assert np.mean(corrected) < cramers_v(value, group).chance_level
    assert 0.025 < np.mean([strength > cramers_v(value, group).chance_level for strength in corrected]) < 0.085


def test_of_fewer_than_twenty_records_nothing_is_stronger_than_chance() -> None:
    perfect = np.repeat([0, 1], [9, 10])

    assert cramers_v(perfect, perfect) == Strength(corrected=1.0, chance_level=1.0, uncorrected=1.0)
    assert ratio(perfect, perfect.astype(np.float64)).chance_level == 1.0
    assert pearson(np.array([1.0, 2.0]), np.array([3.0, 5.0])) == Strength(corrected=0, chance_level=0, uncorrected=pytest.approx(1))


def test_a_column_in_which_each_record_has_a_value_of_its_own_has_no_strength() -> None:
    own, group = np.arange(200), rare(200, 0.4)

    assert cramers_v(own, group) == Strength(corrected=0.0, chance_level=0.0, uncorrected=pytest.approx(1.0))
    assert ratio(own, lognormal(200, 1)) == Strength(corrected=0.0, chance_level=0.0, uncorrected=pytest.approx(1.0))


@pytest.mark.parametrize("records", [2, 5, 10, 19, 20, 21, 50, 500])
def test_one_outlier_in_a_group_of_one_is_above_chance_only_where_one_record_is_no_more_than_five_of_a_hundred(records: int) -> None:
    outlier = (np.arange(records) == 0).astype(np.float64)

    found = ratio(rare(records, 1 / records), outlier)

    assert (found.corrected > found.chance_level) == (records >= 20)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(-9, 9)), min_size=4, max_size=40), st.integers(0, 40))
def test_all_strengths_lie_from_0_to_1_and_a_correction_never_adds(rows: list[tuple[int, int, int]], cut: int) -> None:
    first, second, numbers = (np.array(column) for column in zip(*rows, strict=True))
    table, groups, line = CramersV(4, 3), CorrelationRatio(4), AbsolutePearson()
    for part in (slice(cut), slice(cut, None)):
        table.add(first[part], second[part])
        groups.add(first[part], numbers[part].astype(np.float64))
        line.add(numbers[part].astype(np.float64), second[part].astype(np.float64))

    for found in (table.strength(), groups.strength(), line.strength()):
        if not isinstance(found, Undefined):
            assert 0 <= found.corrected <= found.uncorrected + 1e-9
            assert found.uncorrected <= 1
            assert 0 <= found.chance_level <= 1


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=50), st.integers(1, 50), st.sampled_from([0.0, 1e6]))
def test_moments_are_those_of_all_numbers_however_the_file_is_cut(found: list[float], cut: int, shift: float) -> None:
    numbers, counted = np.array(found) + shift, Moments()
    for part in (numbers[:cut], numbers[cut:]):
        if len(part):
            counted.add(part)

    apart = numbers - numbers.mean()
    scale = float(np.abs(numbers).max()) + 1
    assert (counted.records, counted.mean) == (len(numbers), pytest.approx(numbers.mean()))
    assert counted.squares == pytest.approx((apart**2).sum(), rel=1e-6, abs=1e-12 * scale**2)
    assert counted.fourths == pytest.approx((apart**4).sum(), rel=1e-6, abs=1e-9 * scale**2 * (1 + np.abs(apart).max() ** 2))
