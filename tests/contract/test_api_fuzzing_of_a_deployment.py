"""The operations of the OpenAPI document on a deployment that exists, against the real service, by schemathesis.

`scripts/trial security fuzz` tries more examples, and every combination of bounds.
"""

from pathlib import Path

import pytest

from app.database.engine import Database
from tests.security.fuzzing import fuzz_a_deployment
from tests.service import running_service


@pytest.mark.nightly
def test_operations_on_a_deployment_that_exists_neither_fail_nor_answer_anything_undocumented(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        outcome = fuzz_a_deployment(service, tmp_path, examples=4, phases=("examples", "fuzzing", "stateful"))
        still_there = service.client.get("/v1/deployments/credit-risk/fairness-monitor").status_code

    assert outcome.returncode == 0, outcome.stdout
    assert still_there == 200
