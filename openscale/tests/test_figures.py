"""Figures in IBM's form, against 168 published outputs of OpenScale (A4 of the golden values)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from evenhand_openscale.figures import (
    GroupSide,
    acceptable_percent,
    count_issues,
    fairness_values,
    index_figures,
    percent_of,
)
from evenhand_openscale.summaries import fairness_sources

from app.details import Details
from app.domain.checks import CheckRun, CheckState, DataSet, Measurement, Scope, Span, Trigger
from app.domain.comparisons import Comparison
from app.domain.monitors import Limits, Monitor, MonitoredAttribute
from app.domain.outcomes import OutcomeRule
from app.metrics.groups import ComparedGroup
from app.metrics.payload import measure_payload
from app.metrics.tables import GroupCounts
from app.metrics.values import Value
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
        groups=tuple(ComparedGroup(group, group) for group in counts),  # type: ignore[arg-type]
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
    (empty,) = fairness_values(index_figures([figure(None, 0, "no record")]), None)

    assert empty["metrics"][0]["value"] == 0.0
    assert fairness_values(index_figures([figure(None, 5, "the reference rate is zero")]), None) == []


def checked(**changes: Any) -> CheckRun:  # noqa: ANN401 - members of the check
    """A check that has succeeded."""
    return CheckRun(
        no=1,
        id="one",
        deployment_no=1,
        deployment_id="credit",
        trigger=Trigger.REQUEST,
        state=CheckState.SUCCEEDED,
        span=Span(start=NOW - timedelta(hours=1), end=NOW),
        attempts=1,
        lease_token=None,
        progress=None,
        reason=None,
        created_at=NOW,
        started_at=NOW,
        finished_at=NOW,
        next_attempt_at=None,
        **changes,
    )


def watched(**changes: Any) -> Monitor:  # noqa: ANN401 - members of the attribute
    """A monitor of women."""
    attribute = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",), **changes)
    return Monitor(outcomes=OutcomeRule((1,), (0,)), attributes=(attribute,))


def test_a_value_outside_a_limit_that_was_set_is_an_issue() -> None:
    one_sided = [fairness_values(index_figures([figure(ratio, 9)]), watched()) for ratio in (0.7, 0.8, 1.25, 1.3)]
    mirrored = [fairness_values(index_figures([figure(ratio, 9)]), watched(upper_threshold=1.25)) for ratio in (0.7, 0.8, 1.25, 1.3)]
    two_sided = [
        fairness_values(index_figures([figure(ratio, 9)]), watched(upper_threshold=1.25), ["sex"]) for ratio in (0.7, 0.8, 1.25, 1.3)
    ]

    # OpenScale finds no fault with a fairness above 100 %, unless it was given an upper limit.
    assert list(map(count_issues, one_sided)) == list(map(count_issues, mirrored)) == [1, 0, 0, 0]
    assert list(map(count_issues, two_sided)) == [1, 0, 0, 1]
    assert one_sided[0][0]["metrics"] == [{"id": "fairness_value", "value": 70.0, "lower_limit": 80.0}]


def test_the_published_hours_have_an_issue_where_openscale_found_bias() -> None:
    compared = 0
    for sample in samples():
        found = ratio(sample["distribution"]) if sample["distribution_complete"] else None
        if found is None:
            continue
        own = replace(figure(found, 9), lower_limit=sample["threshold"], upper_limit=1 / sample["threshold"])
        (value,) = fairness_values(index_figures([own]), watched(threshold=sample["threshold"]))
        # At the threshold itself the printed percent is rounded, and the verdict is not.
        if abs(found - sample["threshold"]) > 0.0005:
            assert (count_issues([value]) == 1) == sample["is_biased"], sample
            compared += 1
    assert compared > 50


@pytest.mark.parametrize(("limits", "issues"), [((), 0), ((("statistical_parity_difference", Limits(lower=-0.15)),), 1)])
def test_a_difference_has_only_limits_that_were_set(limits: Any, issues: int) -> None:  # noqa: ANN401 - of the attribute
    ratio_of_one = figure(1.0, 9)
    difference = replace(figure(-0.2, 9), metric="statistical_parity_difference", lower_limit=-0.15, upper_limit=None)
    found = fairness_values(index_figures([ratio_of_one, difference]), watched(metric_limits=limits))

    assert count_issues(found) == issues


def test_a_check_of_an_earlier_monitor_keeps_the_limits_and_names_that_it_was_measured_with() -> None:
    reference = replace(
        figure(0.9, 9),
        metric="favourable_rate",
        scope=Scope.REFERENCE,
        group=None,
        details=Details(subject="male", counts={"n": 9, "favourable": 8}),
    )
    own = replace(reference, scope=Scope.GROUP, group="female", details=Details(subject="female", counts={"n": 9, "favourable": 4}))
    figures = index_figures([replace(figure(0.5, 9), upper_limit=1.6), own, reference])
    check = checked(monitor_version=1, window={"favourable": ["yes"], "unfavourable": ["no"]})
    changed = replace(watched(upper_threshold=1.1), version=2, outcomes=OutcomeRule((0,), (1,)))

    (value,) = fairness_values(figures, changed)
    assert (value["metrics"][0]["lower_limit"], value["metrics"][0]["upper_limit"]) == (80.0, 160.0)
    distribution, summary = [one["data"] for one in fairness_sources(check, changed, figures)]
    assert (summary["favourable_class"], summary["unfavourable_class"]) == (["yes"], ["no"])
    assert [row[1:4] for row in distribution["values"]] == [
        ["female", "yes", 4],
        ["female", "no", 5],
        ["male", "yes", 8],
        ["male", "no", 1],
    ]

    distribution, summary = [one["data"] for one in fairness_sources(replace(check, monitor_version=2), changed, figures)]
    assert (summary["favourable_class"], distribution["values"][0][2]) == ([0], 0)
