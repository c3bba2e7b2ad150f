"""The whole OpenAPI document against the real service on a real Postgres, by schemathesis."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.store.engine import Database
from tests.integration.api.bodies import deployment, monitor
from tests.integration.mitigation.live import row_server
from tests.models.serving import ModelServer
from tests.service import RunningService, running_service

WHAT_A_SCHEMA_CANNOT_SAY = "positive_data_acceptance"
"""Bodies that fit the schema are still refused where two members contradict each other (lo > hi, a value in both groups, an unknown
column), so this one check is left out; all others are on."""

MODEL_MAY_FAIL = """
[[operations]]
include-operation-id = "predictDebiased"
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "502", "503"]
"""
"""Endpoints are made up and times are as short as can be there, so the documented 502 and 503 are the right answers."""

STORED_WHAT_IT_ANSWERS = """
[[operations]]
include-operation-id = "createDeployment"
parameters = { "query.validate_only" = false }
"""
"""What is only checked is answered like what was created, and schemathesis would look for it."""

DESTRUCTIVE = ("deleteDeployment", "deleteFairnessMonitor", "deleteTrainingData")

REPAIRED = ("readMitigationProfile",)
"""Where the deployment's id is given, a spoilt one is replaced by it. What then finds something, which the version 1 does, is counted as
accepted in spite of the spoilt id."""

pytestmark = pytest.mark.timeout(0)
"""Thousands of requests take as long as the machine takes."""


def test_no_operation_fails_or_answers_anything_undocumented(database: Database, tmp_path: Path) -> None:
    with row_server(_refusing) as model, running_service(database, tmp_path) as service:
        _set_up(service, model)

        outcome = _schemathesis(service, tmp_path, "", "--max-examples", "8")

    assert outcome.returncode == 0, outcome.stdout


def test_operations_on_a_deployment_that_exists_neither_fail_nor_answer_anything_undocumented(database: Database, tmp_path: Path) -> None:
    existing = '[parameters]\n"path.deployment_id" = "credit-risk"\n'
    kept = [argument for name in (*DESTRUCTIVE, *REPAIRED) for argument in ("--exclude-operation-id", name)]
    with row_server(_refusing) as model, running_service(database, tmp_path) as service:
        _set_up(service, model)

        outcome = _schemathesis(service, tmp_path, existing, "--include-path-regex", "deployment_id", *kept, "--max-examples", "25")
        still_there = service.client.get("/v1/deployments/credit-risk/fairness-monitor").status_code

    assert outcome.returncode == 0, outcome.stdout
    assert still_there == 200


def _refusing(_row: dict[str, Any]) -> dict[str, Any]:
    return {"prediction": 0, "probability": 0.4, "predictedLabel": "Risk"}


def _set_up(service: RunningService, model: ModelServer) -> None:
    service.client.post("/v1/deployments", json=deployment(endpoint={"url": model.url})).raise_for_status()
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()
    counts = [{"values": ["female"], "label": "Risk", "records": 30}, {"values": ["male"], "label": "No Risk", "records": 40}]
    trained_on = {"distributions": [{"columns": ["Sex"], "counts": counts}]}
    service.client.put("/v1/deployments/credit-risk/training-data", json=trained_on).raise_for_status()


def _schemathesis(service: RunningService, folder: Path, configuration: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    (folder / "schemathesis.toml").write_text(configuration + MODEL_MAY_FAIL + STORED_WHAT_IT_ANSWERS)
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        *("--config-file", "schemathesis.toml", "run", f"{service.base_url}/openapi.json"),
        *("--header", f"Authorization: Bearer {service.admin_key}", "--exclude-checks", WHAT_A_SCHEMA_CANNOT_SAY),
        *("--continue-on-failure", "--no-shrink", "--seed", "1", "--generation-database", "none", *arguments),
    ]
    # In a folder of its own, where it may leave what it found.
    # Bounded by the number of examples, not by time: a busy machine needs minutes.
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
