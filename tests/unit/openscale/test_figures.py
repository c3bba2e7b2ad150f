"""Figures in IBM's form, against 168 published outputs of OpenScale (A4 of the golden values)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.details import Details
from app.domain.checks import DataSet, Measurement, Scope
from app.domain.comparisons import Comparison
from app.metrics.groups import Group
from app.metrics.payload import measure_payload
from app.metrics.tables import GroupCounts
from app.metrics.values import Value
from app.openscale.figures import (
    GroupSide,
    acceptable_percent,
    count_issues,
    fairness_values,
    index_figures,
    percent_of,
)
from tests.golden import golden

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def samples() -> list[dict[str, Any]]:
    hours = json.loads(golden("A4_openscale_samples.json").read_text())["fairness"]
    return [feature for hour in hours for feature in hour]


def ratio(rows: list[dict[str, Any]]) -> float | None:
    """The engine's own disparate impact of a published distribution."""
    counts = {group: [0, 0] for group in ("monitored", "reference")}
    for row in rows:
        counts[row["group"]][int(row["favourable"])] += row["count"]
    table = GroupCounts(
        groups=tuple(Group(group, group) for group in counts),  # type: ignore[arg-type]
        counts=list(counts.values()),  # type: ignore[arg-type]
        unclassified=[0, 0],  # type: ignore[arg-type]
        other=0,
    )
    measured = measure_payload(table, metrics=["disparate_impact"])
    number = next(one.number for one in measured if one.scope == "group")
    return number.value if isinstance(number, Value) else None


def test_the_engines_ratio_in_ibms_form_is_the_published_fairness_value() -> None:
    compared = 0
    for sample in samples():
        if sample["distribution_complete"]:
            found = ratio(sample["distribution"])
            assert found is not None
            assert percent_of(found) == sample["fairness_value"]
            compared += 1
    assert compared > 50


def test_the_engines_ratio_of_logged_records_is_the_published_one_before_any_rounding() -> None:
    for sample in samples():
        found = ratio(sample["payload_distribution"])
        if found is not None and "payload_fairness_value" in sample:
            assert found * 100 == pytest.approx(sample["payload_fairness_value"], abs=1e-9)


def test_the_acceptable_percent_and_the_verdict_are_the_published_ones() -> None:
    for sample in samples():
        perfect, threshold = sample["perfect_equality"], sample["threshold"]
        assert acceptable_percent(perfect, threshold) == sample["acceptable_fav_class_percent"]
        assert (sample["monitored_fav_percent"] < perfect * threshold) == sample["is_biased"]


def test_a_percent_of_nobody_is_zero_as_ibm_has_it() -> None:
    assert GroupSide(favourable=0, n=0).percent == 0.0
    assert GroupSide(favourable=3, n=4).percent == 75.0


def figure(value: float | None, n: int, reason: str | None = None) -> Measurement:
    return Measurement(
        metric="disparate_impact",
        data=DataSet.PAYLOAD,
        scope=Scope.GROUP,
        comparison=Comparison(("sex",)),
        group="female",
        at=NOW,
        value=value,
        reason=reason,
        lower=None,
        upper=None,
        interval_method=None,
        n=n,
        verdict=None,
        lower_limit=0.8,
        upper_limit=1.25,
        details=Details(monitored_counts={"n": n}),
    )


def test_an_empty_monitored_group_has_the_fairness_value_zero_and_an_undefined_one_has_none() -> None:
    (empty,) = fairness_values(index_figures([figure(None, 0, "no record")]))

    assert empty["metrics"][0]["value"] == 0.0
    assert fairness_values(index_figures([figure(None, 5, "the reference rate is zero")])) == []


def test_a_value_outside_either_limit_is_an_issue() -> None:
    values = [value for ratio in (0.7, 0.8, 1.25, 1.3) for value in fairness_values(index_figures([figure(ratio, 9)]))]

    assert [count_issues([value]) for value in values] == [1, 0, 0, 1]
