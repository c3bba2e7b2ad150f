import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.library.frame_report import Report
from app.library.measurements import DEFAULT, USUAL_SCORE_METRICS, measure_frame
from app.statistics.catalogue import CATALOGUE
from app.statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from tests.builders.page_words import says
from tests.builders.results import found, reason, value

GROUPS = (("woman", "monitored"), ("man", "reference"))
RATE = "favourable_rate"
IMPACT = "disparate_impact"


@pytest.fixture
def applicants() -> pd.DataFrame:
    """400 applicants whose every column is drawn."""
    draw = np.random.default_rng(7)
    score = draw.random(400)
    return pd.DataFrame(
        {
            "sex": draw.choice(["woman", "man"], 400),
            "region": draw.choice(["north", "south"], 400),
            "approved": np.where(score > 0.5, "yes", "no"),
            "repaid": draw.choice(["yes", "no"], 400),
            "score": score,
            "weight": draw.integers(1, 4, 400),
            "income": draw.normal(40, 10, 400),
            "empty": [None] * 400,
        }
    )


def measured(applicants: pd.DataFrame, **arguments: object) -> Report:
    asked: dict[str, Any] = {"attribute": "sex", "reference": "man", "favourable": "yes", "draws": 100} | arguments
    return measure_frame(applicants, **asked)


def codes_of(applicants: pd.DataFrame) -> tuple[Any, Any, Any]:
    sex = applicants["sex"].map({"woman": 0, "man": 1}).to_numpy()
    return sex, *((applicants[name] == "yes").to_numpy().astype(int) for name in ("repaid", "approved"))


def test_predictions_alone_are_measured_as_payload(applicants: pd.DataFrame) -> None:
    report = measured(applicants, prediction="approved")
    sex, _, approved = codes_of(applicants)

    assert report.data == "as_logged"
    assert report.measured == measure_as_logged(GroupCounts.from_records(GROUPS, sex, outcome=approved), metrics=_keys(report), draws=100)


def test_labels_alone_are_measured_as_training_data(applicants: pd.DataFrame) -> None:
    report = measured(applicants, label="repaid")
    sex, repaid, _ = codes_of(applicants)

    assert report.data == "training"
    assert report.measured == measure_training(GroupCounts.from_records(GROUPS, sex, outcome=repaid), metrics=_keys(report), draws=100)


def test_labels_and_predictions_are_measured_as_feedback_with_weights_scores_and_strata(applicants: pd.DataFrame) -> None:
    report = measured(applicants, label="repaid", prediction="approved", score="score", weight="weight", strata="region")
    sex, repaid, approved = codes_of(applicants)
    further: dict[str, Any] = {
        "weights": applicants["weight"],
        "strata": (["south", "north"], (applicants["region"] == "north").to_numpy().astype(int)),
        "scores": applicants["score"],
    }
    predicted = GroupCounts.from_records(GROUPS, sex, outcome=approved, **further)
    table = LabelledCells.from_records(GROUPS, sex, actual=repaid, predicted=approved, correct=(repaid == approved).astype(int), **further)
    labelled = replace(table, cohort=table.count_labels())

    results = measure_as_logged(predicted, metrics=_keys(report), draws=100) + measure_labelled(labelled, metrics=_keys(report), draws=100)
    order = list(CATALOGUE)
    assert report.data == "labelled"
    assert report.measured == sorted(results, key=lambda one: order.index(one.metric))


def test_the_order_of_the_rows_changes_nothing_but_the_order_of_what_was_seen_first(applicants: pd.DataFrame) -> None:
    there, back = (
        measured(rows, label="repaid", prediction="approved", score="score", strata="region").to_frame()
        for rows in (applicants, applicants[::-1])
    )

    pd.testing.assert_frame_equal(there, back)


def test_the_report_says_who_was_compared(applicants: pd.DataFrame, snapshot: SnapshotAssertion) -> None:
    applicants.loc[:9, "sex"] = None

    report = measured(applicants, prediction="approved", reference=None)

    sizes = applicants["sex"].value_counts()
    assert {group.label: group.records for group in report.groups} == sizes.to_dict()
    assert (report.records.of, report.attribute, report.favourable) == (400, "sex", ("yes",))
    assert report.records.text == "390 of 400 records counted; left out: sex unknown 10."
    assert says(report.chosen, str(sizes.index[0]), "reference")
    assert report.chosen == snapshot


def test_every_metric_is_measured_that_the_columns_suffice_for(applicants: pd.DataFrame) -> None:
    everything = measured(applicants, label="repaid", prediction="approved", score="score", strata="region", features=["income", "score"])
    little = measured(applicants, label="repaid", prediction="approved")

    assert {figure.metric for figure in everything.measured} == {
        key for key, row in CATALOGUE.items() if {"as_logged", "labelled"} & set(row.data)
    }
    assert {figure.metric for figure in little.measured} == {
        key
        for key, row in CATALOGUE.items()
        if {"as_logged", "labelled"} & set(row.data) and not {"scores", "strata", "rows"} & set(row.needs)
    }


