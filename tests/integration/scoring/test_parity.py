"""Scores through HTTP equal the golden ones."""

import csv
from pathlib import Path
from typing import Any

import pytest

from app.calls.scoring.scoring_client import ScoringClient
from app.domain.deployment import Endpoint, OutputFields
from app.domain.record import Prediction
from app.payloads.registry import PayloadFormat
from tests.golden import golden
from tests.models.logistic import LogisticModel
from tests.models.serving import ModelServer, serve

CASES = ["A1_adult", "A2_openscale_credit_risk"]
SAMPLE = 500
TOLERANCE = 1e-9

FORMATS = [PayloadFormat.FIELDS_VALUES, PayloadFormat.MLFLOW]
"""The others are compared with these in `tests/integration/checks/test_formats.py`."""


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def cells_of(model: LogisticModel, row: dict[str, str]) -> list[Any]:
    return [int(row[name]) if name in model.numeric else row[name] for name in model.features]


def score(server: ModelServer, model: LogisticModel, payload_format: PayloadFormat, rows: list[list[Any]]) -> list[Prediction]:
    url = server.mlflow_url if payload_format is PayloadFormat.MLFLOW else server.url
    endpoint = Endpoint(url=url, payload_format=payload_format, page_size=100)
    return ScoringClient(endpoint, OutputFields(probability="probability"), model.features).score(rows)


@pytest.mark.parametrize("payload_format", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_records_score_as_in_the_golden_predictions(case: str, payload_format: PayloadFormat) -> None:
    model = LogisticModel.of(golden(case))
    expected = rows_of(golden(case) / "predictions.csv")[:SAMPLE]

    with serve(model) as server:
        found = score(server, model, payload_format, [cells_of(model, row) for row in expected])

    assert [answer.prediction for answer in found] == [int(row["prediction"]) for row in expected]
    assert [answer.probability for answer in found] == pytest.approx([float(row["score"]) for row in expected], abs=TOLERANCE)


@pytest.mark.parametrize("payload_format", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_copies_score_as_in_the_golden_perturbations(case: str, payload_format: PayloadFormat) -> None:
    model = LogisticModel.of(golden(case))
    originals = {row["row_id"]: row for row in rows_of(golden(case) / "predictions.csv")}
    expected = rows_of(golden(case) / "perturbed.csv")[::10][:SAMPLE]
    copies = [originals[row["row_id"]] | {row["attribute"]: row["perturbed_value"]} for row in expected]

    with serve(model) as server:
        found = score(server, model, payload_format, [cells_of(model, row) for row in copies])

    assert [answer.prediction for answer in found] == [int(row["prediction"]) for row in expected]
    assert [answer.probability for answer in found] == pytest.approx([float(row["score"]) for row in expected], abs=TOLERANCE)
    assert server.counts.rows == len(expected)
