"""The interval of the value furthest out is valid although the value was chosen."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from app.library.frame_report import build_judged_figure
from app.statistics.catalogue import CATALOGUE
from app.statistics.group_labels import build_groups
from app.statistics.intervals.verdicts import Measured, Value, Verdict
from app.statistics.measures.measure import measure_as_logged
from app.statistics.measures.perturbed_data import measure_counterfactual
from app.statistics.measures.worst_group import widen_for_choice
from app.statistics.sentences.statements import describe_gap
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.count_tables import count_groups

GROUPS = 10
WORLDS = 400


def worst(counts: list[tuple[int, int]], metric: str = "disparate_impact") -> Measured:
    """Returns the headline of groups with these (unfavourable, favourable) counts, the last of which is the reference."""
    groups = build_groups([*((str(one), "monitored") for one in range(len(counts) - 1)), ("reference", "reference")])
    table = count_groups(groups, counts)
    return next(figure for figure in measure_as_logged(table, metrics=[metric], draws=10) if figure.worst_of is not None)


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
        assert found.interval_of_choice is not None
        assert isinstance(found.number, Value)
        held += found.interval_of_choice.lower <= truth <= (found.interval_of_choice.upper or np.inf)
        naively += found.number.lower <= truth <= (np.inf if found.number.upper is None else found.number.upper)

    assert held >= 0.95 * WORLDS - 2 * np.sqrt(WORLDS * 0.95 * 0.05)
    assert naively < 0.9 * WORLDS


def counterfactual_window(rng: np.random.Generator) -> CounterfactualCells:
    """Four groups of one chance, 0.45, and a reference of 0.5; a record's outcomes in the groups mostly agree."""
    groups = build_groups([*((str(one), "monitored") for one in range(4)), ("reference", "reference")])
    codes = rng.choice(5, 600, p=[0.125] * 4 + [0.5])
    bars = 0.97 * rng.standard_normal((600, 1)) + 0.25 * rng.standard_normal((600, 5))
    answers = (bars < np.array([-0.126] * 4 + [0.0])).astype(np.int64)
    crosses = np.not_equal.outer(codes == 4, np.arange(5) == 4).astype(np.int64)
    return CounterfactualCells.from_records(
        groups, codes, outcome=answers[np.arange(600), codes], copies_favourable=answers * crosses, copies_classified=crosses
    )


@pytest.mark.nightly
@pytest.mark.parametrize(("metric", "truth"), [("disparate_impact", 0.9), ("statistical_parity_difference", -0.05)])
def test_a_counterfactual_figure_holds_the_truth_of_the_chosen_group(metric: str, truth: float) -> None:
    """The figures are of the same reference records, so they depend on each other. More worlds: `scripts/trial coverage-choice`."""
    worlds, rng = 200, np.random.default_rng(14)
    held, naively = 0, 0
    for _ in range(worlds):
        measured = measure_counterfactual(counterfactual_window(rng), metrics=[metric])
        found = next(figure for figure in measured if figure.worst_of is not None)
        assert found.interval_of_choice is not None
        assert found.interval_of_choice.upper is not None
        assert isinstance(found.number, Value)
        assert found.number.lower is not None
        assert found.number.upper is not None
        held += found.interval_of_choice.lower <= truth <= found.interval_of_choice.upper
        naively += found.number.lower <= truth <= found.number.upper

    assert held >= 0.95 * worlds - 2 * np.sqrt(worlds * 0.95 * 0.05)
    assert naively < held


WIDER = float(norm.ppf(1 - 0.025 / 10) / norm.ppf(0.975))


@pytest.mark.parametrize(
    ("metric", "own", "chosen"),
    [
        ("odds_ratio", (0.25, 0.5, 1.0), (0.5 * 0.5**WIDER, 0.5 * 2**WIDER)),
        ("odds_ratio", (0.0, 0.0, 0.4), (0.0, 0.4 * WIDER)),
        ("average_odds_difference", (-0.98, -0.9, -0.6), (-1.0, -0.9 + 0.3 * WIDER)),
    ],
)
def test_the_own_interval_is_stretched(metric: str, own: tuple[float, float, float], chosen: tuple[float, float]) -> None:
    """For ratios as a factor; nothing lies beyond the range of the metric."""
    lower, value, upper = own
    found = widen_for_choice(CATALOGUE[metric], Value(value, lower, upper, "x", 100), 10)

    assert (found.lower, found.upper) == pytest.approx(chosen, rel=1e-12)


def test_an_open_end_stays_open_and_one_beyond_all_numbers_opens() -> None:
    own, odds = Value(-2.0, None, 0.0, "x", 100), Value(1.0, 1e-300, 1e300, "x", 100)

    assert widen_for_choice(CATALOGUE["difference_in_conditional_acceptance"], own, 10).lower is None
    assert widen_for_choice(CATALOGUE["odds_ratio"], odds, 10).upper is None


def test_groups_that_are_too_small_to_be_chosen_do_not_count() -> None:
    of_four = worst([(60, 40), (55, 45), (3, 4), (5, 4), (50, 50)])
    of_small = worst([(3, 4), (5, 4), (50, 50)])

    assert of_four.worst_of == of_small.worst_of == 2
    assert of_four.interval_of_choice == worst([(60, 40), (55, 45), (50, 50)]).interval_of_choice


@pytest.mark.thorough
@pytest.mark.parametrize("many", [5, 10, 30])
def test_equal_groups_seldom_have_a_gap_larger_than_chance_explains(many: int) -> None:
    """More windows, and other sizes: `scripts/trial coverage-choice`."""
    windows, rng = 250, np.random.default_rng(52)
    outcomes = {"claims": 0, "unfair": 0}
    for _ in range(windows):
        favourable = [*rng.binomial(300, 0.5, many).tolist(), int(rng.binomial(1_000, 0.5))]
        counts = [(n - k, k) for k, n in zip(favourable, [*[300] * many, 1_000], strict=True)]
        groups = build_groups([*((str(one), "monitored") for one in range(many)), ("reference", "reference")])
        measured = measure_as_logged(count_groups(groups, counts), metrics=["disparate_impact"], draws=10)
        figures = [build_judged_figure(figure) for figure in measured if figure.scope == "group"]
        outcomes["claims"] += any("larger than chance" in str(describe_gap(figure)) for figure in figures)
        outcomes["unfair"] += any(figure.verdict is Verdict.UNFAIR for figure in figures)

    # The 99.9 % quantile of as many windows at 5 %; without the correction 22, 36 and 63 %.
    assert 0.01 * windows <= outcomes["claims"] <= binom.ppf(0.999, windows, 0.05)
    assert outcomes["unfair"] == 0


def test_it_contains_the_interval_of_the_group_by_itself() -> None:
    found = worst([(60, 40), (55, 45), (50, 50)])

    assert found.interval_of_choice is not None
    assert isinstance(found.number, Value)
    assert found.interval_of_choice.lower < found.number.lower
    assert found.interval_of_choice.upper is not None
    assert found.number.upper is not None
    assert found.interval_of_choice.upper > found.number.upper


def test_one_group_was_not_chosen() -> None:
    assert worst([(60, 40), (50, 50)]).interval_of_choice is None
