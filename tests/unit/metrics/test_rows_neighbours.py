"""Neighbours, flip test and consistency on records that can be worked out by hand, and against every neighbour looked at one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.group_labels import FloatArray, IntArray
from app.statistics.records.flip_test import Points, compute_neighbour_shares, measure_flips, standardise
from app.statistics.records.measure_rows import Neighbourhood, measure_agreement
from tests.builders.row_metrics import consistency, counterfactual_flip_test


def column(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float64)[:, None]


def outcomes(*values: int) -> IntArray:
    return np.array(values, dtype=np.int64)


def every_way(asked: FloatArray, among: FloatArray, favoured: IntArray, k: int) -> list[float]:
    """The mean outcome of the k nearest for each way to break the ties at the k-th distance."""
    distances = np.round(np.linalg.norm(among - asked, axis=1), 9)
    kth = np.sort(distances)[k - 1]
    nearer, tied = np.flatnonzero(distances < kth), np.flatnonzero(distances == kth)
    return [float(favoured[[*nearer, *chosen]].mean()) for chosen in combinations(tied, k - len(nearer))]


@st.composite
def coarse_records(draw: st.DrawFn) -> tuple[FloatArray, IntArray]:
    """Records on a small grid, where ties are the rule."""
    places = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=5, max_size=14))
    favoured = draw(st.lists(st.integers(0, 1), min_size=len(places), max_size=len(places)))
    return np.array(places, dtype=np.float64), np.array(favoured, dtype=np.int64)


def test_the_nearest_records_are_neighbours_in_equal_parts() -> None:
    shares = compute_neighbour_shares(column(0.0), Points.of(column(1, 2, 3, 4, 5, 6)), 5)

    assert shares.toarray().tolist() == [pytest.approx([0.2, 0.2, 0.2, 0.2, 0.2, 0.0])]


def test_records_at_the_last_distance_share_the_places_that_are_left() -> None:
    shares = compute_neighbour_shares(column(0.0), Points.of(column(-2, -1, 1, 2)), 3)

    assert shares.toarray().tolist() == [pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6])]


def test_ties_are_found_however_far_they_reach() -> None:
    ring = np.exp(2j * np.pi * np.arange(400) / 400)
    circle = np.stack([ring.real, ring.imag], axis=-1)

    shares = compute_neighbour_shares(np.zeros((1, 2)), Points.of(circle), 5)

    assert shares.toarray() == pytest.approx(np.full((1, 400), 1 / 400))


def test_fewer_records_than_neighbours_are_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 5 records"):
        compute_neighbour_shares(column(0.0), Points.of(column(1, 2, 3)), 5)


def test_standardising_forgets_the_unit_and_a_constant_feature() -> None:
    features = np.stack([np.arange(6.0), np.full(6, 0.1)], axis=-1)

    assert standardise(features) == pytest.approx(standardise(features * [1000, 7] + [5, 0]))
    assert standardise(features)[:, 1].tolist() == [0.0] * 6
    assert standardise(features)[:, 0].std() == pytest.approx(1)


@pytest.mark.parametrize("values", [(1e308, -1e308), (1e160, 0.0, 1.0), (5e-324, 0.0), (1e200, 5.0), (-1.7e308, -1.6e308)])
def test_features_of_any_finite_size_are_told_apart(values: tuple[float, ...]) -> None:
    places = standardise(column(*values, *values[:1] * 4))

    assert np.isfinite(places).all()
    assert abs(places[0, 0] - places[1, 0]) > 1
    assert places.std() == pytest.approx(1)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_finite_features_stay_finite(values: list[float]) -> None:
    assert np.abs(standardise(column(*values))).max(initial=0.0) <= max(1, len(values)) ** 0.5 + 1e-9


def test_flip_test_is_above_zero_where_records_like_the_monitored_are_favoured() -> None:
    """Clarify's own toy: all reference records accepted, all monitored rejected, the same features. Its library says -1."""
    features = column(*range(12), *range(12))
    favoured = np.repeat([1, 0], 12)
    is_monitored = np.repeat([False, True], 12)

    assert counterfactual_flip_test(features, favoured, is_monitored, ~is_monitored) == 1.0
    assert counterfactual_flip_test(features, 1 - favoured, is_monitored, ~is_monitored) == -1.0


