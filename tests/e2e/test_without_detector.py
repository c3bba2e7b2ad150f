"""Service and worker where the extra `detector` is not installed, with settings of mitigation from when it was."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from app.access.keys.queries import create_key
from app.access.principals import Role
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.mitigation import DetectorUse, MitigationSettings
from app.domain.monitor import Monitor, OutcomeRule
from app.mitigation.detector.installed import MISSING
from tests.builders.extras import DETECTOR, without_detector
from tests.builders.lender import COLUMNS, HOUSING, UNFAIR, everybody, use
from tests.models.serving import serve
from tests.ports import free_port
from tests.progress import wait_until
from tests.scenes import HOUR, scene

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_packages_are_hidden_from_every_python_that_is_started(tmp_path: Path) -> None:
    look = "import importlib.metadata as m, importlib.util as u, sys; n = sys.argv[1:]"
    look += "; print([x for x in n if u.find_spec(x)], [d.name for d in m.distributions() if d.name in n])"
    printed = subprocess.run(
        [sys.executable, "-c", look, *DETECTOR], env=os.environ | without_detector(tmp_path), capture_output=True, text=True, check=True
    ).stdout

    assert printed == "[] []\n"


@pytest.mark.nightly
def test_the_service_checks_and_answers_and_says_why_the_detector_is_left_out(database: Database, tmp_path: Path) -> None:
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(HOUSING,), min_records=20)
    with serve(UNFAIR) as model, _serving(database, tmp_path) as client:
        stage = scene(database, COLUMNS, monitor, endpoint=Endpoint(url=model.url))
        stage.log(everybody(), logged := datetime.now(UTC) - HOUR)
        use(stage, MitigationSettings(bias_detector=DetectorUse.CHOOSE))

        health = client.get("/health/ready")
        checks = "/v1/deployments/a-model/checks"
        span = {"from": (logged - HOUR).isoformat(), "to": (logged + HOUR / 2).isoformat()}
        check = f"{checks}/{client.post(checks, json=span).raise_for_status().json()['id']}"
        wait_until(lambda: client.get(check).json()["state"] not in {"queued", "running"}, "the check has ended")
        checked = client.get(check).json()
        tenant = {"id": "a", "features": {"housing": "rent", "income": 55.0}}
        answered = client.post("/v1/deployments/a-model/mitigated-predictions", json={"records": [tenant]}).raise_for_status().json()
        refusals = [client.put("/v1/deployments/a-model/mitigation", json={"bias_detector": use}) for use in ("mark", "choose")]
        switched_off = client.put("/v1/deployments/a-model/mitigation", json={})

    assert health.status_code == httpx.codes.OK
    assert checked["state"] == "succeeded", checked
    assert checked["window"]["bias_detector"] == {"left_out": MISSING}
    assert checked["window"]["mitigation"]["attributes"]["housing"]["lifted"] == 9 + 19
    assert answered["predictions"][0]["mitigation"] == "changed"
    assert answered["bias_detector_version"] is None
    assert MISSING in " ".join(answered["notes"])
    assert [(answer.status_code, answer.json()["errors"]) for answer in refusals] == [
        (422, [{"field": "bias_detector", "message": f"must be off: {MISSING}"}])
    ] * 2
    assert "evenhand[detector]" in MISSING
    assert switched_off.json()["bias_detector"] == "off"


@contextmanager
def _serving(database: Database, folder: Path) -> Iterator[httpx.Client]:
    """A client of `evenhand serve` on that database, with a key that may do everything."""
    with database.transaction() as session:
        key = create_key(session, role=Role.ADMIN, name="test")
    port = free_port()
    environment = os.environ | without_detector(folder) | {"DATABASE_URL": database.url, "EVENHAND_PORT": str(port)}
    environment |= {"EVENHAND_DATA_DIR": str(folder / "data")}
    with (
        subprocess.Popen([sys.executable, "-m", "app.cli", "serve"], env=environment, cwd=REPOSITORY) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {key}"}, timeout=None) as client,
    ):
        try:
            wait_until(lambda: _is_ready(client), "it is ready")
            yield client
        finally:
            process.terminate()


def _is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/health/ready").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
