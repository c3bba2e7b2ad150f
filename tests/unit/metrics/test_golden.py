"""The published and computed reference values, from the records they were computed from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.statistics.group_labels import Role
from app.statistics.measures.measure import measure_as_logged
from app.statistics.measures.perturbed_data import measure_counterfactual, measure_openscale
from app.statistics.tables.count_table import GroupCounts
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.results import found, value
from tests.golden import golden

CASES = [("A1_adult", "sex"), ("A2_openscale_credit_risk", "Sex"), ("A2_openscale_credit_risk", "Housing")]
EXACT = 1e-9


def expected(folder: Path, attribute: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder / "openscale.json").read_text())[attribute]
    return figures


def groups_of(figures: dict[str, Any]) -> list[tuple[str, Role]]:
    config = figures["config"]
    return [*((label, "monitored") for label in config["monitored"]), *((label, "reference") for label in config["reference"])]


def payload_table(folder: Path, attribute: str) -> GroupCounts:
    rows = pd.read_csv(folder / "predictions.csv")
    groups = groups_of(expected(folder, attribute))
    codes = pd.Categorical(rows[attribute], categories=[label for label, _ in groups]).codes
    return GroupCounts.from_records(groups, codes, outcome=rows["prediction"].to_numpy())


def counterfactual_table(folder: Path, attribute: str) -> CounterfactualCells:
    rows = pd.read_csv(folder / "predictions.csv").set_index("row_id")
    copies = pd.read_csv(folder / "perturbed.csv").query("attribute == @attribute")
    groups = groups_of(expected(folder, attribute))
    labels, roles = [label for label, _ in groups], dict(groups)
    copies = copies[copies["original_value"].map(roles) != copies["perturbed_value"].map(roles)]
    by_target = copies.pivot_table(index="row_id", columns="perturbed_value", values="prediction", aggfunc="sum")
    favourable = by_target.reindex(index=rows.index, columns=labels)
    return CounterfactualCells.from_records(
        groups,
        pd.Categorical(rows[attribute], categories=labels).codes,
        outcome=rows["prediction"].to_numpy(),
        copies_favourable=favourable.fillna(0).to_numpy(dtype=np.int64),
        copies_classified=favourable.notna().to_numpy(dtype=np.int64),
    )


@pytest.mark.parametrize(("case", "attribute"), CASES)
def test_payload_disparate_impact_is_the_golden_one(case: str, attribute: str) -> None:
    folder = golden(case)
    figures = expected(folder, attribute)["payload"]

    results = measure_as_logged(payload_table(folder, attribute))

    assert value(results, "favourable_rate", "reference").value == pytest.approx(figures["reference"]["rate"], abs=EXACT)
    for label, golden_group in figures["monitored"].items():
        scope, group = ("pooled", None) if label == "all monitored pooled" else ("group", label)
        ratio, rate = value(results, "disparate_impact", scope, group), value(results, "favourable_rate", scope, group)
        assert ratio.value == pytest.approx(golden_group["disparate_impact"], abs=EXACT)
        assert rate.value == pytest.approx(golden_group["rate"], abs=EXACT)
        assert rate.n == golden_group["n"]
    worst = found(results, "disparate_impact", "worst")
    assert worst.group == figures["worst_monitored"]
    assert value(results, "disparate_impact", "worst").value == pytest.approx(figures["worst_disparate_impact"], abs=EXACT)


@pytest.mark.parametrize(("case", "attribute"), CASES)
def test_openscale_fairness_and_perfect_equality_are_the_golden_ones(case: str, attribute: str) -> None:
    folder = golden(case)
    figures = expected(folder, attribute)["balanced"]["monitored"]

    results = measure_openscale(counterfactual_table(folder, attribute), seed=0)

    for label, golden_group in figures.items():
        equality = golden_group["perfect_equality_all_monitored"]
        impact = found(results, "openscale_fairness", "group", label)
        assert value(results, "openscale_fairness", "group", label).value == pytest.approx(equality["fairness"], abs=EXACT)
        assert value(results, "perfect_equality", "attribute").value == pytest.approx(equality["rate"], abs=EXACT)
        assert value(results, "favourable_rate", "group", label).value == pytest.approx(golden_group["monitored_rate"], abs=EXACT)
        assert impact.details.monitored_counts["favourable"] == golden_group["monitored_favorable"]
        assert impact.details.monitored_counts["n"] == golden_group["monitored_n"]
        assert impact.details.reference_counts["favourable"] == equality["favorable"]
        assert impact.details.reference_counts["n"] == equality["n"]


@pytest.mark.parametrize(("case", "attribute"), CASES)
def test_monitored_records_flip_as_often_as_the_golden_ones(case: str, attribute: str) -> None:
    folder = golden(case)
    flips = expected(folder, attribute)["individual_flips_monitored_to_reference"]

    results = measure_counterfactual(counterfactual_table(folder, attribute))

    for pair, figures in flips.items():
        label = pair.split("->")[0]
        counts = found(results, "flip_rate", "group", label).details.counts
        assert (counts["gained"], counts["lost"], counts["n"]) == (figures["unfav_to_fav"], figures["fav_to_unfav"], figures["n"])
