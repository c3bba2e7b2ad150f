import math
from collections.abc import Callable
from functools import cache
from typing import cast

import numpy as np
import pytest
from scipy.stats import binom, chi2, poisson

from app.statistics.group_labels import FloatArray, IntArray, Role
from app.statistics.intervals.intervals import (
    Interval,
    build_newcombe_interval,
    build_rate_interval,
    build_ratio_interval,
    build_wilson_interval,
)
from app.statistics.measures.measure import measure_as_logged
from app.statistics.measures.perturbed_data import measure_counterfactual, measure_openscale
from app.statistics.tables.count_table import GroupCounts
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.results import found, value

SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]


@pytest.mark.parametrize(
    ("counts", "limits"),
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((6, 7, 2, 7), (0.0582, 0.8062)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
        ((0, 10, 0, 10), (-0.2775, 0.2775)),
        ((10, 10, 0, 20), (0.6791, 1.0)),
        ((10, 10, 0, 10), (0.6075, 1.0)),
    ],
)
def test_the_interval_of_a_difference_is_newcombes_published_one(counts: tuple[int, int, int, int], limits: tuple[float, float]) -> None:
    """Newcombe 1998, table II, method 10."""
    interval = build_newcombe_interval(*counts)

    assert (interval.lower, interval.upper) == pytest.approx(limits, abs=5.1e-5)


@pytest.mark.parametrize(
    ("count", "total", "limits"),
    [(81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0.0, 0.1611)), (1, 29, (0.0061, 0.1718)), (29, 29, (0.8830, 1.0))],
)
def test_the_interval_of_a_rate_is_the_published_score_interval(count: int, total: int, limits: tuple[float, float]) -> None:
    """Newcombe 1998, Statistics in Medicine 17:857, table I, method 3."""
    interval = build_wilson_interval(count, total)

    assert (interval.lower, interval.upper) == pytest.approx(limits, abs=5.1e-5)


def test_the_interval_of_a_ratio_is_the_textbooks_log_interval() -> None:
    """Physicians' Health Study (Agresti): 189 of 11,034 on placebo, 104 of 11,037 on aspirin; 1.82, from 1.43 to 2.30 (2.31)."""
    interval = build_ratio_interval(189, 11_034, 104, 11_037)

    assert interval.lower == pytest.approx(1.433, abs=5e-4)
    assert interval.upper == pytest.approx(2.306, abs=5e-4)
    assert interval.method == "log_ratio"


@pytest.mark.parametrize("counts", [(0, 20, 50, 100), (20, 20, 50, 100), (20, 20, 100, 100), (10, 20, 100, 100), (0, 1, 1, 1)])
def test_a_ratio_of_a_group_whose_records_are_all_alike_has_a_finite_interval_with_width(counts: tuple[int, int, int, int]) -> None:
    interval = build_ratio_interval(*counts)

    ratio = (counts[0] / counts[1]) / (counts[2] / counts[3])
    assert interval.upper is not None
    assert 0 <= interval.lower <= ratio <= interval.upper < math.inf
    assert interval.upper > interval.lower
    assert interval.method == "log_ratio_wilson"


def test_the_limits_of_a_ratio_of_few_combine_those_of_the_rates_on_the_scale_of_logarithms() -> None:
    one, other = build_wilson_interval(3, 50), build_wilson_interval(40, 450)
    assert one.upper is not None
    assert other.upper is not None

    interval = build_ratio_interval(3, 50, 40, 450)

    centre = math.log((3 / 50) / (40 / 450))
    down, up = math.log(40 / 450 / other.lower), math.log(other.upper / (40 / 450))
    assert interval.lower == pytest.approx(math.exp(centre - math.hypot(math.log(3 / 50 / one.lower), up)))
    assert interval.upper == pytest.approx(math.exp(centre + math.hypot(math.log(one.upper / (3 / 50)), down)))


