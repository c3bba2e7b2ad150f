"""The flip rate beyond repeats, in simulated models of known truth."""

import math

import pytest

from tests.builders.noisy_models import NoisyModel, count_covered, measure_flips

WINDOWS = 100


@pytest.mark.parametrize("model", [NoisyModel(0.1, 0.4), pytest.param(NoisyModel(0.1, 0.4, references=3), marks=pytest.mark.thorough)])
def test_its_interval_holds_the_share_that_flips_with_the_attribute_in_19_of_20_windows(model: NoisyModel) -> None:
    alone, beyond = count_covered(model, WINDOWS, seed=52)

    assert beyond >= 0.95 * WINDOWS - 2 * math.sqrt(WINDOWS * 0.95 * 0.05)
    assert alone < 0.1 * WINDOWS


def test_a_model_that_keeps_its_answers_has_the_same_figure() -> None:
    alone, beyond = measure_flips(NoisyModel(0.1, 0.0), 2000, seed=1)

    assert beyond == alone