def test_flip_test_takes_gained_from_lost_flips() -> None:
    # The reference accepts from 5 on; of six monitored records two are rejected there, and one is accepted below.
    reference, monitored = column(*range(10)), column(0, 1, 2, 7, 8, 9)

    found = measure_flips(monitored, outcomes(0, 0, 1, 0, 0, 1), reference, outcomes(0, 0, 0, 0, 0, 1, 1, 1, 1, 1))

    assert found.neighbours == 5
    assert found.flips.tolist() == [0, 0, -1, 1, 1, 0]
    assert found.count_flips(np.ones(6, dtype=bool)) == (2, 1)
    assert found.compute_value(np.ones(6, dtype=bool)) == pytest.approx((2 - 1) / 6)


def test_flip_test_asks_the_nearest_record_alone_where_the_reference_has_nine() -> None:
    reference = column(*range(9))

    found = measure_flips(column(4), outcomes(0), reference, outcomes(0, 0, 0, 0, 1, 0, 0, 0, 0))

    assert found.neighbours == 1
    assert found.flips.tolist() == [1]


def test_neighbours_divided_equally_flip_half_of_those_who_ask() -> None:
    reference = column(*[-1.0] * 6, *[1.0] * 6)

    found = measure_flips(column(0, 0), outcomes(0, 1), reference, np.repeat([0, 1], 6))

    assert found.flips.tolist() == pytest.approx([0.5, -0.5])


def test_records_at_one_place_are_asked_five_at_a_time_and_not_all_together() -> None:
    """Of 12 records 7 are favourable: at least 3 of 5 drawn are so in 35*10 + 35*5 + 21 = 546 of 792 draws."""
    reference = np.repeat([1, 0], [7, 5])

    found = measure_flips(column(0, 0), outcomes(0, 1), column(*[0.0] * 12), reference)

    assert found.flips.tolist() == pytest.approx([546 / 792, 546 / 792 - 1])


@given(coarse_records(), coarse_records())
@pytest.mark.thorough
def test_flips_are_the_mean_over_all_ways_to_break_ties(asked: tuple[FloatArray, IntArray], among: tuple[FloatArray, IntArray]) -> None:
    (places, favoured), (reference, treated) = asked, among
    k = 5 if len(reference) > 9 else 1
    expected = [
        np.mean([(mean > 0.5) - outcome for mean in every_way(place, reference, treated, k)])
        for place, outcome in zip(places, favoured, strict=True)
    ]

    assert measure_flips(places, favoured, reference, treated).flips == pytest.approx(np.array(expected))


@pytest.mark.parametrize("places", [1, 5, 58])
@pytest.mark.parametrize(("rate", "expected"), [(0.5, 0.0), (0.6, 0.083), (0.75, 0.146), (0.9, 0.091)])
def test_by_chance_the_flip_test_is_that_of_five_neighbours_however_many_records_are_equal(
    places: int, rate: float, expected: float
) -> None:
    values = []
    for window in range(20):
        random = np.random.default_rng(window)
        is_monitored, features = random.random(2000) < 0.5, random.integers(0, places, (2000, 1)).astype(np.float64)
        values.append(counterfactual_flip_test(features, (random.random(2000) < rate).astype(np.int64), is_monitored, ~is_monitored))

    assert np.mean(values) == pytest.approx(expected, abs=0.02)
    assert np.std(values) < 0.05


def test_flip_test_without_monitored_or_reference_records_is_refused() -> None:
    nobody, everybody = np.zeros(3, dtype=bool), np.ones(3, dtype=bool)

    with pytest.raises(ValueError, match="monitored record"):
        counterfactual_flip_test(column(1, 2, 3), outcomes(0, 1, 0), nobody, everybody)
    with pytest.raises(ValueError, match="at least 1 records"):
        counterfactual_flip_test(column(1, 2, 3), outcomes(0, 1, 0), everybody, nobody)


