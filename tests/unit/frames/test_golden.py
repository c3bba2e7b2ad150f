"""What the library gives for the golden files is what the reference libraries gave."""

import json
from typing import Any

import pandas as pd
import pytest

from app.library.frame_report import Report
from app.library.measurements import measure_frame
from tests.builders.results import value
from tests.golden import golden

EXACT = 1e-9

CLARIFY = {
    "CI": "class_imbalance",
    "DPL": "difference_in_proportions_of_labels",
    "KL": "kl_divergence",
    "JS": "js_divergence",
    "LP": "lp_norm",
    "TVD": "total_variation_distance",
    "KS": "kolmogorov_smirnov",
    "CDDL": "conditional_demographic_disparity_in_labels",
    "DPPL": "difference_in_positive_proportions_in_predicted_labels",
    "DI": "disparate_impact",
    "DCA": "difference_in_conditional_acceptance",
    "DCR": "difference_in_conditional_rejection",
    "RD": "recall_difference",
    "SD": "specificity_difference",
    "DAR": "difference_in_acceptance_rates",
    "DRR": "difference_in_rejection_rates",
    "AD": "accuracy_difference",
    "CDDPL": "conditional_demographic_disparity_in_predicted_labels",
    "TE": "treatment_equality",
}

ADULT, CREDIT = "A1_adult", "A2_openscale_credit_risk"
STRATA = {ADULT: "education_num", CREDIT: "Job"}

FACETS: list[tuple[str, str, dict[str, Any]]] = [
    (ADULT, "sex=Female", {"attribute": "sex", "monitored": "Female"}),
    (ADULT, "race=Black", {"attribute": "race", "monitored": "Black"}),
    (ADULT, "age>60", {"attribute": "age", "monitored": [(61, 100)], "reference": [(0, 60)]}),
    (CREDIT, "Sex=female", {"attribute": "Sex", "reference": "male"}),
    (CREDIT, "AgeGroup=18-25", {"attribute": "AgeGroup", "monitored": "18-25"}),
    (CREDIT, "AgeGroup=18-25", {"attribute": "Age", "monitored": (18, 25), "reference": (26, 75)}),
]


def measured(case: str, **arguments: object) -> Report:
    rows = pd.read_csv(golden(case) / "predictions.csv")
    given: dict[str, Any] = {"label": "label", "prediction": "prediction", "score": "score", "strata": STRATA[case], "draws": 50}
    return measure_frame(rows, **given, **arguments)


@pytest.mark.parametrize(("case", "facet", "groups"), FACETS)
def test_clarify_gave_the_same_for_each_facet(case: str, facet: str, groups: dict[str, Any]) -> None:
    expected = json.loads((golden(case) / "clarify.json").read_text())["facets"][facet]["d_vs_rest"]

    results = measured(case, **groups).measured

    found = {name: value(results, key, "pooled").value for name, key in CLARIFY.items()}
    assert found == pytest.approx({name: expected[name] for name in CLARIFY}, abs=EXACT)


def test_aif360_gave_the_same_rates_from_the_scores() -> None:
    expected = json.loads((golden("A1_adult") / "aif360.json").read_text())["facets"]["sex=Female"]

    results = measured(ADULT, attribute="sex", reference="Male").measured

    for side, scope in (("overall", "overall"), ("privileged", "reference"), ("unprivileged", "pooled")):
        for outcome in ("true_positive", "false_positive", "true_negative", "false_negative"):
            key = f"generalized_{outcome}_rate"
            group = None if scope == "overall" else {"reference": "Male", "pooled": "Female"}[scope]
            found = value(results, key, "overall" if group is None else "group", group).value
            assert found == pytest.approx(expected[side][key], abs=EXACT)


def test_fairlearn_gave_the_same_for_each_race() -> None:
    expected = json.loads((golden("A1_adult") / "fairlearn.json").read_text())["race"]["by_group"]

    results = measured(ADULT, attribute="race", reference="White").measured

    for theirs, ours in (("selection_rate", "favourable_rate"), ("accuracy", "accuracy"), ("false_positive_rate", "false_positive_rate")):
        for race, rate in expected[theirs].items():
            assert value(results, ours, "group", race).value == pytest.approx(rate, abs=EXACT)
