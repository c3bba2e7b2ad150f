"""Upgrades a service under load from an earlier commit to this one, and counts what callers lose.

Starts the commit's service and worker on a Postgres of its own. Callers log records and labels, ask for readiness, for the overview and for
the checks, at a fixed rate and without a retry. This version migrates the database while the old processes serve, and while one session
reads the log for `--long-read` seconds; the old worker checks an hour on the new schema; a service and a worker of this version share the
load; the old ones are stopped as a load balancer would. Every acknowledged record and label must be stored exactly once.

`--own-environment` installs the lock file of the commit into an environment of its own; by default it must be the one of this commit.
"""

import argparse
import collections
import contextlib
import itertools
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg

from scripts.arguments import make_parser
from scripts.benchmarks.service import ROOT, Checkout, install
from scripts.benchmarks.staging import open_client, own_postgres, register

OLDEST = "3c3822ce"
"""First commit whose processes run on newer schemas; those of 0.1 must be stopped before."""

DEPLOYMENT = "upgraded"


@dataclass
class Callers:
    """Load on the ports that a load balancer would use. Counts answers by phase and status, and notes what was acknowledged."""

    key: str
    rate: float
    ports: list[int] = field(default_factory=list)
    phase: str = "old alone"
    answers: collections.Counter[tuple[str, int]] = field(default_factory=collections.Counter)
    records: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    slowest_seconds: dict[str, float] = field(default_factory=dict)
    under_way: collections.Counter[int] = field(default_factory=collections.Counter)
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def calling(self, count: int) -> Iterator[None]:
        threads = [threading.Thread(target=self._call, args=(no, count)) for no in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def take_out(self, port: int) -> None:
        """Sends nothing more to a port, and returns when its last request was answered."""
        with self._lock:
            self.ports = [one for one in self.ports if one != port]
        while self.under_way[port]:
            time.sleep(0.01)

    def _call(self, no: int, count: int) -> None:
        headers = {"Authorization": f"Bearer {self.key}"}
        base = f"/v1/deployments/{DEPLOYMENT}"
        with httpx.Client(headers=headers, timeout=30) as client:
            for turn in itertools.count():
                if self._stop.wait(count / self.rate):
                    return
                with self._lock:
                    port = self.ports[(turn + no) % len(self.ports)]
                    self.under_way[port] += 1
                try:
                    self._one(client, f"http://127.0.0.1:{port}", base, turn)
                except httpx.HTTPError as error:
                    self.faults.append(f"{self.phase}: {error!r}")
                finally:
                    with self._lock:
                        self.under_way[port] -= 1

    def _one(self, client: httpx.Client, address: str, base: str, turn: int) -> None:
        kind = ("record", "record", "record", "record", "label", "read", "read", "read")[turn % 8]
        record = str(uuid.uuid4())
        if kind == "record":
            body = {"records": [{"id": record, "features": {"sex": "female", "income": turn}, "prediction": turn % 2}]}
            answer, route = client.post(f"{address}{base}/payload-records", json=body), "payload"
            if answer.is_success:
                self.records.append(record)
        elif kind == "label" and self.records:
            record = self.records[-1]
            answer = client.post(f"{address}{base}/feedback-records", json={"records": [{"id": record, "label": 1}]})
            route = "feedback"
            if answer.is_success:
                self.labels.append(record)
        else:
            route = ("/health/ready", "/v1/overview", f"{base}/checks")[turn % 3]
            answer = client.get(f"{address}{route}")
        self.answers[self.phase, answer.status_code] += 1
        with self._lock:
            self.slowest_seconds[self.phase] = max(self.slowest_seconds.get(self.phase, 0), answer.elapsed.total_seconds())
        if answer.is_error:
            self.faults.append(f"{self.phase}: {route} {answer.status_code} {answer.text[:200]}")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--from", dest="commit", default=OLDEST)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--long-read", type=float, default=4, help="seconds for which one session reads the log when the migration begins")
    parser.add_argument("--own-environment", action="store_true")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        url, folder = stack.enter_context(own_postgres())
        old_folder = stack.enter_context(_checked_out(options.commit, folder / "old"))
        python = here = Path(sys.executable)
        if options.own_environment:
            python = install(old_folder / "requirements.lock", folder / "environment")
        old, new = Checkout(old_folder, python, url, folder), Checkout(ROOT, here, url, folder)
        sys.exit(_upgrade(old, new, url, options))


