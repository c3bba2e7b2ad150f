"""What holds for every metric and any records."""

import json
from dataclasses import fields, replace
from random import Random
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.statistics.catalogue import CATALOGUE, Data, Direction, Metric, list_metrics_on
from app.statistics.catalogue.metric import CountFigure
from app.statistics.group_labels import Groups, Role, build_groups, find_positions
from app.statistics.intervals.verdicts import Measured, Undefined, Value
from app.statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from app.statistics.measures.perturbed_data import measure_counterfactual, measure_mitigated
from app.statistics.sentences.figure_sentences import write_sentence
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.every_figure import DRAWS, everything
from tests.builders.random_records import Records, records
from tests.builders.results import value
from tests.builders.whole_catalogue import rows_of
from tests.examples import many

SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]
SWAPPED: list[tuple[str, Role]] = [("Female", "reference"), ("Male", "monitored")]


Figures: TypeAlias = dict[Data, list[Measured]]

UNWEIGHED: frozenset[Data] = frozenset({"openscale", "mitigated", "mitigated_labelled"})
"""Data of which records have no weights."""


def within(row: Metric, value: float) -> bool:
    return (row.lowest is None or row.lowest <= value) and (row.highest is None or value <= row.highest)


@settings(max_examples=many(150))
@given(records() | records(weighted=True))
@pytest.mark.nightly
def test_every_metric_is_a_number_in_its_range_or_a_reason_has_a_sentence_and_is_given_once_for_each_scope(sample: Records) -> None:
    found = everything(sample)
    check_numbers(found)
    check_sentences(found)
    check_scopes(found, build_groups(sample.groups))


def check_numbers(found: Figures) -> None:
    for results in found.values():
        json.dumps(results, default=members_of, allow_nan=False)
        for result in results:
            if isinstance(result.number, Undefined):
                assert result.number.reason
                continue
            row, number = CATALOGUE[result.metric], result.number
            assert within(row, number.value)
            assert number.lower is None or (within(row, number.lower) and number.lower <= number.value)
            assert number.upper is None or (within(row, number.upper) and number.value <= number.upper)
            assert number.lower is not None or row.lowest is None
            assert number.upper is not None or row.highest is None
            assert isinstance(row.measure, CountFigure) or number.n >= result.smallest_group > 0


