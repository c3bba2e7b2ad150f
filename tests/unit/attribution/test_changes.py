"""Why a gap changed: the parts sum to the change of the difference and of the log ratio, and known changes are told apart."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.attribution.cell_parts import CellCounts, ChangeParts, explain_change_of_gap

COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=3)


def cells(drawn: list[tuple[int, int]]) -> CellCounts:
    favourable, others = np.array(drawn, float).T
    return CellCounts(favourable, favourable + others)


def expected(shares: list[float], rates: list[float]) -> CellCounts:
    records = np.array(shares) * 1000
    return CellCounts(records * rates, records)


def total(parts: ChangeParts | None) -> float:
    assert parts is not None
    return parts.who_asked + parts.how_answered + parts.no_counterpart


@given(st.lists(COUNTS, min_size=4, max_size=4))
@pytest.mark.thorough
def test_the_parts_sum_to_the_change_on_both_scales(drawn: list[list[tuple[int, int]]]) -> None:
    sides = [cells(one) for one in drawn]
    rates = [float(side.rate) for side in sides]
    found = explain_change_of_gap(*sides)

    if np.isnan(rates).any():
        assert (found.of_difference, found.of_log_ratio) == (None, None)
        return
    change = (rates[1] - rates[3]) - (rates[0] - rates[2])
    assert total(found.of_difference) == pytest.approx(change, abs=1e-12)
    assert found.of_difference is not None
    assert found.of_difference.change == pytest.approx(change, abs=1e-12)
    if min(rates) == 0:
        assert found.of_log_ratio is None
    else:
        ratios = log(rates[1] / rates[3]) - log(rates[0] / rates[2])
        assert total(found.of_log_ratio) == pytest.approx(ratios, abs=1e-12)


def test_a_model_that_answers_differently_is_how_it_answers() -> None:
    before, after = expected([0.3, 0.7], [0.4, 0.8]), expected([0.3, 0.7], [0.2, 0.7])
    steady = (expected([0.5, 0.5], [0.4, 0.8]), expected([0.5, 0.5], [0.4, 0.8]))

    found = explain_change_of_gap(before, after, *steady)

    assert found.of_difference == ChangeParts(
        pytest.approx(-0.13), pytest.approx(0, abs=1e-12), pytest.approx(-0.13), pytest.approx(0, abs=1e-12)
    )
    assert found.of_log_ratio is not None
    assert found.of_log_ratio.how_answered == pytest.approx(log(0.55 / 0.68))


def test_other_applicants_are_who_asked() -> None:
    before, after = expected([0.3, 0.7], [0.4, 0.8]), expected([0.6, 0.4], [0.4, 0.8])
    steady = (expected([0.5, 0.5], [0.4, 0.8]), expected([0.5, 0.5], [0.4, 0.8]))

    found = explain_change_of_gap(before, after, *steady)

    assert found.of_difference is not None
    assert found.of_difference.who_asked == pytest.approx(-0.12)
    assert found.of_difference.how_answered == pytest.approx(0, abs=1e-12)


def test_a_change_of_both_groups_alike_leaves_no_part() -> None:
    both = (expected([0.3, 0.7], [0.4, 0.8]), expected([0.5, 0.5], [0.3, 0.6]))

    found = explain_change_of_gap(*both, *both)

    assert (total(found.of_difference), total(found.of_log_ratio)) == (0, 0)
