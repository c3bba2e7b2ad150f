"""The interval of the value furthest out is valid although the value was chosen."""

import numpy as np
import pytest

from app.metrics import GroupCounts, Value, measure_payload
from app.metrics.groups import as_groups
from app.metrics.values import Measured

GROUPS = 10
WORLDS = 400


def worst(counts: list[tuple[int, int]], metric: str = "disparate_impact") -> Measured:
    """Returns the headline of groups with these (unfavourable, favourable) counts, the last of which is the reference."""
    groups = as_groups([*((str(one), "monitored") for one in range(len(counts) - 1)), ("reference", "reference")])
    table = GroupCounts(groups, np.array(counts), np.zeros(len(counts), np.int64), 0)
    return next(one for one in measure_payload(table, metrics=[metric], draws=10) if one.scope == "worst")


@pytest.mark.parametrize(("metric", "truth"), [("disparate_impact", 0.9), ("statistical_parity_difference", -0.05)])
def test_it_holds_the_truth_of_the_chosen_group_in_19_of_20_worlds(metric: str, truth: float) -> None:
    """Ten groups of one rate: the one furthest out is so by chance alone."""
    rng = np.random.default_rng(14)
    held, naively = 0, 0
    for _ in range(WORLDS):
        favourable = [*rng.binomial(200, 0.45, GROUPS).tolist(), int(rng.binomial(2_000, 0.5))]
        records = [*[200] * GROUPS, 2_000]
        found = worst([(n - k, k) for k, n in zip(favourable, records, strict=True)], metric)
        assert found.for_choice is not None
        assert isinstance(found.number, Value)
        held += found.for_choice.lower <= truth <= (found.for_choice.upper or np.inf)
        naively += found.number.lower <= truth <= (np.inf if found.number.upper is None else found.number.upper)

    assert held >= 0.95 * WORLDS - 2 * np.sqrt(WORLDS * 0.95 * 0.05)
    assert naively < 0.9 * WORLDS


def test_it_contains_the_interval_of_the_group_by_itself() -> None:
    found = worst([(60, 40), (55, 45), (50, 50)])

    assert found.for_choice is not None
    assert isinstance(found.number, Value)
    assert found.for_choice.lower < found.number.lower
    assert found.for_choice.upper is not None
    assert found.number.upper is not None
    assert found.for_choice.upper > found.number.upper


def test_one_group_was_not_chosen() -> None:
    assert worst([(60, 40), (50, 50)]).for_choice is None