def members_of(value: Any) -> dict[str, object]:  # noqa: ANN401 - json asks for what it does not know
    """Returns the fields of a dataclass as they are: `asdict` copies them, which takes as long as to measure them."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def check_sentences(found: Figures) -> None:
    for results in found.values():
        for result in results:
            number = result.number
            told = (
                write_sentence(result.metric, value=None, reason=number.reason, details=result.details)
                if isinstance(number, Undefined)
                else write_sentence(result.metric, value=number.value, lower=number.lower, upper=number.upper, details=result.details)
            )
            assert told.endswith(".")
            assert not {"{", "}", "nan", "inf"} & set(told.split())


def check_scopes(found: Figures, groups: Groups) -> None:
    for data, results in found.items():
        keys = [(result.metric, result.scope, result.group) for result in results]

        assert len(set(keys)) == len(keys)
        for row in list_metrics_on(data):
            mine = {key for key in keys if key[0] == row.key and key[1] != "worst_pair"}
            assert {scope for _, scope, _ in mine} <= set(row.list_scopes_on(data))
            if find_positions(groups, "monitored") and "rows" not in row.needs:
                assert mine == rows_of(row, data, groups), row.key


@given(records())
@pytest.mark.nightly
def test_neither_order_nor_number_nor_an_equal_weight_of_the_same_records_changes_a_value(sample: Records) -> None:
    found = everything(sample)
    check_order(found, everything(sample.rows(np.arange(sample.codes.size)[::-1])))
    check_more_of_the_same(found, everything(sample.rows(np.tile(np.arange(sample.codes.size), 3))))
    # A power of two: a shape that differs by rounding gives other random draws.
    check_weights(found, everything(replace(sample, weights=np.full(sample.codes.size, 4.0))))


def check_order(found: Figures, backwards: Figures) -> None:
    same = Same(relative=1e-9)
    for one, other in zip(found.values(), backwards.values(), strict=True):
        for result, turned in zip(one, other, strict=True):
            assert (result.metric, result.scope, result.group) == (turned.metric, turned.scope, turned.group)
            same.expect(result, numbers(result), numbers(turned))
    same.check()


class Same:
    """Compares all numbers at once: a `pytest.approx()` for each result takes as long as to measure it.

    As there, the larger tolerance holds, of which one is 1e-9; infinity equals itself only, and what is no number equals nothing.
    """

    def __init__(self, *, relative: float = 0.0) -> None:
        self._relative = relative
        self._results: list[Measured] = []
        self._found: list[float] = []
        self._expected: list[float] = []

    def expect(self, result: Measured, found: list[float], expected: list[float]) -> None:
        """Notes what is to be compared."""
        assert len(found) == len(expected), (result, expected)
        self._results += [result] * len(found)
        self._found += found
        self._expected += expected

    def check(self) -> None:
        """Fails with the results that differ."""
        found, expected = np.array(self._found, np.float64), np.array(self._expected, np.float64)
        with np.errstate(invalid="ignore"):
            is_near = np.abs(found - expected) <= np.maximum(self._relative * np.abs(expected), 1e-9)
        is_same = (found == expected) | (is_near & np.isfinite(expected))
        assert [(self._results[no], found[no], expected[no]) for no in np.flatnonzero(~is_same)] == []


@pytest.mark.parametrize(
    ("found", "expected"), [(1.0, 1.0 + 2e-9), (0.0, np.inf), (np.inf, 0.0), (-np.inf, np.inf), (np.nan, np.nan), (1e12, 1e12 + 2e3)]
)
def test_a_difference_is_seen(found: float, expected: float) -> None:
    result = measure_as_logged(GroupCounts.from_records(SEXES, [0, 1], outcome=[0, 1]))[0]
    same = Same(relative=1e-9)
    same.expect(result, [found], [expected])

    with pytest.raises(AssertionError):
        same.check()
    assert found != pytest.approx(expected, abs=1e-9, rel=1e-9)


def numbers(result: Measured) -> list[float]:
    """The value and its interval, or nothing; an open end as infinity."""
    if isinstance(result.number, Undefined):
        return []
    lower, upper = result.number.lower, result.number.upper
    return [result.number.value, -np.inf if lower is None else lower, np.inf if upper is None else upper]


def check_more_of_the_same(found: Figures, tripled: Figures) -> None:
    same = Same()
    for once, thrice in zip(found.values(), tripled.values(), strict=True):
        # Three times as many records may lift a group over a size that matters, and with it another pair.
        pairs = ([figure for figure in several if figure.scope != "worst_pair"] for several in (once, thrice))
        for figure, three in zip(*pairs, strict=True):
            if "smoothed" in figure.metric or "differential" in figure.metric:
                continue  # three times as many records weigh more than a pseudo-count
            assert (figure.metric, figure.scope, figure.group) == (three.metric, three.scope, three.group)
            assert isinstance(figure.number, Value) == isinstance(three.number, Value)
            if isinstance(figure.number, Value) and isinstance(three.number, Value):
                factor = 3 if figure.metric.endswith("_count") else 1
                same.expect(three, [three.number.value], [factor * figure.number.value])
                assert three.number.n == 3 * figure.number.n
    same.check()


def check_weights(found: Figures, weighed: Figures) -> None:
    """The intervals stay, too."""
    same = Same()
    for data, results in found.items():
        for figure, other in zip(results, weighed[data], strict=True):
            assert (figure.metric, figure.scope, figure.group) == (other.metric, other.scope, other.group)
            if "differential" in figure.metric:
                continue  # its pseudo-count is one record, however much the others weigh
            factor = 4 if figure.metric.endswith("_count") else 1
            same.expect(other, numbers(other), [factor * number for number in numbers(figure)])
    same.check()


@given(records(), st.randoms(use_true_random=False))
@pytest.mark.nightly
def test_a_weight_of_two_is_two_records(sample: Records, random: Random) -> None:
    often = np.array([random.randint(0, 3) for _ in sample.codes], dtype=np.int64)
    repeated = sample.rows(np.repeat(np.arange(sample.codes.size), often))
    weighed = replace(sample, weights=often.astype(np.float64))

    all_of_weights = everything(weighed)
    same = Same()
    for data, results in everything(repeated).items():
        of_weights = {(result.metric, result.scope, result.group): result for result in all_of_weights[data]}
        for result in results:
            if data in UNWEIGHED or result.scope == "worst_pair":
                continue  # one heavy record is still a small group
            other = of_weights[result.metric, result.scope, result.group]
            same.expect(result, numbers(other)[:1], numbers(result)[:1])
    same.check()


@given(records())
@pytest.mark.nightly
def test_equal_groups_give_the_ideal_value(sample: Records) -> None:
    """Every record stands once in each group, with copies that come out as it did.

    Every stratum has both outcomes: Clarify takes the share of nothing for zero, also where both groups have nothing.
    """
    chosen = np.flatnonzero((sample.outcomes < 2) & (sample.actual < 2) & np.isin(sample.strata, (0, 1)) & (sample.scores >= 0))
    once = sample.rows(chosen)
    cells = np.indices((2, 2, 2)).reshape(3, -1)
    size = once.codes.size + cells.shape[1]
    both = {
        "outcomes": np.tile(np.concatenate([once.outcomes, cells[0]]), 2),
        "after": np.tile(np.concatenate([np.minimum(once.after, 1), cells[2]]), 2),
        "actual": np.tile(np.concatenate([once.actual, cells[1]]), 2),
        "strata": np.tile(np.concatenate([once.strata, cells[2]]), 2),
        "scores": np.tile(np.concatenate([once.scores, np.linspace(0.1, 0.9, cells.shape[1])]), 2),
    }
    codes = np.repeat([0, 1], size)
    classified = np.eye(2, dtype=np.int64)[1 - codes]
    alike = Records(
        groups=tuple(SEXES),
        codes=codes,
        correct=(both["outcomes"] == both["actual"]).astype(np.int64),
        favourable=classified * both["outcomes"][:, None],
        classified=classified,
        correct_after=(both["after"] == both["actual"]).astype(np.int64),
        favourable_after=classified * both["after"][:, None],
        **both,
    )

    for results in everything(alike).values():
        for result in results:
            row = CATALOGUE[result.metric]
            if "worst" in row.scopes or row.key.startswith(("between_", "flip_", "smoothed_", "differential_")):
                if row.key.startswith("adverse_impact_ratio_above_") and isinstance(result.number, Undefined):
                    assert "has a score above" in result.number.reason  # the highest score is the quantile, so nobody is above it
                    continue
                assert isinstance(result.number, Value), result
                assert result.number.value == pytest.approx(row.ideal, abs=1e-9), result
                assert result.number.lower is None or result.number.lower <= row.ideal + 1e-9
                assert result.number.upper is None or result.number.upper >= row.ideal - 1e-9


def test_labels_all_right_are_ideal_in_every_measure_of_quality() -> None:
    table = LabelledCells.from_records(
        SEXES, [0, 0, 1, 1, -1], actual=[0, 1, 0, 1, 2], predicted=[0, 1, 0, 1, 2], correct=[1] * 5, scores=[0, 1, 0, 1, 0.5]
    )

    for result in measure_labelled(table):
        row = CATALOGUE[result.metric]
        if row.direction in {Direction.HIGHER, Direction.LOWER} and isinstance(result.number, Value) and "differential" not in row.key:
            assert result.number.value == pytest.approx(row.ideal, abs=1e-9), result


@given(records(), st.integers(0, 2**32 - 1))
@pytest.mark.nightly
def test_swapping_the_groups_mirrors_every_comparison(sample: Records, seed: int) -> None:
    """What has an order changes its sign, or becomes its inverse; a distance stays.

    Not the divergence, which has a direction, nor the conditional disparities, whose share of nothing is zero for both.
    """
    codes = np.random.default_rng(seed).integers(0, 2, sample.codes.size)
    without = dict.fromkeys(("favourable", "classified", "favourable_after"), np.zeros((codes.size, 2), np.int64))
    turned = [replace(sample, groups=tuple(groups), codes=codes, **without) for groups in (SEXES, SWAPPED)]
    for figure, other in zip(*(comparisons(each) for each in turned), strict=True):
        row = CATALOGUE[figure.metric]
        if not isinstance(figure.number, Value) or not isinstance(other.number, Value) or row.key.startswith(("kl_", "conditional_")):
            continue
        if row.order == "monitored / reference":
            if figure.number.value > 0:
                assert other.number.value == pytest.approx(1 / figure.number.value)
        elif row.order != "none":
            assert other.number.value == pytest.approx(-figure.number.value, abs=1e-9), row.key
        else:
            assert other.number.value == pytest.approx(figure.number.value, abs=1e-9), row.key


def comparisons(sample: Records) -> list[Measured]:
    """The comparison of every metric that compares two groups, of which there are two."""
    results = [
        *measure_as_logged(sample.group_counts(), draws=DRAWS),
        *measure_labelled(sample.feedback_cells(), draws=DRAWS),
        *measure_training(sample.label_counts(), draws=DRAWS),
        *measure_mitigated(sample.mitigated_cells(), seed=1, draws=DRAWS),
    ]
    return [result for result in results if result.scope == "group" and "worst" in CATALOGUE[result.metric].scopes]


def test_swapping_the_groups_mirrors_the_intervals_in_closed_form() -> None:
    codes, outcomes = np.repeat([0, 1], [80, 120]), np.r_[np.repeat([0, 1], [50, 30]), np.repeat([0, 1], [40, 80])]
    results = measure_as_logged(GroupCounts.from_records(SEXES, codes, outcome=outcomes))

    mirrored = measure_as_logged(GroupCounts.from_records(SWAPPED, codes, outcome=outcomes))

    ratio, other_ratio = value(results, "disparate_impact", "pooled"), value(mirrored, "disparate_impact", "pooled")
    assert ratio.upper is not None
    assert ratio.lower is not None
    assert other_ratio.upper is not None
    assert (other_ratio.value, other_ratio.lower, other_ratio.upper) == pytest.approx((1 / ratio.value, 1 / ratio.upper, 1 / ratio.lower))
    difference, other = (value(each, "statistical_parity_difference", "pooled") for each in (results, mirrored))
    assert difference.upper is not None
    assert difference.lower is not None
    assert (other.value, other.lower, other.upper) == pytest.approx((-difference.value, -difference.upper, -difference.lower))


def test_swapping_the_groups_mirrors_counterfactual_fairness_and_keeps_the_flips() -> None:
    codes, outcomes = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 1, 0])
    classified = np.eye(2, dtype=np.int64)[1 - codes]
    favourable = classified * np.array([1, 1, 1, 0, 1, 0])[:, None]

    one, other = (
        measure_counterfactual(
            CounterfactualCells.from_records(groups, codes, outcome=outcomes, copies_favourable=favourable, copies_classified=classified)
        )
        for groups in (SEXES, SWAPPED)
    )

    assert value(other, "disparate_impact", "pooled").value == pytest.approx(1 / value(one, "disparate_impact", "pooled").value)
    assert value(other, "flip_rate", "attribute") == value(one, "flip_rate", "attribute")
