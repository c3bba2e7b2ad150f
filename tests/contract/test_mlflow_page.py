"""The model of the MLflow page, run with a stub in MLflow's place: MLflow itself is not among the packages of the tests."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from app.domain.deployment import OutputFields
from app.payloads.mlflow import MlflowCodec
from tests.builders.docs_pages import blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "connect-a-model.md"


class Classifier:
    """Rich people are approved, as scikit-learn's classifiers would say it."""

    classes_ = pd.Series(["denied", "approved"]).to_numpy()

    def predict_proba(self, rows: pd.DataFrame) -> Any:  # noqa: ANN401 - a NumPy array
        rich = (rows["income"] > 50_000).to_numpy(dtype=float)
        return pd.DataFrame({"denied": 0.9 - 0.8 * rich, "approved": 0.1 + 0.8 * rich}).to_numpy()


def test_the_model_of_the_page_answers_with_probabilities_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: dict[str, Any] = {}
    stub = ModuleType("mlflow")
    stub.pyfunc = SimpleNamespace(PythonModel=object, log_model=lambda **given: logged.update(given))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow", stub)
    (block,) = [block for block in blocks(PAGE) if block.language == "py"]
    people = pd.DataFrame({"sex": ["female", "male"], "income": [90_000, 10_000]})

    exec(block.body, {"classifier": Classifier(), "features": people})  # noqa: S102 - the page's own code
    answer = logged["python_model"].predict(None, people)

    # MLflow's server answers a data frame as a list of objects.
    body = json.dumps({"predictions": answer.to_dict(orient="records")}).encode()
    found = MlflowCodec().read_answer(body, outputs=OutputFields(probability="probability"), expected_rows=2).predictions
    assert [(answer.prediction, answer.probability) for answer in found] == [
        ("approved", pytest.approx((0.1, 0.9))),
        ("denied", pytest.approx((0.9, 0.1))),
    ]
