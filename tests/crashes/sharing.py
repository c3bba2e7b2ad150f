"""Two services and two workers on one database: many checks that are due at once, each done once."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from tests.builders.check_results import read_results
from tests.crashes.checking import create, deployment, monitor
from tests.crashes.model import ModelProcess, model_process
from tests.crashes.report import Report
from tests.crashes.service import EVENHAND, REPOSITORY, Service, folder
from tests.crashes.truth import look_at_checks
from tests.progress import wait_until

RECORDS = 4
"""Of each deployment; each has one copy to be scored."""

PAGE_SECONDS = 0.02
_DUE_HOUR = "SELECT date_trunc('hour', now() - interval '30 seconds') - interval '1 hour'"
_OPEN = "SELECT count(*) FILTER (WHERE state NOT IN ('queued', 'running')) FROM checks WHERE trigger = 'schedule' AND span_start = %s"


class WorkerProcess:
    """One `evenhand worker`."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process = process
        self._log = log

    def ended_checks(self) -> list[str]:
        """The ids of the checks that it says it has ended."""
        lines = [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]
        # Lines of the audit, which are printed as well, have no event of the log.
        return [line["check"] for line in lines if line.get("event") == "check_ended"]


@contextmanager
def worker_process(service: Service, log: Path) -> Iterator[WorkerProcess]:
    """A worker on the service's database, until the block ends."""
    environment = {**service.environment, "DATABASE_URL": service.database_url}
    with (
        log.open("wb") as output,
        subprocess.Popen((*EVENHAND, "worker"), env=environment, cwd=REPOSITORY, stdout=output, stderr=output) as process,
    ):
        try:
            yield WorkerProcess(process, log)
        finally:
            process.kill()


@contextmanager
def two_services(home: Path) -> Iterator[tuple[Service, Service]]:
    """Two `evenhand serve --without-worker`, the second on the embedded database of the first."""
    first = Service(home, arguments=["--without-worker"])
    try:
        first.start()
        second = Service(home, arguments=["--without-worker"], environment={"DATABASE_URL": first.database_url})
        try:
            second.start()
            yield first, second
        finally:
            second.end()
    finally:
        first.end()


def due_at_once(deployments: int) -> Report:
    """The story: that many deployments, all due for the same hour."""
    report = Report(f"E. two services and two workers on one database, {deployments} checks due at once")
    with folder() as home, model_process() as model, two_services(home) as (first, second):
        model.slow(PAGE_SECONDS)
        headers = {"Authorization": f"Bearer {first.new_key()}"}
        with (
            httpx.Client(base_url=first.base_url, headers=headers) as one,
            httpx.Client(base_url=second.base_url, headers=headers) as other,
            first.connect() as connection,
        ):
            hour: datetime = connection.execute(_DUE_HOUR).fetchone()[0]  # type: ignore[index]
            names = _seed([one, other], deployments, model.url, hour)
            # As if the monitors had been switched on when the hour began.
            connection.execute("UPDATE monitors SET scheduled_since = %s", [hour])
            began = time.monotonic()
            with worker_process(first, home / "worker-1.log") as left, worker_process(first, home / "worker-2.log") as right:
                wait_until(lambda: connection.execute(_OPEN, [hour]).fetchone() == (deployments,), "all are done")
                report.add("seconds", f"{time.monotonic() - began:.1f}")
                time.sleep(1)  # for a second run of anything to show itself
                done = [left.ended_checks(), right.ended_checks()]
            truth = look_at_checks(connection)
            _tell_checks(report, [check.id for check in truth.checks], done)
            _tell_answers(report, [other, one], names, hour)
        report.violations += truth.half_written
        report.add("half-written checks", len(truth.half_written))
        _tell_model(report, model, truth.counterfactuals, deployments * RECORDS)
    return report


def _seed(https: list[httpx.Client], deployments: int, url: str, hour: datetime) -> list[str]:
    """The deployments' names; each is made and fed through one of the services in turn."""
    names = [f"due-{no:03d}" for no in range(deployments)]
    for no, name in enumerate(names):
        http = https[no % 2]
        create(http, deployment(name, url), monitor(schedule="hourly", min_records=RECORDS))
        scored_at = hour.replace(minute=30).isoformat()
        records = [
            {
                "id": f"r{record}",
                "scored_at": scored_at,
                "prediction": record % 2,
                "probability": 0.5,
                "features": {"sex": ("female", "male")[record % 2], "income": 20_000, "age": 30},
            }
            for record in range(RECORDS)
        ]
        http.post(f"/v1/deployments/{name}/payload-records", params={"historical": "true"}, json={"records": records}).raise_for_status()
    return names


def _tell_checks(report: Report, checks: list[str], done: list[list[str]]) -> None:
    both = [*done[0], *done[1]]
    report.add("checks stored", len(checks))
    report.add("ended by worker 1 / worker 2", f"{len(done[0])} / {len(done[1])}")
    report.add("ended twice", len(both) - len(set(both)))
    if len(both) != len(set(both)):
        report.violations.append("a check was ended twice")
    if set(both) != set(checks):
        report.violations.append(f"{len(set(checks) ^ set(both))} checks are stored that no worker ended, or the reverse")
    if not all(done):
        report.violations.append("one worker did nothing")


def _tell_answers(report: Report, https: list[httpx.Client], names: list[str], hour: datetime) -> None:
    """Each deployment's checks as the service says that did not make it."""
    succeeded, measurements = 0, set()
    for no, name in enumerate(names):
        runs: list[dict[str, Any]] = https[no % 2].get(f"/v1/deployments/{name}/checks").raise_for_status().json()["checks"]
        of_hour = [run for run in runs if datetime.fromisoformat(run["from"]) == hour]
        good = [run for run in of_hour if (run["state"], run["attempts"]) == ("succeeded", 1)]
        succeeded += len(good)
        if len(of_hour) != 1 or len(good) != 1:
            report.violations.append(f"{name} has {[(run['state'], run['attempts'], run['reason']) for run in of_hour]} for the hour")
            continue
        read = read_results(https[no % 2], f"/v1/deployments/{name}/checks/{good[0]['id']}")
        measurements.add((len(read["measurements"]), len(read["tables"])))
    report.add("deployments with one succeeded check, first attempt", f"{succeeded} of {len(names)}")
    report.add("(measurements, tables) of a check", ", ".join(map(str, sorted(measurements))))
    if len(measurements) != 1:
        report.violations.append("equal deployments have unequal results")


def _tell_model(report: Report, model: ModelProcess, stored: int, needed: int) -> None:
    asked = model.rows()
    report.add("model rows needed / asked / stored", f"{needed} / {asked} / {stored}")
    if (asked, stored) != (needed, needed):
        report.violations.append(f"{needed} rows were needed; the model was asked for {asked}, {stored} are stored")