def test_the_upper_limit_of_a_ratio_of_none_is_that_of_the_rate_over_the_lower_one_of_the_other() -> None:
    interval = build_ratio_interval(0, 20, 50, 100)

    upper = cast("float", build_wilson_interval(0, 20).upper) / build_wilson_interval(50, 100).lower
    assert (interval.lower, interval.upper) == (0, pytest.approx(upper))


@pytest.mark.parametrize(("count", "total"), [(5, 10), (5, 1_000), (995, 1_000), (0, 20), (20, 20)])
def test_where_five_or_none_are_on_a_side_of_a_rate_its_interval_is_wilsons(count: int, total: int) -> None:
    assert build_rate_interval(count, total) == build_wilson_interval(count, total)


@pytest.mark.parametrize("count", [1, 2, 4, 96, 99])
def test_where_few_are_on_a_side_of_a_rate_its_limit_on_that_side_is_poissons(count: int) -> None:
    few = min(count, 100 - count)
    limit = poisson_limit(few) / 100

    interval = build_rate_interval(count, 100)

    assert interval.method == "wilson_poisson"
    assert (interval.lower if count == few else 1 - cast("float", interval.upper)) == pytest.approx(limit)
    # At the limit as many or more of them come once in twenty windows.
    assert poisson.sf(few - 1, limit * 100) == pytest.approx(0.05)


def poisson_limit(count: int) -> float:
    """The expected number of records of which so many are seen, or more, once in twenty windows."""
    return float(chi2.ppf(0.05, 2 * count) / 2)


@pytest.mark.parametrize("total", [10, 15, 20, 50, 200, 1_000])
def test_the_interval_of_a_rate_holds_it_whatever_the_rate(total: int) -> None:
    """Computed exactly. Wilson's own holds a rate of 0.17 expected records in 84 of 100 windows."""
    counts = np.arange(total + 1)
    rates = np.unique(np.concatenate([np.linspace(0.001, 0.5, 400), np.linspace(0.02, 8, 400) / total]).clip(max=0.5))

    held = held_rates(build_rate_interval, counts, rates)

    assert held.min() >= (0.914 if total < 50 else 0.925)
    assert held_rates(build_wilson_interval, counts, np.array([0.174 / total])).item() < 0.85


def held_rates(of: Callable[[float, float], Interval], counts: IntArray, rates: FloatArray) -> FloatArray:
    """How likely the interval of a rate holds it, by rate."""
    ends = np.array([of(int(count), int(counts[-1]))[:2] for count in counts], dtype=np.float64)
    inside = (ends[:, :1] <= rates + 1e-12) & (rates - 1e-12 <= ends[:, 1:])
    held: FloatArray = (binom.pmf(counts[:, None], counts[-1], rates) * inside).sum(axis=0)
    return held


@pytest.mark.parametrize("rates", [(0.05, 0.05), (0.03, 0.06), (0.1, 0.05), (0.95, 0.95), (0.9, 0.95), (0.95, 0.9)])
@pytest.mark.parametrize("sizes", [(20, 180), (50, 450), (450, 50), (100, 100)])
def test_the_interval_of_a_ratio_holds_it_where_few_are_on_a_side(sizes: tuple[int, int], rates: tuple[float, float]) -> None:
    """Computed exactly, of all windows in which the ratio is defined. Katz's own holds 91 to 93 of 100 where rates are near 1."""
    likely = [np.flatnonzero(binom.pmf(np.arange(size + 1), size, rate) > 1e-7) for size, rate in zip(sizes, rates, strict=True)]
    truth, held, defined = rates[0] / rates[1], 0.0, 0.0
    for count in likely[0]:
        for other in likely[1][likely[1] > 0]:
            chance = binom_of(count, sizes[0], rates[0]) * binom_of(other, sizes[1], rates[1])
            interval = build_ratio_interval(int(count), sizes[0], int(other), sizes[1])
            defined += chance
            held += chance * (interval.lower <= truth and (interval.upper is None or truth <= interval.upper))

    assert held / defined >= 0.93


