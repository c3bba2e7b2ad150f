"""Figures in IBM's form, against 168 published outputs of OpenScale (A4 of the golden values)."""

import json
from typing import Any

import pytest
from evenhand_openscale.fairness import label_of
from evenhand_openscale.figures import Side, acceptable_percent, count_issues, fairness_values, index_figures, percent_of, quality_values
from evenhand_openscale.quality import require_quality
from evenhand_openscale.refused import Refused

from tests.golden import golden


def samples() -> list[dict[str, Any]]:
    hours = json.loads(golden("A4_openscale_samples.json").read_text())["fairness"]
    return [feature for hour in hours for feature in hour]


def side(rows: list[dict[str, Any]], group: str) -> Side:
    own = [row for row in rows if row["group"] == group]
    return Side(sum(row["count"] for row in own if row["favourable"]), sum(row["count"] for row in own))


def test_a_ratio_in_ibms_form_is_the_published_fairness_value() -> None:
    compared = 0
    for sample in samples():
        if sample["distribution_complete"]:
            monitored, reference = (side(sample["distribution"], group) for group in ("monitored", "reference"))
            ratio = (monitored.favourable / monitored.n) / (reference.favourable / reference.n)
            assert percent_of(ratio) == sample["fairness_value"]
            compared += 1
    assert compared > 50


def test_the_acceptable_percent_and_the_verdict_are_the_published_ones() -> None:
    for sample in samples():
        perfect, threshold = sample["perfect_equality"], sample["threshold"]
        assert acceptable_percent(perfect, threshold) == sample["acceptable_fav_class_percent"]
        assert (sample["monitored_fav_percent"] < perfect * threshold) == sample["is_biased"]


def test_a_percent_of_nobody_is_zero_as_ibm_has_it() -> None:
    assert Side(0, 0).percent == 0.0
    assert Side(3, 4).percent == 75.0


def figure(value: float | None, n: int, **members: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A figure as REST v1 answers it."""
    own = {"metric": "disparate_impact", "data": "as_logged", "attribute": "sex", "group": "female", "value": value}
    return {**own, "lower_limit": 0.8, "upper_limit": 1.25, "details": {"monitored_n": n}, **members}


def test_an_empty_monitored_group_has_the_fairness_value_zero_and_an_undefined_one_has_none() -> None:
    (empty,) = fairness_values(index_figures([figure(None, 0)]), None)

    assert empty["metrics"][0]["value"] == 0.0
    assert fairness_values(index_figures([figure(None, 5)]), None) == []


def test_a_mirror_that_nobody_stated_is_no_limit_and_an_intersection_no_feature() -> None:
    figures = index_figures([figure(0.7, 5), figure(0.5, 5, attribute="sex × age")])
    (value,) = fairness_values(figures, None)
    (stated,) = fairness_values(figures, None, ["sex"])

    assert value["metrics"] == [{"id": "fairness_value", "value": 70.0, "lower_limit": 80.0}]
    assert stated["metrics"][0]["upper_limit"] == 125.0
    assert count_issues([value]) == 1


@pytest.mark.parametrize(
    ("problem_type", "key", "identifier"),
    [("binary", "positive_predictive_value", "precision"), ("multiclass", "accuracy", "accuracy")],
)
def test_quality_has_ibms_names_by_the_kind_of_model(problem_type: str, key: str, identifier: str) -> None:
    measured = figure(0.5, 5, metric=key, data="labelled", attribute=None, group=None)
    (value,) = quality_values(index_figures([measured]), problem_type)

    assert {"id": identifier, "value": 0.5} in value["metrics"]


@pytest.mark.parametrize(
    ("problem_type", "limited", "message"),
    [
        ("regression", [], "Quality of regression models is not supported by Evenhand"),
        ("multiclass", ["accuracy", "weighted_recall"], "thresholds: weighted_recall is not measured by Evenhand for multiclass models"),
        ("binary", ["r2"], "thresholds: r2 is not measured by Evenhand for binary models, which have accuracy, true_positive_rate"),
    ],
)
def test_quality_that_is_not_measured_is_refused_by_name(problem_type: str, limited: list[str], message: str) -> None:
    with pytest.raises(Refused, match=message):
        require_quality(problem_type, limited)


@pytest.mark.parametrize(
    ("value", "label"), [("a", "a"), (1.0, "1"), (0.5, "0.5"), (True, "true"), ([18.0, 25.5], "18-25.5"), (1e-05, "0.00001")]
)
def test_a_value_has_the_name_that_rest_v1_gives_it(value: object, label: str) -> None:
    assert label_of(value) == label
