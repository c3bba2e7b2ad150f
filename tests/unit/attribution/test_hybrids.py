"""Shapley values by hybrids: equal to the definition, and to the truth of small worlds."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.attribution.hybrid_values import (
    MAX_EXACT_PLAYERS,
    MAX_PLAYERS,
    HybridOutcomes,
    RecordPairs,
    carry_gap,
    count_hybrids,
    draw_pairs,
    plan_hybrids,
)
from app.statistics.group_labels import FloatArray, IntArray
from tests.builders.attribution_worlds import SHARES, Window, approve, ask, carry, draw_window


def enumerate_orders(outcomes: FloatArray, players: int) -> FloatArray:
    """The definition: the average change at a player's arrival over all orders; `outcomes` [2^players] by mask."""
    values = np.zeros(players)
    orders = list(permutations(range(players)))
    for order in orders:
        mask = 0
        for player in order:
            values[player] += outcomes[mask | 1 << player] - outcomes[mask]
            mask |= 1 << player
    return values / len(orders)


def answered(outcomes: FloatArray, masks: IntArray) -> HybridOutcomes:
    """Outcomes [pairs, 2^players] by mask."""
    return HybridOutcomes(outcomes[:, 0], outcomes[:, -1], np.take_along_axis(outcomes, masks, axis=1))


@pytest.mark.parametrize("players", [1, 2, 3, 4, 5, 6])
@given(seed=st.integers(0, 2**32 - 1))
def test_up_to_six_players_are_exact_and_sum_to_the_gap(players: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcomes = rng.integers(0, 2, (3, 2**players)) * 1.0
    plan = plan_hybrids(3, players, rng)

    found = plan.compute_contributions(answered(outcomes, plan.masks))

    assert plan.masks.shape == (3, count_hybrids(players))
    assert np.abs(found - [enumerate_orders(pair, players) for pair in outcomes]).max() < 1e-12
    assert np.abs(found.sum(axis=1) - (outcomes[:, -1] - outcomes[:, 0])).max() < 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("players", [7, 8])
def test_more_players_are_unbiased_and_sum_to_the_gap_of_each_pair(players: int) -> None:
    rng = np.random.default_rng(1)
    pair = rng.random(2**players)
    outcomes = np.tile(pair, (40_000, 1))
    plan = plan_hybrids(len(outcomes), players, rng)

    found = plan.compute_contributions(answered(outcomes, plan.masks))

    assert plan.masks.shape[1] == count_hybrids(players) == 2 * (players - 1)
    assert np.abs(found.sum(axis=1) - (pair[-1] - pair[0])).max() < 1e-12
    error = found.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - enumerate_orders(pair, players)) < 4 * error).all()


def test_the_two_orders_of_a_pair_are_each_others_reverse() -> None:
    masks = plan_hybrids(50, 9, np.random.default_rng(2)).masks
    there, back = np.split(masks, 2, axis=1)

    assert np.array_equal(there, 2**9 - 1 - back[:, ::-1])


@pytest.mark.parametrize("players", [3, MAX_EXACT_PLAYERS + 2])
def test_an_additive_model_is_carried_by_its_own_terms_exactly(players: int) -> None:
    rng = np.random.default_rng(3)
    weights = rng.normal(size=players)
    window = draw_window(300, 300, rng, rng.normal(size=players))

    found = carry(window, 300, rng, model=lambda features: features @ weights)

    expected = weights * (window.monitored.mean(axis=0) - window.reference.mean(axis=0))
    assert np.abs(found.shares - expected).max() < 1e-12
    assert found.sampling == pytest.approx(0, abs=1e-12)


def test_a_condition_on_two_features_is_carried_by_both_in_equal_parts() -> None:
    ones, zeros = np.ones((30, 3)), np.zeros((30, 3))

    found = carry(Window(zeros, ones), 30, np.random.default_rng(4), model=lambda features: features[..., 0] * features[..., 1])

    assert found.shares == pytest.approx([-0.5, -0.5, 0])


@pytest.mark.parametrize("players", [4, 6, 7])
def test_a_feature_that_the_model_does_not_use_carries_exactly_nothing(players: int) -> None:
    rng = np.random.default_rng(9)
    window = draw_window(400, 400, rng, np.full(players, 0.5))

    found = carry(window, 400, rng, model=lambda features: (features[..., :3].sum(axis=-1) > 0).astype(float))

    assert (found.shares[3:], found.ends.low[3:], found.ends.high[3:]) == (pytest.approx(0, abs=0),) * 3


@pytest.mark.nightly
def test_a_world_of_four_features_is_recovered() -> None:
    rng = np.random.default_rng(5)

    found = carry(draw_window(20_000, 20_000, rng), 20_000, rng)

    assert found.shares == pytest.approx(SHARES, abs=0.008)
    assert found.shares.sum() == pytest.approx(found.gap_of_pairs, abs=1e-12)


def test_a_pair_with_an_unknown_outcome_is_left_out_whole() -> None:
    rng = np.random.default_rng(6)
    window = draw_window(40, 40, rng)
    pairs = draw_pairs(40, 40, 40, rng)
    plan = plan_hybrids(40, 4, rng)
    known = ask(pairs, window, plan, approve)
    known.hybrids[0, 3] = np.nan

    found = carry_gap(pairs, plan, known, gap_of_window=0.25, rng=rng, draws=100)

    assert found is not None
    assert (found.pairs, found.left_out) == (39, 1)
    assert found.gap_of_pairs == pytest.approx((known.monitored[1:] - known.reference[1:]).mean(), abs=1e-12)
    assert found.gap_of_pairs + found.sampling == pytest.approx(0.25, abs=1e-12)


def test_without_any_known_pair_there_is_no_attribution() -> None:
    rng = np.random.default_rng(7)
    unknown = np.full(2, np.nan)
    pairs = RecordPairs(np.arange(2), np.arange(2), np.arange(2))

    assert carry_gap(pairs, plan_hybrids(2, 1, rng), HybridOutcomes(unknown, unknown, np.empty((2, 0))), gap_of_window=0, rng=rng) is None


def test_a_wrong_sum_is_an_error_of_its_own() -> None:
    rng = np.random.default_rng(8)
    pairs = draw_pairs(30, 30, 30, rng)
    plan = plan_hybrids(30, 2, rng)

    class Wrong:
        masks = plan.masks

        def compute_contributions(self, answered: HybridOutcomes) -> FloatArray:
            return plan.compute_contributions(answered) + 1e-9

    window = draw_window(30, 30, rng, np.zeros(2))
    with pytest.raises(ArithmeticError, match="sum to"):
        carry_gap(pairs, Wrong(), ask(pairs, window, plan, lambda one: one[..., 0]), gap_of_window=0, rng=rng)


@pytest.mark.parametrize("players", [0, MAX_PLAYERS + 1])
def test_too_few_or_too_many_players_are_refused(players: int) -> None:
    with pytest.raises(ValueError, match="players"):
        count_hybrids(players)