@cache
def binom_of(count: int, size: int, rate: float) -> float:
    """The chance of that count."""
    return float(binom.pmf(count, size, rate))


def test_resampling_agrees_with_the_closed_form_on_a_big_table() -> None:
    """Without copies, counterfactual data is the payload; so the two intervals tell the same."""
    random = np.random.default_rng(7)
    codes = random.integers(0, 2, 40_000)
    outcomes = (random.random(40_000) < np.where(codes == 0, 0.3, 0.5)).astype(np.int64)
    none = np.zeros((40_000, 2), np.int64)
    closed = measure_as_logged(GroupCounts.from_records(SEXES, codes, outcome=outcomes))

    drawn = measure_openscale(
        CounterfactualCells.from_records(SEXES, codes, outcome=outcomes, copies_favourable=none, copies_classified=none), seed=1
    )

    for metric, openscale in (("disparate_impact", "openscale_fairness"), ("favourable_rate", "favourable_rate")):
        formula, resampled = value(closed, metric, "group", "Female"), value(drawn, openscale, "group", "Female")
        assert formula.upper is not None
        width = formula.upper - formula.lower
        assert resampled.value == pytest.approx(formula.value, abs=1e-12)
        assert resampled.lower == pytest.approx(formula.lower, abs=0.05 * width)
        assert resampled.upper == pytest.approx(formula.upper, abs=0.05 * width)
        assert resampled.method == "resampling"


def flipless(records: int) -> CounterfactualCells:
    """Half women, half men, half of each favoured, and no copy that differs from its record."""
    codes, outcomes = np.arange(records) % 2, np.arange(records) // 2 % 2
    classified = np.eye(2, dtype=np.int64)[1 - codes]
    return CounterfactualCells.from_records(
        SEXES, codes, outcome=outcomes, copies_favourable=classified * outcomes[:, None], copies_classified=classified
    )


def test_a_window_without_any_flip_still_has_an_interval_with_width() -> None:
    """Every resample of it gives exactly 1, but three flips in the next window would not be a surprise."""
    once = value(measure_counterfactual(flipless(100)), "disparate_impact", "group", "Female")
    each_copy = value(measure_openscale(flipless(100), seed=3), "openscale_fairness", "group", "Female")

    for impact in (once, each_copy):
        assert impact.value == 1
        assert impact.lower < 0.97
        assert impact.upper is not None
        assert impact.upper > 1.03


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others() -> None:
    cells = flipless(100)

    first, again, other = (measure_openscale(cells, seed=seed) for seed in (5, 5, 6))

    assert first == again
    assert first != other


def test_a_ratio_without_an_upper_bound_says_so() -> None:
    """Of 4 reference records one was favourable: a resample may hold none, and the ratio has no limit upwards."""
    codes, outcomes = np.array([0] * 20 + [1] * 4), np.array([1] * 20 + [1, 0, 0, 0])
    none = np.zeros((24, 2), np.int64)

    results = measure_openscale(
        CounterfactualCells.from_records(SEXES, codes, outcome=outcomes, copies_favourable=none, copies_classified=none), seed=0
    )

    impact = value(results, "openscale_fairness", "group", "Female")
    assert (impact.value, impact.upper) == (4, None)


def test_memory_stays_bounded_by_drawing_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws are the same however many are held at once."""
    whole = measure_openscale(flipless(100), seed=3)
    monkeypatch.setattr("app.statistics.intervals.rate_estimates.MAX_DRAWN_CELLS", 64)

    chunked = measure_openscale(flipless(100), seed=3)

    assert value(chunked, "openscale_fairness", "group", "Female").n == 100
    assert found(chunked, "openscale_fairness", "group", "Female") == found(whole, "openscale_fairness", "group", "Female")
