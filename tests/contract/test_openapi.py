"""The whole OpenAPI document against the real service on a real Postgres, by schemathesis."""

from pathlib import Path

from app.store.database.engine import Database
from tests.security.fuzzing import fuzz_a_deployment, fuzz_every_operation, fuzz_revoking
from tests.service import running_service


def test_no_operation_fails_or_answers_anything_undocumented(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        outcome = fuzz_every_operation(service, tmp_path, examples=8)
        revoking = fuzz_revoking(service, tmp_path, examples=8)

    assert outcome.returncode == 0, outcome.stdout
    assert revoking.returncode == 0, revoking.stdout


def test_operations_on_a_deployment_that_exists_neither_fail_nor_answer_anything_undocumented(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        outcome = fuzz_a_deployment(service, tmp_path, examples=25)
        still_there = service.client.get("/v1/deployments/credit-risk/fairness-monitor").status_code

    assert outcome.returncode == 0, outcome.stdout
    assert still_there == 200
