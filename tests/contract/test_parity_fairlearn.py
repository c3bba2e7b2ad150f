"""Our values beside those of fairlearn's MetricFrame and of its named metrics (0.12).

It compares the groups furthest apart, whatever their roles, and gives ratios as the smaller over the larger.
"""

from typing import Any

import numpy as np
import pytest

from app.statistics.intervals.verdicts import Undefined, Value
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
    plain,
    records_of,
)

NAMED = (
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
)
MEAN_OF_ODDS = ("equalized_odds_difference(agg=mean)", "equalized_odds_ratio(agg=mean)")
SUMMARIES = (
    "difference_between_groups",
    "ratio_between_groups",
    "difference_to_overall",
    "ratio_to_overall",
    "group_min",
    "group_max",
)
OF_PREDICTIONS = {"selection_rate": "predicted_favourable_count", "mean_prediction": "predicted_favourable_count"}
"""Of predictions of 0 and 1 both are our favourable rate; of everybody it is this count over `record_count`."""

QUIRKS = (
    # A rate of fewer than ten records stands back here: the library's pair is made of 3 American Indian women with a favourable label.
    Quirk("A1_adult intersection", "equal_opportunity_difference", 0.6804123711340206, 0.36791237113402064),
    Quirk("A1_adult intersection", "equal_opportunity_ratio", 0.0, 0.45928030303030304),
    Quirk("A1_adult intersection", "equalized_odds_difference(agg=mean)", 0.40204234272089323, 0.24579234272089323),
    Quirk("A1_adult intersection", "equalized_odds_ratio(agg=mean)", 0.04563867134755603, 0.27527882286270755),
    # Rates of nothing are 0 in the library, and what is no number takes no part in the smaller or larger of two.
    Quirk("E04 named", "demographic_parity_ratio", "NaN", "is zero, so nothing can be divided by it"),
    Quirk("E04 named", "equalized_odds_ratio", "NaN", "none that was predicted favourable"),
    Quirk("E04 named", "equal_opportunity_ratio", "NaN", "is zero, so nothing can be divided by it"),
    Quirk("E06 named", "equalized_odds_ratio", 0.5303030303030303, "none that was predicted favourable"),
    Quirk("E07 named", "equalized_odds_difference", 0.8571428571428571, "for one of the labels fewer than two groups have records"),
    Quirk("E07 named", "equalized_odds_ratio", 0.0, "for one of the labels fewer than two groups have records"),
    Quirk("E07 named", "equal_opportunity_difference", 0.8571428571428571, "fewer than two groups have records to compare"),
    Quirk("E07 named", "equal_opportunity_ratio", 0.0, "fewer than two groups have records to compare"),
    Quirk("E07 d", "true_positive_rate", 0.0, "d has a favourable label"),
    Quirk("E07 d", "false_negative_rate", 0.0, "d has a favourable label"),
    Quirk("E08 named", "equalized_odds_ratio", 1.0, "none that was predicted favourable"),
    Quirk("E09 named", "demographic_parity_ratio", "NaN", "is zero, so nothing can be divided by it"),
    Quirk("E09 named", "equalized_odds_difference", 0.0, "for one of the labels fewer than two groups have records"),
    Quirk("E09 named", "equalized_odds_ratio", "NaN", "none that was predicted favourable"),
    Quirk("E09 named", "equal_opportunity_ratio", "NaN", "is zero, so nothing can be divided by it"),
    Quirk("E09 a", "false_positive_rate", 0.0, "a has an unfavourable label"),
    Quirk("E09 a", "true_negative_rate", 0.0, "a has an unfavourable label"),
    Quirk("E09 d", "false_positive_rate", 0.0, "d has an unfavourable label"),
    Quirk("E09 d", "true_negative_rate", 0.0, "d has an unfavourable label"),
    Quirk("E10 named", "equalized_odds_difference", 0.0, "for one of the labels fewer than two groups have records"),
    Quirk("E10 named", "equalized_odds_ratio", 1.0, "for one of the labels fewer than two groups have records"),
    Quirk("E10 a", "false_positive_rate", 0.0, "a has an unfavourable label"),
    Quirk("E10 a", "true_negative_rate", 0.0, "a has an unfavourable label"),
    Quirk("E10 d", "false_positive_rate", 0.0, "d has an unfavourable label"),
    Quirk("E10 d", "true_negative_rate", 0.0, "d has an unfavourable label"),
    Quirk("E11 named", "equalized_odds_difference", 1.0, "for one of the labels fewer than two groups have records"),
    Quirk("E11 named", "equalized_odds_ratio", 0.0, "for one of the labels fewer than two groups have records"),
    Quirk("E11 named", "equal_opportunity_difference", 1.0, "fewer than two groups have records to compare"),
    Quirk("E11 named", "equal_opportunity_ratio", 0.0, "fewer than two groups have records to compare"),
    Quirk("E11 a", "true_positive_rate", 0.0, "a has a favourable label"),
    Quirk("E11 a", "false_negative_rate", 0.0, "a has a favourable label"),
    Quirk("E11 d", "false_positive_rate", 0.0, "d has an unfavourable label"),
    Quirk("E11 d", "true_negative_rate", 0.0, "d has an unfavourable label"),
    Quirk("E12 named", "equalized_odds_ratio", 1.0, "none that was predicted favourable"),
)


