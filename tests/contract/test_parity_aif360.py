"""Our values beside those of aif360 0.6.1, method by method; consistency and rich subgroups are compared with the other row metrics.

`unprivileged` is the monitored group, `privileged` the reference; where the library is given neither, it takes all rows.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from app.statistics.catalogue import CATALOGUE
from app.statistics.formulas import differential_fairness as differential
from app.statistics.formulas import generalised_entropy as entropy
from app.statistics.group_labels import FloatArray
from app.statistics.intervals.verdicts import Undefined, Value
from app.statistics.tables.count_table import LabelledCells
from tests.contract.aif360_quirks import QUIRKS
from tests.contract.metric_names import entries, key_of
from tests.contract.parity import (
    CASES,
    EDGE_CASES,
    Found,
    Mask,
    Members,
    Number,
    Records,
    disagreements,
    edge_records,
    feedback_numbers,
    feedback_table,
    golden_json,
    plain,
    records_of,
)

OF_ROWS = ("consistency_true_labels", "consistency_predictions", "rich_subgroup(FP)", "rich_subgroup(FN)")
PARTS = {"overall": ("overall", None), "privileged": ("reference", None), "unprivileged": ("group", "d")}
"""Our scope and group of each part of a facet."""

SHORT = {
    "TP": "true_positive_count",
    "FP": "false_positive_count",
    "TN": "true_negative_count",
    "FN": "false_negative_count",
    "GTP": "generalized_true_positive_count",
    "GFP": "generalized_false_positive_count",
    "GTN": "generalized_true_negative_count",
    "GFN": "generalized_false_negative_count",
    "TPR": "true_positive_rate",
    "TNR": "true_negative_rate",
    "FPR": "false_positive_rate",
    "FNR": "false_negative_rate",
    "GTPR": "generalized_true_positive_rate",
    "GTNR": "generalized_true_negative_rate",
    "GFPR": "generalized_false_positive_rate",
    "GFNR": "generalized_false_negative_rate",
    "PPV": "positive_predictive_value",
    "NPV": "negative_predictive_value",
    "FDR": "false_discovery_rate",
    "FOR": "false_omission_rate",
    "ACC": "accuracy",
}
"""The keys of its confusion matrices and performance measures."""

SHARES = {"selection_rate": "predicted_favourable_count", "base_rate": "actual_favourable_count"}
"""Rates that we give of groups only; of everybody they are these counts over `record_count`."""


def _facets() -> list[tuple[str, str]]:
    adult, credit = CASES
    return [(adult, "sex=Female"), (adult, "race=Black"), (adult, "age>60"), (credit, "Sex=female"), (credit, "AgeGroup=18-25")]


def _attributes() -> list[tuple[str, str]]:
    adult, credit = CASES
    return [(adult, "sex"), (adult, "race"), (credit, "Sex"), (credit, "Housing")]


def _golden(case: str) -> Any:  # noqa: ANN401 - a JSON value
    return golden_json(f"{case}/aif360.json")


def test_all_golden_values_are_compared() -> None:
    assert _facets() == [(case, facet) for case in CASES for facet in _golden(case)["facets"]]
    crossed = {("A1_adult", "sex x race"), ("A2_openscale_credit_risk", "Sex x Housing")}
    assert {*_attributes(), *crossed} == {(case, name) for case in CASES for name in _golden(case)["multi"]}


@pytest.mark.parametrize(("facet", "part"), list(product(_facets(), PARTS)))
def test_every_count_and_rate_is_the_librarys(facet: tuple[str, str], part: str) -> None:
    case, name = facet
    expected = _flat(_golden(case)["facets"][name][part])

    ours = _by_group(_facet_numbers(case, name), *PARTS[part])
    assert set(expected) == set(ours)
    assert disagreements(f"{case} {name} {part}", expected, ours, QUIRKS) == []


@pytest.mark.parametrize(("case", "name"), _facets())
def test_every_comparison_is_the_librarys_or_listed(case: str, name: str) -> None:
    golden_facet = _golden(case)["facets"][name]
    records = records_of(case)
    table = feedback_table(records, *_members(records, golden_facet["facet"]))

    expected = golden_facet["pair"]
    ours = _pairs(_facet_numbers(case, name), "group", "d") | {
        f"between_group_generalized_entropy_index(alpha={alpha})": _index(
            entropy.between_groups(_cells(table)[:2], alpha), "d and the reference"
        )
        for alpha in (0, 1, 3)
    }
    assert set(expected) == set(ours)
    assert disagreements(f"{case} {name}", expected, ours, QUIRKS) == []


@pytest.mark.parametrize(("case", "attribute"), _attributes())
def test_every_value_against_the_reference_is_the_librarys_or_listed(case: str, attribute: str) -> None:
    several = _golden(case)["multi"][attribute]
    records = records_of(case)
    others = [value for value in several["values"] if value != several["reference"]]
    found = feedback_numbers(
        records, records.members(attribute, others), records.members(attribute, [several["reference"]]), records.scores
    )

    compared = {value: _pairs(found, "group", value) for value in others}
    assert set(several["each_value_vs_reference"]) == set(others)
    for value, expected in several["each_value_vs_reference"].items():
        assert set(expected) == set(compared[value])
        assert disagreements(f"{case} {attribute}, {value}", expected, compared[value], QUIRKS) == []
    pooled = several.get("all_others_vs_reference", {})
    assert disagreements(f"{case} {attribute} pooled", pooled, _pairs(found, "pooled", None), QUIRKS) == []


@pytest.mark.parametrize(("case", "attribute"), [*_attributes(), (CASES[0], "sex x race"), (CASES[1], "Sex x Housing")])
def test_every_figure_of_the_whole_data_set_is_the_librarys_or_listed(case: str, attribute: str) -> None:
    records = records_of(case)
    cells = _crossed(records, attribute.split(" x "))
    reference = dict([cells.popitem()])
    table = feedback_table(records, cells, reference)

    several = _golden(case)["multi"][attribute]
    expected = {name: value for name, value in several.get("dataset_level", several).items() if name not in OF_ROWS}
    ours = _whole(feedback_numbers(records, cells, reference)) | _of_any_parameter(table)
    # The golden values of an intersection hold no other parameters.
    assert set(expected) <= set(ours)
    assert disagreements(f"{case} {attribute}", expected, ours, QUIRKS) == []


@pytest.mark.parametrize("case", EDGE_CASES)
def test_every_edge_case_is_the_librarys_or_listed(case: str) -> None:
    records = edge_records(case)
    monitored = {"d": records.columns["group"] == "d"}
    reference = {"a": records.columns["group"] == "a"}
    found = feedback_numbers(records, monitored, reference, records.scores)
    ours = {
        "unprivileged": _by_group(found, "group", "d"),
        "privileged": _by_group(found, "reference", None),
        "pair": _pairs(found, "group", "d"),
        "dataset": _whole(found),
    }

    golden_parts = golden_json("A3_edge_cases.json")["cases"][case]["aif360"]
    assert set(golden_parts) == set(ours)
    for part, expected in golden_parts.items():
        assert disagreements(f"{_short(case)} {part}", _flat(expected), ours[part], QUIRKS) == []


def test_every_quirk_belongs_to_a_golden_value() -> None:
    facets = {f"{case} {name}" for case, name in _facets()}
    values = {
        f"{case} {name}, {value}" for case, name in _attributes() for value in _golden(case)["multi"][name]["each_value_vs_reference"]
    }
    attributes = {f"{case} {name}" for case, name in _attributes()}
    edges = {f"{_short(case)} {part}" for case in EDGE_CASES for part in ("unprivileged", "privileged", "pair", "dataset")}

    assert {quirk.where for quirk in QUIRKS} <= facets | values | attributes | edges


def test_the_library_gives_several_figures_at_once_that_are_ours_one_by_one() -> None:
    part = _golden(CASES[0])["facets"]["sex=Female"]["overall"]

    for name in ("binary_confusion_matrix", "generalized_binary_confusion_matrix", "performance_measures"):
        assert {SHORT[short] for short in part[name]} == set(entries("AIF360")[name].keys)


def _short(case: str) -> str:
    return case.partition("_")[0]


def _facet_numbers(case: str, name: str) -> Found:
    records = records_of(case)
    return feedback_numbers(records, *_members(records, _golden(case)["facets"][name]["facet"]), records.scores)


def _members(records: Records, facet: Mapping[str, Any]) -> tuple[Members, Members]:
    """The monitored group and the reference."""
    column = records.columns[facet["column"]]
    if facet["type"] == "numeric_gt":
        above: Mask = column.astype(float) > facet["threshold"]
        return {"d": above}, {"reference": ~above}
    (monitored,), (reference,) = facet["d"], facet["reference"]
    return {"d": column == monitored}, {"reference": column == reference}


def _crossed(records: Records, attributes: list[str]) -> dict[str, Mask]:
    """Every combination of values that occurs."""
    values = [sorted(set(records.columns[name].tolist())) for name in attributes]
    masks = {
        " ".join(cell): np.logical_and.reduce([records.columns[name] == value for name, value in zip(attributes, cell, strict=True)])
        for cell in product(*values)
    }
    return {label: mask for label, mask in masks.items() if mask.any()}


def _flat(part: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a part, those that a method gives several of under `method.short`."""
    flat: dict[str, Any] = {}
    for name, value in part.items():
        flat |= {f"{name}.{short}": one for short, one in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def _by_group(found: Found, scope: str, group: str | None) -> dict[str, Number]:
    """Our numbers of one group, or of everybody, by the library's names."""
    ours: dict[str, Number] = {}
    for name, entry in entries("AIF360").items():
        if name in SHARES and scope == "overall":
            counts = [plain(found[key, scope, group]) for key in (SHARES[name], "record_count")]
            ours[name] = _exact(counts[0] / counts[1])
        elif len(entry.keys) > 1:
            ours |= {
                f"{name}.{short}": found[key, scope, group]
                for short, key in SHORT.items()
                if key in entry.keys and (key, scope, group) in found
            }
        elif (entry.keys[0], scope, group) in found and not _is_comparison(entry.keys[0]) and not _is_whole(name):
            ours[name] = found[entry.keys[0], scope, group]
    return ours


def _pairs(found: Found, scope: str, group: str | None) -> dict[str, Number]:
    """Our comparisons of one group, or of all monitored, with the reference, by the library's names."""
    return {
        name: found[entry.keys[0], scope, group]
        for name, entry in entries("AIF360").items()
        if len(entry.keys) == 1 and _is_comparison(entry.keys[0])
    }


def _whole(found: Found) -> dict[str, Number]:
    """Our numbers of the whole data set by the library's names."""
    names = [name for name in entries("AIF360") if _is_whole(name)]
    return {
        name: next(
            found[key_of("AIF360", name), scope, None]
            for scope in ("overall", "attribute")
            if (key_of("AIF360", name), scope, None) in found
        )
        for name in names
    }


def _is_whole(name: str) -> bool:
    return name.startswith("between_all_groups") or name in {
        "generalized_entropy_index",
        "theil_index",
        "coefficient_of_variation",
        "smoothed_empirical_differential_fairness",
        "differential_fairness_bias_amplification",
    }


def _is_comparison(key: str) -> bool:
    return key in CATALOGUE and "worst" in CATALOGUE[key].scopes


def _cells(table: LabelledCells) -> FloatArray:
    return table.confusion.astype(np.float64)


def _of_any_parameter(table: LabelledCells) -> dict[str, Number]:
    """What the library was given another alpha or concentration for, from the functions."""
    everybody, groups = _cells(table).sum(axis=0), _cells(table)[:-1]
    labels = groups.sum(axis=-1)
    return {
        f"generalized_entropy_index(alpha={alpha})": _index(entropy.generalized_entropy(everybody, alpha), "everybody")
        for alpha in (0, 1, 3)
    } | {
        f"smoothed_empirical_differential_fairness(concentration={concentration})": _index(
            differential.smoothed_empirical_differential_fairness(labels, concentration), "everybody"
        )
        for concentration in (0.5, 2.0)
    }


def _index(value: FloatArray, whose: str) -> Number:
    """What a pure function gives, in the words of the comparison."""
    return _exact(float(value)) if np.isfinite(value) else Undefined(f"the index of {whose} is {float(value)}", 0)


def _exact(value: float) -> Value:
    return Value(value, value, value, "exact", 0)