def _upgrade(old: Checkout, new: Checkout, url: str, options: argparse.Namespace) -> int:
    old.run("migrate")
    schema = _revision(url)
    callers = Callers(old.run("keys", "create", "--role", "admin"), options.rate)
    with contextlib.ExitStack() as processes:
        first = processes.enter_context(contextlib.ExitStack())
        first.enter_context(old.running("serve", "--without-worker"))
        first.enter_context(old.running("worker"))
        with open_client(old.port, callers.key) as client:
            register(client, DEPLOYMENT, {"name": "income", "type": "number"}, {}, min_records=10)
        callers.ports = [old.port]
        with callers.calling(8):
            time.sleep(options.seconds)
            callers.phase = "migrating"
            with _long_read(url, options.long_read):
                new.run("migrate")
            callers.phase = "old on the new schema"
            checked = [_check(old.port, callers.key)]
            time.sleep(options.seconds)
            callers.phase = "old and new"
            processes.enter_context(new.running("serve", "--without-worker"))
            processes.enter_context(new.running("worker"))
            callers.ports = [old.port, new.port]
            time.sleep(options.seconds)
            callers.take_out(old.port)
            callers.phase = "new alone"
            first.close()
            checked.append(_check(new.port, callers.key))
            time.sleep(options.seconds)
    return _report(callers, checked, url, f"{options.commit} (schema {schema}) to schema {_revision(url)}")


@contextlib.contextmanager
def _long_read(url: str, seconds: float) -> Iterator[None]:
    def read() -> None:
        with psycopg.connect(url) as reader:
            reader.execute("SELECT FROM payload_records LIMIT 1")
            begun.set()
            time.sleep(seconds)

    begun = threading.Event()
    thread = threading.Thread(target=read)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        thread.join()


def _report(callers: Callers, checked: list[str], url: str, versions: str) -> int:
    print(f"From {versions}")
    for phase, slowest in callers.slowest_seconds.items():
        statuses = sorted((status, count) for (found, status), count in callers.answers.items() if found == phase)
        shown = "  ".join(f"{status}: {count:,}" for status, count in statuses)
        print(f"{phase:24}{shown}  slowest: {slowest:.2f} s")
    with psycopg.connect(url) as connection:
        stored = [record_id for (record_id,) in connection.execute("SELECT record_id FROM payload_records")]
        labelled = [one for (one,) in connection.execute("SELECT feedback_id FROM feedback_records")]
    lost = len(set(callers.records) - set(stored)) + len(set(callers.labels) - set(labelled))
    twice = len(stored) - len(set(stored)) + len(labelled) - len(set(labelled))
    print(f"acknowledged: {len(callers.records):,} records, {len(callers.labels):,} labels; lost: {lost}; stored twice: {twice}")
    print(f"checks on the new schema, by the old and by the new worker: {', '.join(checked)}")
    print(f"requests that failed: {len(callers.faults)}")
    for fault in callers.faults[:10]:
        print(f"  {fault}")
    return 1 if lost or twice or callers.faults or set(checked) != {"succeeded"} else 0


def _check(port: int, key: str) -> str:
    with open_client(port, key) as client:
        answer = client.post(f"/v1/deployments/{DEPLOYMENT}/checks", json={})
        if answer.is_error:
            return f"{answer.status_code} {answer.text[:200]}"
        address = answer.headers["Location"]
        while (state := client.get(address).raise_for_status().json()["state"]) in {"queued", "running"}:
            time.sleep(0.1)
        return str(state)


@contextlib.contextmanager
def _checked_out(commit: str, folder: Path) -> Iterator[Path]:
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(folder), commit], cwd=ROOT, check=True)  # noqa: S607 - of the caller
    try:
        yield folder
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(folder)], cwd=ROOT, check=True)  # noqa: S607 - as above


def _revision(url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return "none" if row is None else str(row[0])


if __name__ == "__main__":
    main()