def _attributes() -> list[tuple[str, str]]:
    adult, credit = CASES
    return [(adult, "sex"), (adult, "race"), (adult, "intersection"), (credit, "Sex"), (credit, "Housing"), (credit, "intersection")]


def _golden(case: str, attribute: str) -> Any:  # noqa: ANN401 - a JSON value
    return golden_json(f"{case}/fairlearn.json")[attribute]


def test_all_golden_values_are_compared() -> None:
    there = [(case, name) for case in CASES for name in golden_json(f"{case}/fairlearn.json") if name not in {"versions", "note"}]

    assert _attributes() == there
    for case, attribute in there:
        assert set(_golden(case, attribute)) == {"overall", "by_group", *SUMMARIES, *NAMED, *MEAN_OF_ODDS}
        assert {*_golden(case, attribute)["overall"], *NAMED} == {*entries("fairlearn"), "mean_prediction"}


@pytest.mark.parametrize(("case", "attribute"), _attributes())
def test_every_metric_of_every_group_is_the_librarys(case: str, attribute: str) -> None:
    expected = _golden(case, attribute)
    found = _found(case, attribute)
    labels = list(expected["by_group"]["count"])

    for label in labels:
        of_group = {name: values[label] for name, values in expected["by_group"].items()}
        assert disagreements(f"{case} {label}", of_group, _of_group(found, label, of_group), ()) == []
    assert disagreements(case, expected["overall"], _overall(found, expected["overall"]), ()) == []


@pytest.mark.parametrize(("case", "attribute"), _attributes())
def test_every_summary_of_the_groups_is_the_librarys(case: str, attribute: str) -> None:
    expected = _golden(case, attribute)
    found = _found(case, attribute)
    overall = {name: plain(number) for name, number in _overall(found, expected["overall"]).items()}

    for name, whole in overall.items():
        groups = np.array([plain(_of_group(found, label, [name])[name]) for label in expected["by_group"][name]])
        with np.errstate(divide="ignore"):
            to_whole = groups / whole
            ours = {
                "difference_between_groups": groups.max() - groups.min(),
                "ratio_between_groups": groups.min() / groups.max(),
                "difference_to_overall": np.abs(groups - whole).max(),
                "ratio_to_overall": np.minimum(to_whole, 1 / to_whole).min(),
                "group_min": groups.min(),
                "group_max": groups.max(),
            }
        assert ours == pytest.approx({summary: expected[summary][name] for summary in SUMMARIES}, abs=1e-9)


@pytest.mark.parametrize(("case", "attribute"), _attributes())
def test_every_named_metric_is_our_worst_pair(case: str, attribute: str) -> None:
    expected = {name: value for name, value in _golden(case, attribute).items() if name in (*NAMED, *MEAN_OF_ODDS)}

    assert disagreements(f"{case} {attribute}", expected, _named(_found(case, attribute)), QUIRKS) == []


