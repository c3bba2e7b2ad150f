"""Our values beside those of smclarify 0.5, metric by metric; the flip test is compared with the other row metrics.

Facet d is the monitored group. The library compares it with all other rows (`d_vs_rest`); the golden values hold also what it says when
given the rows of d and of the reference alone (`d_vs_reference_only`).
"""

from collections.abc import Mapping

import pytest

from tests.contract.metric_names import entries, key_of
from tests.contract.parity import (
    CASES,
    EDGE_CASES,
    Found,
    Mask,
    Number,
    Quirk,
    Records,
    disagreements,
    edge_records,
    feedback_numbers,
    golden_json,
    payload_numbers,
    plain,
    records_of,
    training_numbers,
)

OF_LABELS = ("CI", "DPL", "KL", "JS", "LP", "TVD", "KS", "CDDL")
WITHOUT_LABELS = ("DPPL", "DI", "CDDPL")
OF_EVERYBODY = ("GE",)
OF_ROWS = ("FT",)
SIDES = ("d_vs_rest", "d_vs_reference_only")

PERFORMANCE = {
    "Accuracy": "accuracy",
    "True Positive Rate / Recall": "true_positive_rate",
    "True Negative Rate / Specificity": "true_negative_rate",
    "Acceptance Rate / Precision": "positive_predictive_value",
    "Rejection Rate": "negative_predictive_value",
    "Conditional Acceptance": "conditional_acceptance",
    "Conditional Rejection": "conditional_rejection",
    "F1 Score": "f1",
}
"""The library's names in its report on the model."""

UNION = ("KL", "JS", "LP", "TVD", "KS")

QUIRKS = (
    Quirk("E02_d_no_predicted_positive", "DCA", "-Infinity", "d was predicted favourable"),
    Quirk("E02_d_no_predicted_positive", "DAR", 0.8571428571428571, "d was predicted favourable"),
    Quirk("E02_d_no_predicted_positive", "TE", "Infinity", "d was wrongly predicted favourable"),
    Quirk("E03_a_no_predicted_positive", "DI", "Infinity", "the reference rate is zero"),
    Quirk("E03_a_no_predicted_positive", "DCA", "Infinity", "the reference group (a) was predicted favourable"),
    Quirk("E03_a_no_predicted_positive", "DAR", -0.7142857142857143, "the reference group (a) was predicted favourable"),
    Quirk("E03_a_no_predicted_positive", "TE", "-Infinity", "the reference group (a) was wrongly predicted favourable"),
    Quirk("E04_nobody_predicted_positive", "DI", 0.0, "the reference rate is zero"),
    Quirk("E04_nobody_predicted_positive", "DCA", 0.0, "d was predicted favourable"),
    Quirk("E04_nobody_predicted_positive", "DAR", 0.0, "d was predicted favourable"),
    Quirk("E04_nobody_predicted_positive", "CDDPL", "ValueError", "no record of either group has a favourable outcome"),
    Quirk("E04_nobody_predicted_positive", "TE", 0.0, "d was wrongly predicted favourable"),
    Quirk("E05_d_no_false_positive", "TE", "Infinity", "d was wrongly predicted favourable"),
    Quirk("E06_both_no_false_positive", "TE", 0.0, "d was wrongly predicted favourable"),
    Quirk("E07_d_no_actual_positive", "KL", -0.2800088954600953, "has one of the labels that the reference group has"),
    Quirk("E07_d_no_actual_positive", "JS", 0.01870236370410365, 0.14000312030209408),
    Quirk("E07_d_no_actual_positive", "LP", 0.35, 0.49497474683058323),
    Quirk("E07_d_no_actual_positive", "TVD", 0.175, 0.35),
    Quirk("E07_d_no_actual_positive", "RD", 0.8571428571428571, "d has a favourable label"),
    Quirk("E08_perfect_predictions", "TE", 0.0, "d was wrongly predicted favourable"),
    Quirk("E09_all_false_negative", "CDDL", "ValueError", "no record of either group has an unfavourable outcome"),
    Quirk("E09_all_false_negative", "DI", 0.0, "the reference rate is zero"),
    Quirk("E09_all_false_negative", "DCA", 0.0, "d was predicted favourable"),
    Quirk("E09_all_false_negative", "SD", 0.0, "d has an unfavourable label"),
    Quirk("E09_all_false_negative", "DAR", 0.0, "d was predicted favourable"),
    Quirk("E09_all_false_negative", "CDDPL", "ValueError", "no record of either group has a favourable outcome"),
    Quirk("E09_all_false_negative", "TE", 0.0, "d was wrongly predicted favourable"),
    Quirk("E09_all_false_negative", "GE", "ValueError", "every labelled record was wrongly predicted unfavourable"),
    Quirk("E10_all_positive_everything", "CDDL", "ValueError", "no record of either group has an unfavourable outcome"),
    Quirk("E10_all_positive_everything", "DCR", 0.0, "d was predicted unfavourable"),
    Quirk("E10_all_positive_everything", "SD", 0.0, "d has an unfavourable label"),
    Quirk("E10_all_positive_everything", "DRR", 0.0, "d was predicted unfavourable"),
    Quirk("E10_all_positive_everything", "CDDPL", "ValueError", "no record of either group has an unfavourable outcome"),
    Quirk("E10_all_positive_everything", "TE", 0.0, "d was wrongly predicted favourable"),
    Quirk("E11_single_row_groups", "KL", "ValueError", "has one of the labels that the reference group has"),
    Quirk("E11_single_row_groups", "JS", "ValueError", 0.6931471805599453),
    Quirk("E11_single_row_groups", "LP", "ValueError", 1.4142135623730951),
    Quirk("E11_single_row_groups", "TVD", "ValueError", 1.0),
    Quirk("E11_single_row_groups", "KS", "ValueError", 1.0),
    Quirk("E11_single_row_groups", "DI", "Infinity", "the reference rate is zero"),
    Quirk("E11_single_row_groups", "DCA", -1.0, "the reference group (a) was predicted favourable"),
    Quirk("E11_single_row_groups", "DCR", -1.0, "d was predicted unfavourable"),
    Quirk("E11_single_row_groups", "RD", -1.0, "the reference group (a) has a favourable label"),
    Quirk("E11_single_row_groups", "SD", -1.0, "d has an unfavourable label"),
    Quirk("E11_single_row_groups", "DAR", -1.0, "the reference group (a) was predicted favourable"),
    Quirk("E11_single_row_groups", "DRR", -1.0, "d was predicted unfavourable"),
    Quirk("E11_single_row_groups", "TE", 0.0, "d was wrongly predicted favourable"),
    Quirk("E12_simpson_two_strata", "TE", 0.0, "d was wrongly predicted favourable"),
)
"""Where a denominator is empty the library says 0, infinity or raises; where one facet lacks a label, it leaves that label out."""


