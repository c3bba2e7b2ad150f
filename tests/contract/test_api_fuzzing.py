"""The whole OpenAPI document against the real service on a real Postgres, by schemathesis.

`scripts/trial security fuzz` tries more examples, and every combination of bounds with deployments that do not exist, too.
"""

from pathlib import Path

import pytest

from app.database.engine import Database
from tests.examples import many
from tests.security.fuzzing import cover_the_installation, fuzz_every_operation, fuzz_own_key
from tests.service import running_service


def test_no_operation_fails_or_answers_anything_undocumented(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        outcome = fuzz_every_operation(service, tmp_path, examples=many(4), phases=("examples", "fuzzing", "stateful"))
        own_key = fuzz_own_key(service, tmp_path, examples=many(4))

    assert outcome.returncode == 0, outcome.stdout
    assert own_key.returncode == 0, own_key.stdout


@pytest.mark.nightly
def test_no_combination_of_bounds_of_operations_on_the_installation_fails(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        outcome = cover_the_installation(service, tmp_path)

    assert outcome.returncode == 0, outcome.stdout
