"""An analysis configuration becomes the monitor that compares the same groups, and nothing that it leaves open is guessed."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.domain.deployment import Column, FieldKind, FieldType, OutputFields, ProblemType, RecordSchema
from app.intake.imports.clarify_files import METRIC_KEYS, ClarifyChoices, ClarifyConfig, TranslatedMonitor, list_violations
from tests.builders.docs_pages import DOCS, table

SCHEMA = RecordSchema(
    version=1,
    features=(
        Column(name="Age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
        Column(name="Sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
        Column(name="Amount", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
        Column(name="Code", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
    ),
)
CONFIG: dict[str, Any] = {
    "dataset_type": "text/csv",
    "headers": ["Age", "Sex", "Amount", "Code", "Target"],
    "label": "Target",
    "label_values_or_threshold": [1],
    "facet": [{"name_or_index": "Sex", "value_or_threshold": ["female"]}],
    "methods": {
        "report": {"name": "report", "title": "Analysis Report"},
        "pre_training_bias": {"methods": ["CI", "DPL"]},
        "post_training_bias": {"methods": ["DPPL", "DI", "XYZ"]},
    },
    "predictor": {"model_name": "credit", "instance_type": "ml.m5.xlarge", "initial_instance_count": 1},
}
BASELINE: dict[str, Any] = {
    "version": "1.0",
    "post_training_bias_metrics": {
        "label": "Target",
        "facets": {
            "Sex": [
                {"value_or_threshold": "female", "metrics": [{"name": "DPPL", "value": -0.2}, {"name": "DI", "value": 0.5}]},
                {"value_or_threshold": "other", "metrics": [{"name": "DPPL", "value": 0.1}, {"name": "DI", "value": float("nan")}]},
            ]
        },
    },
    "pre_training_bias_metrics": {"facets": {"Sex": [{"metrics": [{"name": "KL", "value": 0.3}, {"name": "New", "value": 1}]}]}},
}


def translate(
    config: dict[str, Any],
    choices: ClarifyChoices | None = None,
    constraints: object = None,
    problem_type: ProblemType = ProblemType.BINARY,
    outputs: OutputFields | None = None,
) -> TranslatedMonitor:
    return ClarifyConfig(config).translate(SCHEMA, outputs or OutputFields(), problem_type, choices or ClarifyChoices(), constraints)


def facet(name: object, *values: object) -> dict[str, Any]:
    return CONFIG | {"facet": [{"name_or_index": name, "value_or_threshold": list(values)}]}


def test_every_metric_of_the_documented_table_is_known() -> None:
    documented = {name: keys.strip("`") for name, keys in table(DOCS / "concepts" / "metric-names.md", "Clarify name")}

    assert {name: METRIC_KEYS[name] for name in documented} == documented


def test_the_groups_outcomes_and_metrics_are_those_of_the_configuration(snapshot: SnapshotAssertion) -> None:
    found = translate(CONFIG | {"group_variable": 1})

    assert found.body == {
        "favourable": [1],
        "unfavourable": [0],
        "attributes": [{"feature": "Sex", "monitored": ["female"]}],
        "strata": "Sex",
        "metrics": [
            "disparate_impact",
            "class_imbalance",
            "difference_in_proportions_of_labels",
            "difference_in_positive_proportions_in_predicted_labels",
        ],
    }
    assert found.notes[0] == snapshot
    assert "four-fifths rule" in found.notes[1]


def test_all_methods_mean_the_usual_metrics() -> None:
    assert "metrics" not in translate(CONFIG | {"methods": {"post_training_bias": {"methods": "all"}}}).body
    assert "metrics" not in translate(CONFIG | {"methods": {}}).body


def test_a_threshold_monitors_what_is_above_it() -> None:
    choices = ClarifyChoices(thresholds=frozenset({"Age", "Amount"}))
    (of_age,) = translate(facet(0, 40), choices).body["attributes"]
    (of_amount,) = translate(facet("Amount", 40.5), choices).body["attributes"]

    assert of_age == {"feature": "Age", "monitored": [[41, 1e9]], "reference": [[-1e9, 40]]}
    assert of_amount["reference"] == [[-1e9, 40.5]]
    assert 40.5 < of_amount["monitored"][0][0] < 40.500001


def test_a_number_that_may_be_a_category_is_not_guessed() -> None:
    with pytest.raises(InvalidInput, match="--threshold Code if values above 0 are monitored, with --category Code if 0 itself is"):
        translate(facet("Code", 0))

    assert translate(facet("Code", 0), ClarifyChoices(categories=frozenset({"Code"}))).body["attributes"] == [
        {"feature": "Code", "monitored": [0]}
    ]
    assert translate(facet("Code", "0", "2")).body["attributes"] == [{"feature": "Code", "monitored": [0, 2]}]


def test_the_unfavourable_labels_are_the_other_classes_or_those_that_are_given() -> None:
    config = CONFIG | {"label_values_or_threshold": ["yes"]}

    assert translate(config, outputs=OutputFields(classes=("no", "yes", "later"))).body["unfavourable"] == ["no", "later"]
    assert translate(config, ClarifyChoices(unfavourable=("no",))).body["unfavourable"] == ["no"]
    with pytest.raises(InvalidInput, match="unfavourable: must be given"):
        translate(config)


def test_a_threshold_of_a_number_that_is_predicted_is_two_ranges() -> None:
    body = translate(CONFIG | {"label_values_or_threshold": [0.5]}, problem_type=ProblemType.REGRESSION).body

    assert body["unfavourable"] == [[-1e9, 0.5]]
    assert 0.5 < body["favourable"][0][0] < 0.500001


def test_a_baseline_becomes_limits_on_both_sides_the_widest_of_a_facet() -> None:
    (attribute,) = translate(CONFIG, constraints=BASELINE).body["attributes"]

    assert attribute["metric_limits"] == {
        "difference_in_positive_proportions_in_predicted_labels": {"lower": -0.2, "upper": 0.2},
        "disparate_impact": {"lower": 0.5, "upper": 2.0},
        "kl_divergence": {"lower": None, "upper": 0.3},
    }


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ([], "analysis_config"),
        ({}, "analysis_config.facet"),
        ({"facet": []}, "analysis_config.facet"),
        ({"facet": [1]}, "analysis_config.facet"),
        (CONFIG | {"label_values_or_threshold": None}, "analysis_config.label_values_or_threshold"),
        (facet("Unknown", 1), "analysis_config.facet[0]"),
        (facet(9, 1), "analysis_config.facet[0].name_or_index"),
        (facet(True, 1), "analysis_config.facet[0].name_or_index"),
        (facet("Sex"), "analysis_config.facet[0].value_or_threshold"),
        (facet("Sex", {}), "analysis_config.facet[0].value_or_threshold"),
        (CONFIG | {"facet": [{"name_or_index": "Sex"}]}, "analysis_config.facet[0].value_or_threshold"),
        (CONFIG | {"group_variable": []}, "analysis_config.group_variable"),
    ],
)
def test_a_configuration_that_cannot_be_read_names_the_field(config: Any, field: str) -> None:  # noqa: ANN401 - hostile
    with pytest.raises(InvalidInput) as refused:
        translate(config)

    assert refused.value.problems[0].field == field


def test_unfair_groups_are_violations_under_the_vendors_names() -> None:
    def measurement(**changes: object) -> dict[str, Any]:
        usual = {"metric": "disparate_impact", "data": "as_logged", "scope": "group", "attribute": "Sex", "group": "female"}
        return usual | {"value": 0.5, "verdict": "unfair"} | changes

    found = list_violations(
        CONFIG,
        [
            measurement(),
            measurement(metric="difference_in_conditional_acceptance", data="labelled"),
            measurement(verdict="fair"),
            measurement(scope="worst"),
            measurement(data="counterfactual"),
            measurement(metric="favourable_rate_of_nobody"),
        ],
    )

    assert found == {
        "version": "1.0",
        "violations": [
            {
                "facet": "Sex",
                "facet_value": "female",
                "metric_name": name,
                "constraint_check_type": "bias_drift_check",
                "description": "Value 0.5 does not meet the constraint requirement",
            }
            for name in ("DI", "DCA")
        ],
    }


@pytest.mark.parametrize(
    ("configured", "choice", "threshold"),
    [({}, None, 0.5), ({"probability_threshold": 0.35}, None, 0.35), ({"probability_threshold": 0.35}, 1, 1)],
)
def test_scores_have_the_given_threshold_the_configured_one_or_one_half(
    configured: dict[str, float], choice: float | None, threshold: float
) -> None:
    found = translate(CONFIG | configured, ClarifyChoices(score_threshold=choice))

    assert found.score_threshold == threshold
    assert f"the prediction is 1 from {threshold:g} on" in found.notes[-1]


@pytest.mark.parametrize("labels", [["yes"], [2], [1, 0.5]])
def test_scores_have_no_classes_other_than_1_and_0(labels: list[Any]) -> None:
    found = translate(CONFIG | {"label_values_or_threshold": labels}, ClarifyChoices(unfavourable=(0,)))

    assert (found.score_threshold, [note for note in found.notes if "score" in note]) == (None, [])


@pytest.mark.parametrize("threshold", [0, 1.5, -0.1, True, "0.5", float("nan")])
def test_a_threshold_beyond_a_probability_is_refused(threshold: object) -> None:
    with pytest.raises(InvalidInput, match="probability_threshold: must be a number above 0 and at most 1"):
        translate(CONFIG | {"probability_threshold": threshold})
