"""Counterfactual figures of any records, held against the definition, record by record."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.statistics.intervals.intervals import build_paired_difference_interval, build_paired_ratio_interval
from app.statistics.intervals.verdicts import Measured, Undefined, Value
from app.statistics.measures.perturbed_data import measure_counterfactual
from app.statistics.sentences.figure_sentences import write_sentence
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.random_records import Records, records
from tests.builders.results import found, value
from tests.examples import many

EXACT = 1e-9
HUNDRED = r"(fewer than 0\.1|more than 99\.9|[\d.]+)"


def figures_towards(sample: Records, into: list[int], others: list[int]) -> dict[int, float]:
    """Each record's figure towards those groups, for those that have one, straight from the definition."""
    kept = [place for place in range(sample.codes.size) if sample.outcomes[place] < 2]
    sizes = {group: sum(sample.codes[place] == group for place in kept) for group in into}
    result = {}
    for place in kept:
        own = int(sample.codes[place])
        if own in into:
            result[place] = float(sample.outcomes[place])
        elif own in others:
            known = [group for group in into if sample.classified[place, group] and sizes[group]]
            if known:
                shares = [sample.favourable[place, group] / sample.classified[place, group] for group in known]
                result[place] = float(np.average(shares, weights=[sizes[group] for group in known]))
    return result


def by_definition(sample: Records, of: list[int], against: list[int]) -> tuple[float, float] | None:
    """Both counterfactual rates, over the records that have a figure towards either side; None where a side has none."""
    first, second = figures_towards(sample, of, against), figures_towards(sample, against, of)
    both = sorted(first.keys() & second.keys())
    if not {int(sample.codes[place]) for place in both} & set(of) or not {int(sample.codes[place]) for place in both} & set(against):
        return None
    return float(np.mean([first[place] for place in both])), float(np.mean([second[place] for place in both]))


@settings(max_examples=many(200))
@given(records())
@pytest.mark.thorough
def test_counterfactual_rates_are_the_means_over_every_record_once_on_each_side(sample: Records) -> None:
    cells = sample.counterfactual_cells()
    if not cells.copies_classified.any():
        return
    monitored, reference = ([place for place, (_, role) in enumerate(sample.groups) if role == side] for side in ("monitored", "reference"))
    results = measure_counterfactual(cells)
    whose = [("group", sample.groups[place][0], [place]) for place in monitored] + ([("pooled", None, monitored)] if sample.groups else [])

    for scope, label, places in whose:
        expected = by_definition(sample, places, reference)
        impact, difference = (found(results, metric, scope, label) for metric in ("disparate_impact", "statistical_parity_difference"))
        if expected is None or expected[1] == 0:
            assert isinstance(impact.number, Undefined)
        else:
            assert isinstance(impact.number, Value)
            assert impact.number.value == pytest.approx(expected[0] / expected[1], abs=EXACT)
        if expected is not None:
            assert isinstance(difference.number, Value)
            assert difference.number.value == pytest.approx(expected[0] - expected[1], abs=EXACT)
            told_is_true(impact, expected)


def told_is_true(impact: Measured, rates: tuple[float, float]) -> None:
    """Both shares of the sentence are those of the definition, each as the group that it names."""
    if not isinstance(impact.number, Value):
        return
    told = write_sentence("disparate_impact", value=impact.number.value, lower=0.0, upper=None, details=impact.details)
    monitored, reference = (re.escape(str(impact.details.name_of(side))) for side in ("monitored", "reference"))
    read = re.match(
        rf"Of every 100 records of {monitored} and {reference},"
        rf" {HUNDRED} were predicted favourable as {monitored}, {HUNDRED} as {reference}: ",
        told,
    )
    assert read is not None, told
    for share, text in zip(rates, read.groups(), strict=True):
        shown = {"fewer than 0.1": 0.0005, "more than 99.9": 0.9995}.get(text) or float(text) / 100
        assert shown == pytest.approx(share, abs=0.0051)


@settings(max_examples=many(100))
@given(records(), st.integers(1, 5))
@pytest.mark.thorough
def test_a_model_that_does_not_look_at_the_attribute_gets_exactly_one(sample: Records, draws: int) -> None:
    monitored = np.array([role == "monitored" for _, role in sample.groups], dtype=bool)
    own = np.where(sample.codes >= 0, sample.codes, 0)
    crossing = (monitored[own][:, None] != monitored[None]) if sample.groups else np.zeros((sample.codes.size, 0), bool)
    classified = crossing.astype(np.int64) * draws
    cells = CounterfactualCells.from_records(
        sample.groups,
        sample.codes,
        outcome=sample.outcomes,
        copies_favourable=classified * (sample.outcomes == 1)[:, None],
        copies_classified=classified,
    )

    for result in measure_counterfactual(cells):
        if isinstance(result.number, Value) and cells.copies_classified.any():
            exact = {"disparate_impact": 1.0, "statistical_parity_difference": 0.0, "flip_rate": 0.0}.get(result.metric)
            assert exact is None or result.number.value == exact, result


def test_weights_of_the_reference_values_are_those_of_the_window() -> None:
    """Of 4 reference records 3 have r0: a copy into r0 weighs three quarters."""
    groups = (("m", "monitored"), ("r0", "reference"), ("r1", "reference"))
    codes, outcomes = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 1, 1, 0, 1])
    favourable = np.array([[0, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]])
    classified = np.array([[0, 1, 1], [0, 1, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]])

    results = measure_counterfactual(
        CounterfactualCells.from_records(groups, codes, outcome=outcomes, copies_favourable=favourable, copies_classified=classified)  # type: ignore[arg-type]
    )

    as_monitored, as_reference = (0 + 1 + 1 + 0 + 0 + 1) / 6, (0.75 + 1 + 1 + 1 + 0 + 1) / 6
    assert value(results, "disparate_impact", "group", "m").value == pytest.approx(as_monitored / as_reference)


@pytest.mark.parametrize(("cells", "limits"), [((1, 1, 7), (0.0677, 0.9227)), ((59, 6, 16), (0.7579, 0.9910))])
def test_the_interval_of_a_ratio_of_pairs_is_bonett_and_prices(cells: tuple[int, int, int], limits: tuple[float, float]) -> None:
    """The two examples of Fagerland, Lydersen and Laake 2014, by the formula of their R package contingencytables, chapter 8."""
    interval = build_paired_ratio_interval(*cells)

    assert (interval.lower, interval.upper) == pytest.approx(limits, abs=5e-5)


def test_the_interval_of_a_difference_of_pairs_is_newcombes() -> None:
    """Newcombe 1998, Statistics in Medicine 17:2635, table II, method 10: 36, 12, 2 and 0 of 50."""
    interval = build_paired_difference_interval(36, 12, 2, 0)

    assert interval.lower == pytest.approx(0.0569, abs=5e-5)
    assert interval.upper == pytest.approx(0.3404, abs=5e-5)
