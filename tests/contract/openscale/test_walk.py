"""The real SDK walks through the face, method by method, with each of its authenticators."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.checks.check import perform_check
from app.mitigation.window.mitigating import mitigate_window
from app.schedule.worker import Worker
from app.security.principals import Role
from app.security.secrets import open_secret_box
from app.security.users import create_user
from app.settings import Settings
from app.store.database.engine import Database
from tests.builders.workers import running
from tests.databases import Databases
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.service import running_service

PASSWORD = "correct horse battery staple"  # noqa: S105 - of a user in a test
WALK = Path("scripts/openscale_walk.py")


@pytest.fixture(scope="module")
def walked(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What each method did, by authenticator. In a process of its own: the SDK leaves files open, which is an error in ours."""
    folder = tmp_path_factory.mktemp("walk")
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, folder) as service, serve(RuleScorer()) as model:
            # The provider's credentials are sealed with the service's own key.
            sealer = open_secret_box(Settings(data_dir=folder))
            perform = partial(perform_check, database=database, sealer=sealer, further=mitigate_window)
            with database.transaction() as session:
                create_user(session, "ada", password=PASSWORD, role=Role.MANAGE)
            plan = {"url": service.base_url, "model_url": model.url, "key": service.admin_key, "user": "ada", "password": PASSWORD}
            (folder / "plan.json").write_text(json.dumps(plan))
            with running(Worker(database, perform, concurrency=1)):
                ended = subprocess.run([sys.executable, "-P", WALK, folder / "plan.json"], capture_output=True, text=True, check=False)
        database.close()
    assert ended.returncode == 0, ended.stderr[-4000:]
    found: dict[str, dict[str, str]] = json.loads(ended.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("kind", ["bearer", "password", "api_key", "iam"])
def test_every_method_does_what_the_table_says(walked: dict[str, Any], kind: str) -> None:
    assert set(walked[kind].values()) <= {"works", "answers an error"}
