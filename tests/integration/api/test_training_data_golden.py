"""Training data over HTTP: what the records of a reference library's case give is what the library gave."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.bodies import deployment, monitor
from tests.golden import golden
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
PATH = f"{DEPLOYMENT}/training-data"
GOLDEN = {
    "class_imbalance": "CI",
    "difference_in_proportions_of_labels": "DPL",
    "kl_divergence": "KL",
    "js_divergence": "JS",
    "lp_norm": "LP",
    "total_variation_distance": "TVD",
    "kolmogorov_smirnov": "KS",
    "conditional_demographic_disparity_in_labels": "CDDL",
}
INTEGERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")


@pytest.mark.thorough
def test_the_adult_data_give_the_golden_pre_training_values(service: RunningService) -> None:
    case: Path = golden("A1_adult")
    facets = json.loads((case / "clarify.json").read_text())["facets"]
    with (case / "predictions.csv").open() as file:
        names = [name for name in next(csv.reader(file)) if name not in {"row_id", "label", "prediction", "score"}]
    features = [{"name": name, "type": "integer" if name in INTEGERS else "string"} for name in names]
    service.client.post("/v1/deployments", json=deployment(features=features, meta=[])).raise_for_status()
    outcomes: dict[str, Any] = {"favourable": [1], "unfavourable": [0], "intersections": [], "strata": "education_num"}

    for reference, facet in ((None, "d_vs_rest"), (["White"], "d_vs_reference_only")):
        attributes = [
            {"feature": "sex", "monitored": ["Female"], "reference": ["Male"]},
            {"feature": "race", "monitored": ["Black"], "reference": reference},
        ]
        service.client.put(f"{DEPLOYMENT}/fairness-monitor", json=monitor(attributes=attributes, **outcomes)).raise_for_status()
        rows = (case / "predictions.csv").read_bytes()
        sent = service.client.put(PATH, content=rows, params={"label": "label"}, headers={"Content-Type": "text/csv"})

        assert (sent.status_code, sent.json()["records"]) == (200, 15_060)
        found = {
            (figure["metric"], figure["attribute"], figure["group"]): figure["value"]
            for figure in service.client.get(f"{PATH}/measurements").json()["measurements"]
            if figure["scope"] == "group"
        }
        for attribute, group in (("sex", "Female"), ("race", "Black")):
            expected = facets[f"{attribute}={group}"][facet]
            for metric, name in GOLDEN.items():
                assert found[metric, attribute, group] == pytest.approx(expected[name], abs=1e-9), (metric, attribute, facet)