def test_figures_of_single_records_are_not_given_of_weighted_records(applicants: pd.DataFrame) -> None:
    columns: dict[str, Any] = {"label": "repaid", "prediction": "approved", "features": ["score"]}
    of_rows = {key for key, row in CATALOGUE.items() if "rows" in row.needs}

    assert of_rows & _keys(measured(applicants, **columns))
    assert not of_rows & _keys(measured(applicants, **columns, weight="score"))
    with pytest.raises(InvalidInput, match="prediction_consistency counts every record alike"):
        measured(applicants, **columns, weight="score", metrics="prediction_consistency")


def test_the_default_metrics_are_those_of_the_catalogue_and_of_the_columns_named_on_purpose(applicants: pd.DataFrame) -> None:
    usual = {key for key, row in CATALOGUE.items() if row.is_default and "as_logged" in row.data}

    assert _keys(measured(applicants, prediction="approved", metrics=DEFAULT)) == usual
    assert _keys(measured(applicants, prediction="approved", strata="region", metrics=DEFAULT)) == usual | {
        "conditional_demographic_disparity_in_predicted_labels",
        "mantel_haenszel_odds_ratio",
        "adjusted_odds_ratio",
    }


def test_with_scores_the_default_metrics_have_the_quality_of_the_scores(applicants: pd.DataFrame) -> None:
    columns: dict[str, Any] = {"label": "repaid", "prediction": "approved", "metrics": DEFAULT}

    more = _keys(measured(applicants, **columns, score="score")) - _keys(measured(applicants, **columns))

    assert more == USUAL_SCORE_METRICS


def test_picked_metrics_alone_are_measured(applicants: pd.DataFrame) -> None:
    assert _keys(measured(applicants, prediction="approved", metrics=[IMPACT])) == {IMPACT}
    assert _keys(measured(applicants, prediction="approved", metrics=RATE)) == {RATE}


def test_a_group_without_records_has_no_figure_but_a_reason() -> None:
    frame = pd.DataFrame({"age": [30, 40], "approved": [1, 0]})

    report = measure_frame(frame, attribute="age", monitored=[(18, 25)], reference=[(26, 75)], prediction="approved")

    assert reason(report.measured, IMPACT, "group", "18-25") == "there is no record of 18-25"
    assert found(report.measured, IMPACT, "group", "18-25").smallest_group == 0


def test_a_frame_without_a_favoured_record_gives_reasons_and_strict_json() -> None:
    frame = pd.DataFrame({"sex": ["woman", "man"] * 20, "approved": [0] * 40, "repaid": [0] * 40})

    report = measure_frame(frame, attribute="sex", reference="man", prediction="approved", label="repaid", draws=100)

    assert value(report.measured, RATE, "group", "woman").value == 0
    assert "the reference rate is zero" in reason(report.measured, IMPACT, "group", "woman")
    json.loads(json.dumps(report.to_json(), allow_nan=False), parse_constant=pytest.fail)


