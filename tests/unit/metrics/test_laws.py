"""What holds for every metric and any records."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings

from app.metrics import (
    CATALOGUE,
    BalancedCells,
    FeedbackCells,
    GroupCounts,
    Measured,
    Undefined,
    Value,
    measure_balanced,
    measure_feedback,
    measure_payload,
    metrics_on,
)
from app.metrics.catalogue import Data
from app.metrics.groups import Role
from tests.unit.metrics.found import value
from tests.unit.metrics.strategies import Records, records

SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]
SWAPPED: list[tuple[str, Role]] = [("Female", "reference"), ("Male", "monitored")]
DRAWS = 50


def everything(sample: Records) -> dict[Data, list[Measured]]:
    return {
        "payload": measure_payload(sample.group_counts(), lower_limit=0.8, upper_limit=1.25),
        "balanced": measure_balanced(sample.balanced_cells(), seed=1, lower_limit=0.8, draws=DRAWS),
        "feedback": measure_feedback(sample.feedback_cells()),
    }


@settings(max_examples=200)
@given(records())
def test_every_metric_is_a_number_in_its_range_or_a_reason(sample: Records) -> None:
    for results in everything(sample).values():
        json.dumps([asdict(result) for result in results], allow_nan=False)
        for result in results:
            if isinstance(result.number, Undefined):
                assert result.number.reason
                continue
            row, number = CATALOGUE[result.metric], result.number
            assert row.lowest <= number.lower <= number.value
            assert number.upper is None or number.value <= number.upper <= (np.inf if row.highest is None else row.highest)
            assert number.upper is not None or row.highest is None
            assert number.n >= result.smallest_group > 0


@given(records())
def test_every_metric_is_given_once_for_each_of_its_scopes(sample: Records) -> None:
    for data, results in everything(sample).items():
        keys = [(result.metric, result.scope, result.group) for result in results]

        assert len(set(keys)) == len(keys)
        monitored = [label for label, role in sample.groups if role == "monitored"]
        for row in metrics_on(data):
            scopes = {scope for metric, scope, _ in keys if metric == row.key}
            assert scopes <= set(row.scopes)
            if monitored:
                assert scopes == set(row.scopes)


@given(records())
def test_weighting_all_records_alike_changes_no_value(sample: Records) -> None:
    tripled = sample.rows(np.tile(np.arange(sample.codes.size), 3))

    for once, thrice in zip(everything(sample).values(), everything(tripled).values(), strict=True):
        for one, three in zip(once, thrice, strict=True):
            if one.scope == "worst":
                continue  # three times as many records may lift a value over the size from which it can be the headline
            assert (one.metric, one.scope, one.group) == (three.metric, three.scope, three.group)
            assert isinstance(one.number, Value) == isinstance(three.number, Value)
            if isinstance(one.number, Value) and isinstance(three.number, Value):
                assert three.number.value == pytest.approx(one.number.value, abs=1e-12)
                assert three.number.n == 3 * one.number.n


@given(records())
def test_equal_groups_give_the_ideal_value(sample: Records) -> None:
    """Every record stands once in each group, with copies that come out as it did."""
    outcomes = np.concatenate([sample.outcomes, [0, 1]])
    both, codes = np.tile(outcomes, 2), np.repeat([0, 1], outcomes.size)
    classified = np.eye(2, dtype=np.int64)[1 - codes] * (both < 2)[:, None]
    cells = BalancedCells.from_records(SEXES, codes, both, copies_favourable=classified * (both % 2)[:, None], copies_classified=classified)

    results = [*measure_payload(GroupCounts.from_records(SEXES, codes, both)), *measure_balanced(cells, seed=1, draws=DRAWS)]

    for result in results:
        ideal = CATALOGUE[result.metric].ideal
        if ideal is not None:
            assert isinstance(result.number, Value)
            assert result.number.value == pytest.approx(ideal, abs=1e-12)


def test_labels_all_right_give_the_ideal_accuracy() -> None:
    table = FeedbackCells.from_records(SEXES, [0, 1, -1], actual=[0, 1, 2], predicted=[0, 1, 2], correct=[1, 1, 1])

    assert {result.number.value for result in measure_feedback(table) if isinstance(result.number, Value)} == {CATALOGUE["accuracy"].ideal}


def test_swapping_the_groups_mirrors_comparisons_with_their_intervals() -> None:
    codes, outcomes = np.repeat([0, 1], [80, 120]), np.r_[np.repeat([0, 1], [50, 30]), np.repeat([0, 1], [40, 80])]
    results = measure_payload(GroupCounts.from_records(SEXES, codes, outcomes))

    mirrored = measure_payload(GroupCounts.from_records(SWAPPED, codes, outcomes))

    ratio, other_ratio = value(results, "disparate_impact", "pooled"), value(mirrored, "disparate_impact", "pooled")
    assert ratio.upper is not None
    assert other_ratio.upper is not None
    assert (other_ratio.value, other_ratio.lower, other_ratio.upper) == pytest.approx((1 / ratio.value, 1 / ratio.upper, 1 / ratio.lower))
    difference, other = (value(each, "statistical_parity_difference", "pooled") for each in (results, mirrored))
    assert difference.upper is not None
    assert (other.value, other.lower, other.upper) == pytest.approx((-difference.value, -difference.upper, -difference.lower))


def test_swapping_the_groups_mirrors_balanced_fairness_and_keeps_the_flips() -> None:
    codes, outcomes = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 1, 0])
    classified = np.eye(2, dtype=np.int64)[1 - codes]
    favourable = classified * np.array([1, 1, 1, 0, 1, 0])[:, None]

    one, other = (
        measure_balanced(
            BalancedCells.from_records(groups, codes, outcomes, copies_favourable=favourable, copies_classified=classified), seed=1
        )
        for groups in (SEXES, SWAPPED)
    )

    assert value(other, "disparate_impact", "pooled").value == pytest.approx(1 / value(one, "disparate_impact", "pooled").value)
    assert value(other, "flip_rate", "attribute") == value(one, "flip_rate", "attribute")