@pytest.mark.parametrize("case", EDGE_CASES)
def test_every_edge_case_is_the_librarys_or_listed(case: str) -> None:
    expected = dict(golden_json("A3_edge_cases.json")["cases"][case]["fairlearn"])
    by_group = expected.pop("by_group")
    records = edge_records(case)
    column = records.columns["group"]
    found = feedback_numbers(records, {label: column == label for label in ("d", "a")}, {"nobody": column == "nobody"})
    short = case.partition("_")[0]

    assert set(expected) == set(NAMED)
    assert disagreements(f"{short} named", expected, _named(found), QUIRKS) == []
    for label in ("a", "d"):
        of_group = {name: values[label] for name, values in by_group.items()}
        assert disagreements(f"{short} {label}", of_group, _of_group(found, label, of_group), QUIRKS) == []


def test_every_quirk_belongs_to_a_golden_value() -> None:
    edges = {f"{case.partition('_')[0]} {part}" for case in EDGE_CASES for part in ("named", "a", "d")}

    assert {quirk.where for quirk in QUIRKS} <= edges | {f"{case} {attribute}" for case, attribute in _attributes()}


def _found(case: str, attribute: str, reference: str | None = None) -> Found:
    """Our numbers of every group, against one of them or against nobody: a pair with the reference has no row of its own."""
    records = records_of(case)
    groups = {label: _mask(records, attribute, label, case) for label in _golden(case, attribute)["by_group"]["count"]}
    others = {"nobody": np.zeros_like(next(iter(groups.values())))} if reference is None else {reference: groups.pop(reference)}
    return feedback_numbers(records, groups, others)


def _mask(records: Records, attribute: str, label: str, case: str) -> Mask:
    columns = [name for of, name in _attributes() if of == case and name != "intersection"] if attribute == "intersection" else [attribute]
    mask: Mask = np.logical_and.reduce([records.columns[name] == value for name, value in zip(columns, label.split("|"), strict=True)])
    return mask


def _of_group(found: Found, label: str, names: Any) -> dict[str, Number]:  # noqa: ANN401 - the names in any form
    return {name: found["favourable_rate" if name in OF_PREDICTIONS else key_of("fairlearn", name), "group", label] for name in names}


def _overall(found: Found, names: Any) -> dict[str, Number]:  # noqa: ANN401 - the names in any form
    return {
        name: _exact(plain(found[OF_PREDICTIONS[name], "overall", None]) / plain(found["record_count", "overall", None]))
        if name in OF_PREDICTIONS
        else found[key_of("fairlearn", name), "overall", None]
        for name in names
    }


def _named(found: Found) -> dict[str, Number]:
    """The library's named metrics, from our pairs of groups furthest apart or, of equalized odds, across all groups."""
    of_selection, of_true, of_false = ("statistical_parity_difference", "true_positive_rate_difference", "false_positive_rate_difference")
    difference = {key: _made(abs, _furthest(found, key)) for key in (of_selection, of_true, of_false)}
    by_selection, by_true, by_false = ("disparate_impact", "true_positive_rate_ratio", "false_positive_rate_ratio")
    ratio = {key: _made(_at_most_one, _furthest(found, key)) for key in (by_selection, by_true, by_false)}
    return {
        "demographic_parity_difference": difference[of_selection],
        "demographic_parity_ratio": ratio[by_selection],
        "equal_opportunity_difference": difference[of_true],
        "equal_opportunity_ratio": ratio[by_true],
        **{name: found[key_of("fairlearn", name), "attribute", None] for name in ("equalized_odds_difference", "equalized_odds_ratio")},
        "equalized_odds_difference(agg=mean)": _made(_mean, difference[of_true], difference[of_false]),
        "equalized_odds_ratio(agg=mean)": _made(_mean, ratio[by_true], ratio[by_false]),
    }


def _furthest(found: Found, key: str) -> Number:
    return found.get((key, "worst_pair", None), Undefined("fewer than two groups have records to compare", 0))


def _made(function: Any, *of: Number) -> Number:  # noqa: ANN401 - a function of floats
    """A function of numbers, or the reason why one of them is none."""
    missing = [number for number in of if isinstance(number, Undefined)]
    return missing[0] if missing else _exact(float(function(*map(plain, of))))


def _at_most_one(ratio: float) -> float:
    return min(ratio, 1 / ratio) if ratio else ratio


def _mean(one: float, other: float) -> float:
    return (one + other) / 2


def _exact(value: float) -> Value:
    return Value(value, value, value, "exact", 0)
