"""`evenhand import`, killed in the middle, continues when it is started again: each record once, and a complete report."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.database.engine import Database
from tests.builders.bodies import deployment
from tests.builders.queries import rows
from tests.progress import wait_until
from tests.service import running_service

RECORDS = 30_000


@pytest.mark.nightly
def test_an_import_that_is_killed_again_and_again_stores_each_record_once(database: Database, tmp_path: Path) -> None:
    chance = random.Random(3)
    file = tmp_path / "log.csv"
    lines = [f"{18 + no % 60},{'female' if no % 2 else 'male'},true,{'Risk' if no % 3 else 'No Risk'}\n" for no in range(RECORDS)]
    file.write_text("Age,Sex,Owner,prediction\n" + "".join(lines))
    with running_service(database, tmp_path / "data") as service:
        service.client.post("/v1/deployments", json=deployment()).raise_for_status()
        command = [sys.executable, "-m", "app.cli", "import", "payload", str(file), "--at", "2026-03-01T09:30:00Z"]
        command += ["--state", str(tmp_path / "state"), "--deployment", "credit-risk"]
        environment = {**os.environ, "EVENHAND_URL": service.base_url, "EVENHAND_KEY": service.admin_key}

        def stored() -> int:
            return int(rows(database, "SELECT count(*) FROM payload_records")[0][0])

        for _ in range(3):
            before = stored()
            with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as importing:
                more = chance.randrange(1, 5) * 1000
                wait_until(lambda before=before, more=more: stored() >= before + more, "records are stored")  # type: ignore[misc]
                importing.send_signal(signal.SIGKILL)
                importing.wait()
        assert stored() < RECORDS
        ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)

        assert ended.stdout.startswith(f"{RECORDS:,} rows: ")
        assert stored() == RECORDS
        assert rows(database, "SELECT count(DISTINCT record_id) FROM payload_records") == [(RECORDS,)]
        assert rows(database, "SELECT sum(records)::int FROM arrivals") == [(RECORDS,)]
