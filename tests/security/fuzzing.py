"""The whole OpenAPI document against a running service, by schemathesis: no failed service, no undocumented answer."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.builders.bodies import deployment, monitor
from tests.builders.row_server import row_server
from tests.models.serving import ModelServer
from tests.service import RunningService

NO_LIMIT_SECONDS = "86400"
"""A report takes as long as the machine takes; without it, each request has 10 seconds."""

WHAT_A_SCHEMA_CANNOT_SAY = "positive_data_acceptance"
"""Bodies that fit the schema are still refused where two members contradict each other (lo > hi, a value in both groups, an unknown
column), so this one check is left out; all others are on."""

MODEL_MAY_FAIL = """
[[operations]]
include-operation-id = ["predictMitigated", "predict"]
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "502", "503"]
"""
"""Endpoints are made up and times are as short as can be there, so the documented 502 and 503 are the right answers."""

STORED_WHAT_IT_ANSWERS = """
[[operations]]
include-operation-id = "createDeployment"
parameters = { "query.validate_only" = false }
"""
"""What is only checked is answered like what was created, and schemathesis would look for it."""

TAKES_ANYTHING = """
[[operations]]
include-operation-id = ["logEvents", "logAzureModelData"]
checks.negative_data_rejection.enabled = false
"""
"""Senders of events do not send again, so they are answered 200 and what could not be used is counted."""

LACKS_PARTS = """
[[operations]]
include-path-regex = "/deployments/[{]deployment_id[}]/.+"
checks.ensure_resource_availability.enabled = false
"""
"""A deployment that was just created has no monitor or training data, so a part of it is rightly not found."""

ON_OWN_KEY = ("revokeApiKey", "putKeyLimits")
"""They find the id of the fuzzer's own key. After that every answer would be a documented 401, 429 or 507, which proves nothing."""

PHASES = ("examples", "coverage", "fuzzing", "stateful")
"""Parts of a run. `coverage` tries every combination of bounds, once, however many examples are asked for, and takes most of the time."""

DESTRUCTIVE = ("deleteDeployment", "deleteFairnessMonitor", "deleteTrainingData")

REPAIRED = ("readMitigationProfile",)
"""Where the deployment's id is given, a spoilt one is replaced by it. What then finds something, which the version 1 does, is counted as
accepted in spite of the spoilt id."""


def fuzz_every_operation(
    service: RunningService, folder: Path, examples: int, phases: Sequence[str] = PHASES
) -> "subprocess.CompletedProcess[str]":
    """Returns how schemathesis ended: every operation but one with so many examples, and sequences of operations."""
    asked = (*_operations("exclude", ON_OWN_KEY), "--max-examples", str(examples), "--phases", ",".join(phases))
    with row_server(_refusing) as model:
        _set_up(service, model)
        ended = _schemathesis(service, folder, "", *asked)
    answer = service.client.get("/v1/me")
    assert answer.is_success, f"The fuzzer has lost its key, so most of its requests were turned away: {answer.text}"
    return ended


def cover_the_installation(service: RunningService, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Returns how schemathesis ended: every combination of bounds, for the operations that are not on one deployment."""
    elsewhere = ("--exclude-path-regex", "deployment_id", *_operations("exclude", ON_OWN_KEY), "--phases", "coverage")
    with row_server(_refusing) as model:
        _set_up(service, model)
        return _schemathesis(service, folder, "", *elsewhere)


def fuzz_own_key(service: RunningService, folder: Path, examples: int) -> "subprocess.CompletedProcess[str]":
    """Returns how schemathesis ended: the operations that may revoke or limit the fuzzer's own key."""
    return _schemathesis(service, folder, "", *_operations("include", ON_OWN_KEY), "--max-examples", str(examples))


def fuzz_a_deployment(
    service: RunningService, folder: Path, examples: int, phases: Sequence[str] = PHASES
) -> "subprocess.CompletedProcess[str]":
    """Returns how schemathesis ended: the operations on a deployment that exists, but for those that delete it."""
    existing = '[parameters]\n"path.deployment_id" = "credit-risk"\n'
    of_it = ("--include-path-regex", "deployment_id", *_operations("exclude", (*DESTRUCTIVE, *REPAIRED)))
    with row_server(_refusing) as model:
        _set_up(service, model)
        return _schemathesis(service, folder, existing, *of_it, "--max-examples", str(examples), "--phases", ",".join(phases))


def _operations(choice: str, names: Sequence[str]) -> list[str]:
    return [argument for name in names for argument in (f"--{choice}-operation-id", name)]


def _refusing(_row: dict[str, Any]) -> dict[str, Any]:
    return {"prediction": 0, "probability": 0.4, "predictedLabel": "Risk"}


def _set_up(service: RunningService, model: ModelServer) -> None:
    service.client.post("/v1/deployments", json=deployment(endpoint={"url": model.url})).raise_for_status()
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()
    counts = [{"values": ["female"], "label": "Risk", "records": 30}, {"values": ["male"], "label": "No Risk", "records": 40}]
    trained_on = {"distributions": [{"columns": ["Sex"], "counts": counts}]}
    service.client.put("/v1/deployments/credit-risk/training-data", json=trained_on).raise_for_status()


def _schemathesis(service: RunningService, folder: Path, configuration: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    (folder / "schemathesis.toml").write_text(configuration + MODEL_MAY_FAIL + STORED_WHAT_IT_ANSWERS + TAKES_ANYTHING + LACKS_PARTS)
    # From a file, because schemathesis itself waits 10 seconds for an address.
    (folder / "openapi.json").write_bytes(service.client.get("/openapi.json").raise_for_status().content)
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        *("--config-file", "schemathesis.toml", "run", "openapi.json", "--url", service.base_url),
        *("--header", f"Authorization: Bearer {service.admin_key}", "--exclude-checks", WHAT_A_SCHEMA_CANNOT_SAY),
        *("--continue-on-failure", "--no-shrink", "--seed", "1", "--generation-database", "none", *arguments),
        *("--request-timeout", NO_LIMIT_SECONDS),
    ]
    # In a folder of its own, where it may leave what it found.
    # Bounded by the number of examples, not by time: a busy machine needs minutes.
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