def test_a_row_of_the_table_has_what_the_json_has(applicants: pd.DataFrame) -> None:
    report = measured(applicants, prediction="approved")

    rows, table = report.to_json()["measurements"], report.to_frame()
    assert len(rows) == len(table) == len(report.measured)
    for row, (_, columns) in zip(rows, table.iterrows(), strict=True):
        assert {name: None if pd.isna(cell) else cell for name, cell in columns.items()} == {
            name: cell for name, cell in row.items() if name != "details"
        }
    impact = next(row for row in rows if (row["metric"], row["scope"]) == (IMPACT, "group"))
    assert (impact["verdict"], impact["lower_limit"], impact["interval_method"]) == ("undecided", 0.8, "log_ratio")
    assert impact["sentence"].startswith("Of every 100 ")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "prediction: is needed, or label, or both"),
    (
        {"prediction": "aproved"},
        "prediction: 'aproved' is not a column; there are 'sex', 'region', 'approved', 'repaid', 'score', 'weight', 'income', 'empty'",
    ),
    (
        {"label": "repaid", "score": "score"},
        "prediction: is needed with score: scores are compared with what was true and what was predicted",
    ),
    ({"prediction": "approved", "favourable": 1}, "favourable: '1' is not a value of 'approved', which holds "),
    (
        {"prediction": "approved", "weight": "empty"},
        "weight: 'empty' must have a number in each record, and has none in 400 records, the first of them 1",
    ),
    ({"prediction": "approved", "weight": "region"}, "weight: 'region' must hold numbers, found "),
    ({"prediction": "approved", "label": "repaid", "score": "income"}, "score: 'income' must hold probabilities between 0 and 1, found "),
    ({"prediction": "approved", "features": ["sex"]}, "features: 'sex' must hold numbers, found "),
    ({"prediction": "approved", "features": []}, "features: must name at least one column"),
    ({"prediction": "approved", "metrics": ["impact"]}, "metrics: 'impact' is not in the catalogue of metrics"),
    (
        {"prediction": "approved", "metrics": ["DPPL"]},
        "metrics: 'DPPL' is not in the catalogue of metrics; it is Clarify's name of difference_in_",
    ),
    ({"prediction": "approved", "metrics": []}, "metrics: must list at least one key"),
    ({"prediction": "approved", "metrics": [["accuracy"]]}, "metrics: \"['accuracy']\" is not in the catalogue of metrics"),
    ({"prediction": 1}, "prediction: must name a column by text, found 1; frame.rename(columns=str) makes text of all names"),
    ({"prediction": "approved", "features": [1]}, "features: must name a column by text, found 1"),
    ({"prediction": "approved", "seed": -1}, "seed: must be a whole number, 0 or more, found -1"),
    ({"prediction": "approved", "draws": 0}, "draws: must be a whole number, 10 or more, found 0"),
    ({"prediction": "approved", "metrics": ["accuracy"]}, "metrics: accuracy needs label"),
    (
        {"prediction": "approved", "metrics": ["flip_rate"]},
        "metrics: flip_rate is measured on counterfactual data only, and this is as_logged data",
    ),
    ({"prediction": "approved", "metrics": ["counterfactual_flip_test"]}, "metrics: counterfactual_flip_test needs features"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_is_wrong_is_named_with_its_argument(applicants: pd.DataFrame, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        measured(applicants, **arguments)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("weight", [-1, 1e-200, 1e-13, 1e13, 1e200, 1e308])
def test_a_weight_that_cannot_be_counted_with_is_refused(applicants: pd.DataFrame, weight: float, snapshot: SnapshotAssertion) -> None:
    applicants["weight"] = applicants["weight"].astype(float)
    applicants.loc[3, "weight"] = weight

    with pytest.raises(InvalidInput) as caught:
        measured(applicants, prediction="approved", weight="weight")

    assert says(text := str(caught.value), "'weight'", "0", f"{weight:g}", "4")
    assert text == snapshot


@pytest.mark.parametrize("weights", [[0.0], [1e-12], [1e12], [1e-12, 1e12], [0.0, 1e-12, 1.0, 1e12]])
def test_every_metric_has_a_figure_or_a_reason_whatever_the_records_weigh(applicants: pd.DataFrame, weights: list[float]) -> None:
    applicants["weight"] = np.resize(weights, len(applicants))

    report = measured(applicants, prediction="approved", label="repaid", score="score", strata="region", weight="weight")

    json.dumps(report.to_json(), allow_nan=False)


@pytest.mark.parametrize("largest", [1e300, 1e308])
def test_every_metric_has_a_figure_or_a_reason_however_large_the_features_are(applicants: pd.DataFrame, largest: float) -> None:
    applicants["income"] = np.resize([largest, -largest, 3.0], len(applicants))

    report = measured(applicants, prediction="approved", label="repaid", features=["income"])

    json.dumps(report.to_json(), allow_nan=False)


def test_scores_of_the_other_outcome_are_refused(applicants: pd.DataFrame) -> None:
    applicants["score"] = 1 - applicants["score"]

    with pytest.raises(InvalidInput, match="must be the probability of the favourable outcome, so take 1 - score"):
        measured(applicants, label="repaid", prediction="approved", score="score")


def test_scores_that_no_favourable_prediction_has_are_not_taken_for_those_of_the_other_outcome(applicants: pd.DataFrame) -> None:
    applicants.loc[applicants["approved"] == "yes", "score"] = np.nan

    assert measured(applicants, prediction="approved", label="repaid", score="score").measured


def test_too_many_strata_are_refused() -> None:
    frame = pd.DataFrame({"sex": ["woman", "man"] * 600, "approved": [0, 1] * 600, "number": range(1200)})

    with pytest.raises(InvalidInput, match="strata: 'number' holds 1,200 different values where at most 1,000 are compared"):
        measure_frame(frame, attribute="sex", prediction="approved", strata="number")


def test_something_else_than_a_frame_is_refused() -> None:
    with pytest.raises(InvalidInput, match="frame: must be a pandas DataFrame, found dict"):
        measure_frame({"sex": ["woman"]}, attribute="sex", prediction="approved")  # type: ignore[arg-type]


def _keys(report: Report) -> set[str]:
    return {figure.metric for figure in report.measured}


def test_the_headline_of_several_groups_has_an_interval_that_allows_for_the_choice() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"region": rng.choice(list("abcd"), 900), "approved": rng.integers(0, 2, 900)})
    report = measure_frame(frame, attribute="region", prediction="approved", reference="a", metrics=["disparate_impact"])
    worst = next(figure for figure in report.to_json()["measurements"] if figure["worst_of"] is not None)

    assert worst["chosen_lower"] < worst["lower"] <= worst["upper"] < worst["chosen_upper"]
    assert worst["details"]["chosen_p_value"] == min(1.0, 3 * worst["details"]["p_value"])
