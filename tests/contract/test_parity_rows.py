"""Figures made from records beside those of Clarify's library and of AIF360, on the golden records."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.statistics.group_labels import FloatArray
from app.statistics.records.rich_subgroup import ErrorKind, find_rich_subgroup
from tests.builders.row_metrics import consistency, counterfactual_flip_test
from tests.golden import golden

EXACT = 1e-9
ADULT, CREDIT = "A1_adult", "A2_openscale_credit_risk"
ATTRIBUTES = [(ADULT, "sex"), (ADULT, "race"), (CREDIT, "Sex"), (CREDIT, "Housing")]

TIES = {ADULT: 1e-4, CREDIT: 2e-3}
"""How far consistency may lie from AIF360's, which lets its search tree break ties at the fifth neighbour. Seen: 3.1e-5 at most on
the Adult records, whose fnlwgt hardly ever ties, and 1.4e-3 at most on the credit records, whose features are small integers."""


def read(folder: Path, name: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads((folder / name).read_text())


def numeric(folder: Path, records: pd.DataFrame) -> FloatArray:
    return records[read(folder, "spec.json")["knn_features"]].to_numpy(dtype=np.float64)


def alphabetical(values: pd.Series) -> FloatArray:
    """The attribute as the golden figures code it."""
    return values.astype("category").cat.codes.to_numpy(dtype=np.float64)[:, None]


@pytest.mark.parametrize(
    ("case", "facet_id", "against"),
    [
        (ADULT, "sex=Female", "d_vs_rest"),
        (ADULT, "race=Black", "d_vs_rest"),
        (ADULT, "race=Black", "d_vs_reference_only"),
        (ADULT, "age>60", "d_vs_rest"),
        (CREDIT, "AgeGroup=18-25", "d_vs_rest"),
    ],
)
def test_the_flip_test_without_scaling_is_clarifys_with_the_sign_turned(case: str, facet_id: str, against: str) -> None:
    folder = golden(case)
    records, figures = pd.read_csv(folder / "predictions.csv"), read(folder, "clarify.json")["facets"][facet_id]
    facet = next(facet for facet in read(folder, "spec.json")["facets"] if facet["id"] == facet_id)
    column = records[facet["column"]]
    is_monitored = (column > facet["threshold"] if "threshold" in facet else column.isin(facet["d"])).to_numpy(dtype=np.bool_)
    is_reference = ~is_monitored if against == "d_vs_rest" else column.isin(facet["reference"]).to_numpy(dtype=np.bool_)

    value = counterfactual_flip_test(numeric(folder, records), records["prediction"].to_numpy(), is_monitored, is_reference, scaled=False)

    assert value == pytest.approx(-figures[against]["FT"], abs=EXACT)


def test_where_clarifys_trees_disagree_the_flip_test_is_one_of_their_answers() -> None:
    folder = golden(CREDIT)
    records, facet = pd.read_csv(folder / "predictions.csv"), read(folder, "clarify.json")["facets"]["Sex=female"]
    is_monitored = (records["Sex"] == "female").to_numpy(dtype=np.bool_)

    value = counterfactual_flip_test(numeric(folder, records), records["prediction"].to_numpy(), is_monitored, ~is_monitored, scaled=False)

    answers = facet["d_vs_rest_FT_tie_sensitivity"].values()
    assert min(answers) - EXACT <= value <= max(answers) + EXACT


@pytest.mark.parametrize(("case", "attribute"), ATTRIBUTES)
@pytest.mark.parametrize(("column", "figure"), [("label", "consistency_true_labels"), ("prediction", "consistency_predictions")])
def test_consistency_without_scaling_is_aif360s_but_for_ties(case: str, attribute: str, column: str, figure: str) -> None:
    folder = golden(case)
    records, figures = pd.read_csv(folder / "predictions.csv"), read(folder, "aif360.json")["multi"][attribute]["dataset_level"]
    # AIF360's features include the protected attribute.
    features = np.hstack([alphabetical(records[attribute]), numeric(folder, records)])

    value = consistency(features, records[column].to_numpy(), scaled=False)

    assert value == pytest.approx(figures[figure], abs=TIES[case])


@pytest.mark.parametrize(("case", "attribute"), ATTRIBUTES)
@pytest.mark.parametrize(("kind", "letters"), [("false_positive", "FP"), ("false_negative", "FN")])
def test_a_rich_subgroup_deviates_at_least_as_much_as_aif360s(case: str, attribute: str, kind: ErrorKind, letters: str) -> None:
    """Equal in seven of eight. Of Housing AIF360 tries one line, which parts those who rent, and misses the one that parts the free.

    Its slip, the rate of other records than the subgroup's, needs records exactly on the line; there are none here. A table
    where it shows is among the unit tests.
    """
    folder = golden(case)
    records, figures = pd.read_csv(folder / "predictions.csv"), read(folder, "aif360.json")["multi"][attribute]["dataset_level"]
    theirs = figures[f"rich_subgroup({letters})"]
    # Of 83 actually favourable who live free 45 are rejected, of all 1,332 only 135.
    expected = (45 - 83 * 135 / 1332) / 2000 if (attribute, letters) == ("Housing", "FN") else theirs

    found = find_rich_subgroup(alphabetical(records[attribute]), records["prediction"].to_numpy(), records["label"].to_numpy(), kind)

    assert found is not None
    assert found.value == pytest.approx(expected, abs=EXACT)
    assert found.value >= theirs - EXACT