def test_consistency_is_one_where_neighbours_agree() -> None:
    assert consistency(column(*range(5), *range(100, 105)), np.repeat([0, 1], 5)) == 1.0


def test_consistency_of_one_odd_record_among_five() -> None:
    # Its neighbours' mean is 0.2: it is 0.8 away from it, the other four 0.2 each.
    assert consistency(column(*range(5)), outcomes(0, 0, 1, 0, 0)) == pytest.approx(1 - (0.8 + 4 * 0.2) / 5)


@given(coarse_records())
@pytest.mark.thorough
def test_consistency_is_the_mean_over_all_ways_to_break_ties(records: tuple[FloatArray, IntArray]) -> None:
    places, favoured = records
    differences = [
        np.mean([abs(outcome - mean) for mean in every_way(place, places, favoured, 5)])
        for place, outcome in zip(places, favoured, strict=True)
    ]

    assert consistency(places, favoured, scaled=False) == pytest.approx(1 - np.mean(differences))


@given(coarse_records(), st.randoms(use_true_random=False))
@pytest.mark.thorough
def test_the_order_of_the_records_changes_nothing(records: tuple[FloatArray, IntArray], random: object) -> None:
    places, favoured = records
    order = np.random.default_rng(random.randrange(2**32)).permutation(len(favoured))  # type: ignore[attr-defined]
    is_monitored = np.arange(len(favoured)) % 3 == 0

    assert consistency(places[order], favoured[order]) == pytest.approx(consistency(places, favoured))
    assert counterfactual_flip_test(places[order], favoured[order], is_monitored[order], ~is_monitored[order]) == pytest.approx(
        counterfactual_flip_test(places, favoured, is_monitored, ~is_monitored)
    )


@given(coarse_records())
@pytest.mark.thorough
def test_intervals_hold_their_values_and_stay_in_range(records: tuple[FloatArray, IntArray]) -> None:
    places, favoured = records
    is_monitored = np.arange(len(favoured)) % 2 == 0
    everybody, monitored = np.ones(len(favoured), dtype=bool), np.ones(int(is_monitored.sum()), dtype=bool)

    agreements = measure_agreement(Neighbourhood.of(places), favoured)
    found = measure_flips(places[is_monitored], favoured[is_monitored], places[~is_monitored], favoured[~is_monitored])

    lower, upper, _ = agreements.build_interval(everybody)
    assert 0 <= lower <= agreements.compute_value(everybody) <= (upper or 0) <= 1
    lower, upper, _ = found.build_interval(monitored)
    assert -1 <= lower <= found.compute_value(monitored) <= (upper or 0) <= 1
    assert lower < (upper or 0)


@pytest.mark.nightly
@pytest.mark.parametrize("whole", [False, True])
def test_intervals_hold_the_mean_over_windows_in_about_95_of_100(*, whole: bool) -> None:
    flipped, agreed = [], []
    for window in range(250):
        random = np.random.default_rng(window)
        is_monitored, features = random.random(300) < 0.4, random.normal(size=(300, 2))
        if whole:
            features = features.round()
        favoured = (features.sum(axis=1) - 0.5 * is_monitored + random.normal(size=300) > 0).astype(np.int64)
        found = measure_flips(features[is_monitored], favoured[is_monitored], features[~is_monitored], favoured[~is_monitored])
        monitored, everybody = np.ones(int(is_monitored.sum()), dtype=bool), np.ones(300, dtype=bool)
        agreements = measure_agreement(Neighbourhood.of(features), favoured)
        flipped.append((found.compute_value(monitored), *found.build_interval(monitored)[:2]))
        agreed.append((agreements.compute_value(everybody), *agreements.build_interval(everybody)[:2]))

    for windows in (np.array(flipped, dtype=np.float64), np.array(agreed, dtype=np.float64)):
        truth = windows[:, 0].mean()
        assert 0.9 <= np.mean((windows[:, 1] <= truth) & (truth <= windows[:, 2])) <= 0.99
