"""The interval of the value furthest out is valid although the value was chosen."""

import json

import numpy as np
import pytest

from app.details import Details
from app.metrics import BalancedCells, Value, measure_balanced, measure_payload
from app.metrics.catalogue import CATALOGUE
from app.metrics.choice import interval_for_choice
from app.metrics.groups import as_groups
from app.metrics.values import Measured
from tests.builders.count_tables import count_groups

GROUPS = 10
WORLDS = 400


def worst(counts: list[tuple[int, int]], metric: str = "disparate_impact") -> Measured:
    """Returns the headline of groups with these (unfavourable, favourable) counts, the last of which is the reference."""
    groups = as_groups([*((str(one), "monitored") for one in range(len(counts) - 1)), ("reference", "reference")])
    table = count_groups(groups, counts)
    return next(one for one in measure_payload(table, metrics=[metric], draws=10) if one.worst_of is not None)


@pytest.mark.thorough
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


def balanced_window(rng: np.random.Generator) -> BalancedCells:
    """Four groups of one chance, 0.45, and a reference of 0.5; a record's outcomes in the groups mostly agree."""
    groups = as_groups([*((str(one), "monitored") for one in range(4)), ("reference", "reference")])
    codes = rng.choice(5, 600, p=[0.125] * 4 + [0.5])
    bars = 0.97 * rng.standard_normal((600, 1)) + 0.25 * rng.standard_normal((600, 5))
    answers = (bars < np.array([-0.126] * 4 + [0.0])).astype(np.int64)
    crosses = np.not_equal.outer(codes == 4, np.arange(5) == 4).astype(np.int64)
    return BalancedCells.from_records(
        groups, codes, outcome=answers[np.arange(600), codes], copies_favourable=answers * crosses, copies_classified=crosses
    )


@pytest.mark.nightly
@pytest.mark.parametrize(("metric", "truth"), [("disparate_impact", 0.9), ("statistical_parity_difference", -0.05)])
def test_a_balanced_figure_holds_the_truth_of_the_chosen_group(metric: str, truth: float) -> None:
    """The figures are of the same reference records, so they depend on each other. More worlds: `scripts/trial coverage-choice`."""
    worlds, rng = 200, np.random.default_rng(14)
    held, naively = 0, 0
    for _ in range(worlds):
        measured = measure_balanced(balanced_window(rng), metrics=[metric])
        found = next(one for one in measured if one.worst_of is not None)
        assert found.for_choice is not None
        assert found.for_choice.upper is not None
        assert isinstance(found.number, Value)
        assert found.number.lower is not None
        assert found.number.upper is not None
        held += found.for_choice.lower <= truth <= found.for_choice.upper
        naively += found.number.lower <= truth <= found.number.upper

    assert held >= 0.95 * worlds - 2 * np.sqrt(worlds * 0.95 * 0.05)
    assert naively < held


def test_the_details_of_a_stored_figure_give_the_same_interval() -> None:
    """Pages compute it from the stored details: no record and no count table is read again."""
    chosen = [worst([(60, 40), (55, 45), (50, 50)])]
    chosen += [one for one in measure_balanced(balanced_window(np.random.default_rng(1))) if one.for_choice is not None]
    for one in chosen:
        stored = Details.from_json(json.loads(json.dumps(one.details.to_json())))
        assert isinstance(one.number, Value)
        assert one.worst_of is not None
        how = CATALOGUE[one.metric].measure

        assert interval_for_choice(how, stored, point=one.number.value, chosen_from=one.worst_of) == one.for_choice
    assert {one.metric for one in chosen} == {"disparate_impact", "statistical_parity_difference"}


def test_counts_that_include_copies_give_no_interval() -> None:
    """Balanced figures of earlier releases have no pairs, and those of OpenScale count copies as records."""
    how = CATALOGUE["disparate_impact"].measure
    for extra in ("own_n", "original_n", "weight"):
        counts = {"favourable": 20.0, "n": 100, extra: 50}
        old = Details(monitored_counts=counts, reference_counts=counts)
        assert interval_for_choice(how, old, point=1.0, chosen_from=2) is None


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