def _facets() -> list[tuple[str, str, str]]:
    return [
        ("A1_adult", "sex=Female", "d_vs_rest"),
        ("A1_adult", "sex=Female", "d_vs_reference_only"),
        ("A1_adult", "race=Black", "d_vs_rest"),
        ("A1_adult", "race=Black", "d_vs_reference_only"),
        ("A1_adult", "age>60", "d_vs_rest"),
        ("A2_openscale_credit_risk", "Sex=female", "d_vs_rest"),
        ("A2_openscale_credit_risk", "Sex=female", "d_vs_reference_only"),
        ("A2_openscale_credit_risk", "AgeGroup=18-25", "d_vs_rest"),
        ("A2_openscale_credit_risk", "AgeGroup=18-25", "d_vs_reference_only"),
    ]


def test_every_facet_of_the_golden_values_is_compared() -> None:
    there = [
        (case, name, side)
        for case in CASES
        for name, facet in golden_json(f"{case}/clarify.json")["facets"].items()
        for side in SIDES
        if side in facet
    ]

    assert _facets() == there
    assert tuple(golden_json("A3_edge_cases.json")["cases"]) == EDGE_CASES


@pytest.mark.parametrize(("case", "name", "side"), _facets())
def test_every_metric_is_the_librarys(case: str, name: str, side: str) -> None:
    golden_facet = golden_json(f"{case}/clarify.json")["facets"][name]
    records = records_of(case)
    monitored, reference = _sides(records, golden_facet["facet"], side)
    assert (monitored.sum(), (~monitored).sum()) == (golden_facet["n_d"], golden_facet["n_a"])

    expected = {metric: value for metric, value in golden_facet[side].items() if metric not in OF_ROWS}
    assert set(expected) == set(entries("Clarify")) - set(OF_ROWS)
    assert disagreements(f"{case} {name} {side}", expected, _ours(records, monitored, reference), QUIRKS) == []


@pytest.mark.parametrize("case", EDGE_CASES)
def test_every_edge_case_is_the_librarys_or_listed(case: str) -> None:
    expected = golden_json("A3_edge_cases.json")["cases"][case]["clarify"]
    records = edge_records(case)
    monitored = records.columns["group"] == "d"

    assert set(expected) == set(entries("Clarify")) - set(OF_ROWS)
    assert disagreements(case, expected, _ours(records, monitored, ~monitored), QUIRKS) == []


