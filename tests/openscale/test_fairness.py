"""Parameters and thresholds of the SDK as a monitor of REST v1, and back."""

from typing import Any

import pytest
from evenhand_openscale.fairness import FairnessIn, StatedFairness, ThresholdIn, monitor_json, parameters_of, thresholds_of
from evenhand_openscale.refused import Refused
from hypothesis import given
from hypothesis import strategies as st

from app.deployments.monitor.bodies import MonitorIn, MonitorOut
from app.domain.monitor import Monitor

SEX = {"feature": "Sex", "majority": ["male"], "minority": ["female"], "threshold": 0.95}
AGE = {"feature": "Age", "majority": [[26, 75]], "minority": [[18, 25]]}


def sent(*features: dict[str, Any]) -> FairnessIn:
    return FairnessIn(features=list(features), favourable_class=["No Risk"], unfavourable_class=["Risk"], min_records=100)  # type: ignore[arg-type]


def limit(value: float | None, kind: str = "lower_limit", metric: str = "fairness_value", **own: float) -> ThresholdIn:
    specific = [{"value": one, "applies_to": [{"type": "tag", "key": "feature", "value": name}]} for name, one in own.items()]
    return ThresholdIn.model_validate({"metric_id": metric, "type": kind, "value": value, "specific_values": specific})


def attributes(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {attribute["feature"]: attribute for attribute in document["attributes"]}


def test_a_limit_of_a_feature_precedes_its_threshold_which_precedes_the_general_limit() -> None:
    found = attributes(monitor_json(sent(SEX, AGE), [limit(80)], is_scheduled=True))
    assert (found["Sex"]["threshold"], found["Age"]["threshold"]) == (0.95, 0.8)

    found = attributes(monitor_json(sent(SEX, AGE), [limit(80, Sex=90)], is_scheduled=True))
    assert (found["Sex"]["threshold"], found["Age"]["threshold"]) == (0.9, 0.8)


def as_json(monitor: Monitor) -> dict[str, Any]:
    """The monitor as REST v1 answers it."""
    return MonitorOut.of(monitor).model_dump(mode="json")


def read_back(document: dict[str, Any]) -> StatedFairness:
    """The instance as a script reads it before it patches it."""
    monitor = as_json(MonitorIn.model_validate(document).to_domain())
    limits = [ThresholdIn.model_validate(threshold) for threshold in thresholds_of(monitor, [])]
    return StatedFairness(FairnessIn.model_validate(parameters_of(monitor, {})), limits)


def patched(before: StatedFairness, *, own: dict[str, float] | None = None, limits: list[ThresholdIn] | None = None) -> dict[str, float]:
    """The lowest fair ratio of each feature after a patch of features' thresholds, or of limits."""
    features = [
        feature.model_copy(update={"threshold": (own or {}).get(feature.feature, feature.threshold)})
        for feature in before.parameters.features
    ]
    after = StatedFairness(before.parameters.model_copy(update={"features": features}), before.thresholds if limits is None else limits)
    stated = after.since(before)
    found = attributes(monitor_json(stated.parameters, stated.thresholds, is_scheduled=True))
    return {name: one["threshold"] for name, one in found.items()}


def test_a_patch_of_one_of_the_two_places_of_a_lowest_ratio_is_not_outweighed_by_the_other() -> None:
    before = read_back(monitor_json(sent(SEX, {**AGE, "threshold": 0.8}), [], is_scheduled=True))

    assert patched(before) == {"Sex": 0.95, "Age": 0.8}
    assert patched(before, own={"Sex": 0.7}) == {"Sex": 0.7, "Age": 0.8}
    assert patched(before, own={"Age": 0.7}) == {"Sex": 0.95, "Age": 0.7}
    assert patched(before, limits=[limit(90)]) == {"Sex": 0.9, "Age": 0.9}
    assert patched(before, limits=[limit(90, Age=60)]) == {"Sex": 0.9, "Age": 0.6}
    # A limit of one feature, or of another metric, says nothing of the others.
    assert patched(before, limits=[limit(None, Age=60)]) == {"Sex": 0.95, "Age": 0.6}
    assert patched(before, limits=[limit(-0.1, metric="statistical_parity_difference")]) == {"Sex": 0.95, "Age": 0.8}
    assert patched(before, own={"Sex": 0.7}, limits=[limit(90)]) == {"Sex": 0.7, "Age": 0.9}


def test_limits_of_other_metrics_are_fractions_and_those_of_the_fairness_value_percent() -> None:
    given_limits = [limit(125, "upper_limit"), limit(-0.15, metric="statistical_parity_difference")]
    found = attributes(monitor_json(sent(AGE), given_limits, is_scheduled=False))

    assert found["Age"]["upper_threshold"] == 1.25
    assert found["Age"]["metric_limits"] == {"statistical_parity_difference": {"lower": -0.15, "upper": None}}


def test_without_any_limit_the_defaults_of_rest_v1_hold() -> None:
    found = attributes(monitor_json(sent(AGE), [], is_scheduled=True))

    assert "threshold" not in found["Age"]
    assert "upper_threshold" not in found["Age"]


def test_a_limit_of_an_unknown_metric_names_it() -> None:
    with pytest.raises(Refused, match=r"thresholds\[0\].metric_id: 'beauty' is no metric"):
        monitor_json(sent(SEX), [limit(1, metric="beauty")], is_scheduled=True)


@given(threshold=st.integers(1, 100).map(lambda percent: percent / 100), upper=st.none() | st.integers(100, 300).map(lambda p: p / 100))
def test_a_monitor_that_is_read_and_sent_back_is_the_same(threshold: float, upper: float | None) -> None:
    document = monitor_json(sent({**SEX, "threshold": threshold}, AGE), [], is_scheduled=True)
    for attribute in document["attributes"]:
        attribute["upper_threshold"] = upper
    monitor = MonitorIn.model_validate(document).to_domain()

    again = FairnessIn.model_validate(parameters_of(as_json(monitor), {}))
    limits = [ThresholdIn.model_validate(one) for one in thresholds_of(as_json(monitor), ["Sex", "Age"])]
    document = monitor_json(again, limits, is_scheduled=True)
    if upper is None:
        # Nothing is said of an upper limit that is not watched, and the default would watch it.
        for attribute in document["attributes"]:
            attribute["upper_threshold"] = None
    assert MonitorIn.model_validate(document).to_domain() == monitor
