"""The service, a model and a load in one place, with the means to see how they stand."""

import random
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from app.checks.lease_queries import CHECK_POLICY
from app.cli.service.supervisor import MIN_STEADY_SECONDS
from tests.crashes.checking import MODEL_SECONDS, Asker, create, deployment, monitor
from tests.crashes.clients import Client
from tests.crashes.ledger import Ledger
from tests.crashes.model import ModelProcess, model_process
from tests.crashes.report import Report
from tests.crashes.service import Service, folder
from tests.crashes.truth import CheckTruth, count_records
from tests.crashes.watch import Watch
from tests.progress import wait_until

LOGGED = ["logged-1", "logged-2", "logged-3"]
CHECKED = [f"checked-{no:02d}" for no in range(24)]
CLIENTS = 4
MISSED_HEARTBEAT_SECONDS = 12.0
BURST = 5
"""Kills in a row; then everything runs long enough that the supervisor takes it for healthy again and restarts it at once."""


@dataclass
class Stage:
    """One running service. `hurried`: leases of dead workers are made to run out at once, as if their 30 seconds had passed."""

    home: Path
    service: Service
    model: ModelProcess
    key: str
    hurried: bool
    chance: random.Random
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        self.watch = Watch(self.service.connect)
        self._connection: psycopg.Connection[Any] | None = None

    def close(self) -> None:
        """Ends what it holds open itself."""
        self.watch.stop()
        if self._connection is not None:
            self._connection.close()

    def pauses(self, kills: int) -> Iterator[int]:
        """A number for each kill, with a rest after every burst."""
        for no in range(kills):
            if no and no % BURST == 0:
                time.sleep(MIN_STEADY_SECONDS + 1)
            yield no

    @contextmanager
    def logging(self) -> Iterator[None]:
        """Clients are at work until the block ends; then they finish what they began."""
        seeds = [self.chance.randrange(10**6) for _ in range(CLIENTS)]
        clients = [Client(self.service.base_url, self.key, LOGGED, self.ledger, seed=seed) for seed in seeds]
        for client in clients:
            client.start()
        try:
            yield
        finally:
            for client in clients:
                client.stop()
            for client in clients:
                client.join()

    @contextmanager
    def checking(self) -> Iterator[Asker]:
        """Checks are asked for until the block ends, and waited for afterwards."""
        self.model.slow(MODEL_SECONDS)
        asker = Asker(self.service.base_url, self.key, CHECKED, self.ledger)
        asker.start()
        try:
            yield asker
        finally:
            asker.stop()

    def seconds_until_answer(self, moment: float) -> float:
        """From the moment to the first acknowledgement of a request that was begun after it."""
        wait_until(lambda: self.ledger.first_answer_after(moment) is not None, "a request is acknowledged again")
        return (self.ledger.first_answer_after(moment) or moment) - moment

    def backend(self) -> int | None:
        """The server process of any of the service's connections."""
        found = self.service.backend_pids()
        return self.chance.choice(found) if found else None

    def drain(self, silent_seconds: float) -> CheckTruth:
        """All checks once none is open. When hurried, those are taken to be interrupted whose workers were silent for so long."""
        while (truth := self.watch.look()).in_state("queued", "running"):
            time.sleep(0.2)
            if self.hurried:
                self.let_leases_run_out(silent_seconds=silent_seconds)
        return truth

    def let_leases_run_out(self, *, silent_seconds: float = 0.0) -> None:
        """As if all of the 30 seconds had passed for the checks whose workers gave no sign of life for so long."""
        self.query(
            "UPDATE checks SET lease_until = now(), claimable_at = now()"
            " WHERE state = 'running' AND lease_until <= now() + %s - make_interval(secs => %s)",
            [CHECK_POLICY.lease, silent_seconds],
        )

    def query(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement, once the database answers."""
        while True:
            if self._connection is None or self._connection.closed:
                self._connection = self.service.connect()
            try:
                cursor = self._connection.execute(statement.encode(), parameters)
                return cursor.fetchall() if cursor.description else []
            except psycopg.OperationalError:
                self._connection.close()

    def tell(self, report: Report, *, silent_seconds: float = MISSED_HEARTBEAT_SECONDS) -> Report:
        """Completes the report with what is stored now. Call it when nobody is at work any more."""
        truth = self.drain(silent_seconds)
        with self.service.connect() as connection:
            report.add_records(count_records(connection, self.ledger), self.ledger)
        if truth.checks:
            report.add_checks(truth, looks=self.watch.looks, wrong=self.watch.wrong)
            needed = truth.counterfactuals
            report.add("model answers stored / rows asked", f"{needed} / {self.model.rows()} (interrupted checks ask again)")
        return report


@contextmanager
def stage(
    *, hurried: bool = False, seed: int = 1, keep_logs: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Stage]:
    """A fresh service with its own Postgres, deployments to log to and others to check, and a model."""
    with folder() as home, model_process() as model:
        service = Service(home, environment=settings)
        try:
            service.start()
            key = service.new_key()
            with httpx.Client(base_url=service.base_url, headers={"Authorization": f"Bearer {key}"}) as http:
                for name in LOGGED:
                    create(http, deployment(name, None))
                for name in CHECKED:
                    create(http, deployment(name, model.url), monitor())
            made = Stage(home, service, model, key, hurried, random.Random(seed))
            made.watch.start()
            try:
                yield made
            finally:
                made.close()
        finally:
            service.end()
            if keep_logs is not None:
                keep_logs.mkdir(parents=True, exist_ok=True)
                for log in (service.log, home / "data" / "postgres.log"):
                    shutil.copy(log, keep_logs)