@pytest.mark.parametrize("case", EDGE_CASES)
def test_distances_of_labels_are_over_the_union_of_outcomes(case: str) -> None:
    expected = golden_json("A3_edge_cases.json")["cases"][case]["definition_union_support"]
    records = edge_records(case)
    monitored = records.columns["group"] == "d"

    endless = {name for name in UNION if expected[name] == "Infinity"}
    ours = _ours(records, monitored, ~monitored)
    assert disagreements(case, {name: expected[name] for name in UNION if name not in endless}, ours, ()) == []
    assert endless == ({"KL"} if case in {"E07_d_no_actual_positive", "E11_single_row_groups"} else set())


@pytest.mark.parametrize("case", CASES)
def test_the_report_on_the_model_is_the_librarys(case: str) -> None:
    golden_report = golden_json(f"{case}/clarify.json")["model_performance"]
    records = records_of(case)
    everybody = feedback_numbers(records, {}, {})
    counts = {
        name: plain(everybody[f"{name}_count", "overall", None]) for name in ("record", "predicted_favourable", "predicted_unfavourable")
    }

    expected = {metric["name"]: metric["value"] for metric in golden_report["model_performance_metrics"]}
    positive, negative = (expected.pop(f"Proportion of {sign} Predictions in Labels") for sign in ("Positive", "Negative"))
    assert set(expected) == set(PERFORMANCE)
    ours = {name: everybody[key, "overall", None] for name, key in PERFORMANCE.items()}
    assert disagreements(case, expected, ours, ()) == []
    assert positive == pytest.approx(counts["predicted_favourable"] / counts["record"], abs=1e-9)
    assert negative == pytest.approx(counts["predicted_unfavourable"] / counts["record"], abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_confusion_matrices_are_the_librarys(case: str) -> None:
    golden_report = golden_json(f"{case}/clarify.json")["model_performance"]
    everybody = feedback_numbers(records_of(case), {}, {})
    true_positive, false_positive, false_negative, true_negative = (
        plain(everybody[f"{name}_count", "overall", None])
        for name in ("true_positive", "false_positive", "false_negative", "true_negative")
    )
    total = plain(everybody["record_count", "overall", None])

    in_order = (true_positive, false_positive, false_negative, true_negative)
    assert golden_report["binary_confusion_matrix"] == pytest.approx([count / total for count in in_order], abs=1e-9)
    assert golden_report["confusion_matrix"] == {
        "0": {"0": true_negative, "1": false_positive},
        "1": {"0": false_negative, "1": true_positive},
    }


def _sides(records: Records, facet: Mapping[str, object], side: str) -> tuple[Mask, Mask]:
    """Who is monitored and who is the reference."""
    column = records.columns[str(facet["column"])]
    if facet["type"] == "numeric_gt":
        monitored: Mask = column.astype(float) > float(str(facet["threshold"]))
        return monitored, ~monitored
    monitored = _isin(column, facet["d"])
    return monitored, ~monitored if side == "d_vs_rest" else _isin(column, facet["reference"])


def _isin(column: object, values: object) -> Mask:
    assert isinstance(values, list)
    mask: Mask = sum((column == value for value in values), start=column == values[0]).astype(bool)
    return mask


def _ours(records: Records, monitored: Mask, reference: Mask) -> dict[str, Number]:
    """Our numbers by the library's names; those of the labels and those without labels agree on every data set they exist on."""
    groups = ({"d": monitored}, {"a": reference})
    feedback, training, payload = (measure(records, *groups) for measure in (feedback_numbers, training_numbers, payload_numbers))
    # The index of everybody counts the records of no group too, where the library was given none.
    both = monitored | reference
    alone = feedback_numbers(records.where(both), {"d": monitored[both]}, {"a": reference[both]})
    ours = {}
    for name in entries("Clarify"):
        if name in OF_ROWS:
            continue
        key = key_of("Clarify", name)
        if name in OF_EVERYBODY:
            ours[name] = alone[key, "overall", None]
            continue
        ours[name] = feedback[key, "group", "d"]
        _require_same(ours[name], *(found[key, "group", "d"] for found in _elsewhere(name, training, payload)))
    return ours


def _elsewhere(name: str, training: Found, payload: Found) -> list[Found]:
    return [training] * (name in OF_LABELS) + [payload] * (name in WITHOUT_LABELS)


def _require_same(number: Number, *others: Number) -> None:
    for other in others:
        assert type(other) is type(number)
        assert getattr(other, "value", None) == getattr(number, "value", None)
