"""Records of a sample count for as many as they represent."""

from typing import Any

import pytest

from tests.builders.applicants import applicants, monitor_of
from tests.scenes import HOUR, NOON, Result, Scene


def sampled(rows: list[dict[str, Any]], rate: float, *, when: object = None) -> list[dict[str, Any]]:
    """The rows with that rate; only those with this prediction, where one is given."""
    return [{**row, "sample_rate": rate} if when in (None, row["prediction"]) else row for row in rows]


def figures(result: Result) -> dict[tuple[object, ...], tuple[float | None, float | None, float | None]]:
    return {(m.metric, m.data, m.scope, m.comparison, m.group): (m.value, m.lower, m.upper) for m in result.measurements}


def test_one_rate_for_all_changes_no_figure_and_says_how_many_records_are_represented(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.log(sampled(applicants(20, 20, 5, prefix="sampled"), 0.25), NOON + HOUR)

    plain, weighed = stage.check(NOON), stage.check(NOON + HOUR)

    found = figures(weighed)
    for key, values in figures(plain).items():
        for value, other in zip(values, found[key], strict=True):
            assert other == (None if value is None else pytest.approx(value, rel=1e-9)), key
    assert plain.run.window is not None
    assert "sampling" not in plain.run.window
    assert weighed.run.window is not None
    assert weighed.run.window["sampling"] == {
        "records": 40,
        "represented": 160,
        "effective": 40,
        "lowest_rate": 0.25,
        "highest_rate": 0.25,
        "is_unequal": False,
    }


def test_records_with_different_rates_are_weighted_also_with_their_copies(stage: Scene) -> None:
    # Of the refused a tenth is logged: 5 rich women represent 5, 15 others 150.
    stage.log(sampled(applicants(20, 20, 5), 0.1, when=0), NOON)

    result = stage.check(NOON)

    rate = result.get("favourable_rate", "as_logged", "sex", "female")
    assert rate.value == pytest.approx(5 / 155)
    assert rate.n == 20
    assert result.get("disparate_impact", "as_logged", "sex", "female").value == pytest.approx(5 / 155)
    # As men all women are approved, as women all men are refused, for all are poor but the rich women.
    assert result.get("disparate_impact", "counterfactual", "sex", "female").value == pytest.approx(5 / 175)
    assert result.run.window is not None
    assert result.run.window["sampling"]["represented"] == 175
    fairness = [m for m in result.measurements if m.data == "openscale"]
    assert fairness
    assert all(m.value is None and "sampled at different rates" in (m.reason or "") for m in fairness)


def test_topped_up_windows_mix_rates_and_the_minimum_counts_records(stage: Scene) -> None:
    stage.watch(monitor_of(min_records=40))
    stage.log(sampled(applicants(10, 20, 10, prefix="old"), 0.5), NOON - HOUR)
    stage.log(applicants(5, 5, prefix="now"), NOON)

    result = stage.check(NOON)

    assert result.run.state == "succeeded"
    assert result.get("favourable_rate", "as_logged", "sex", "female").value == pytest.approx(20 / 45)
    assert result.run.window is not None
    assert result.run.window["sampling"]["represented"] == 70
