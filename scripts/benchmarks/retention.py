"""Compares the latency of logging with and without retention at work, in one run.

Callers send single records at a fixed rate; latency counts from the moment at which a request was due. Rounds take turns: nothing else; a
month that is dropped; a month of two deployments of which one is erased in batches; the erasure of a person of every 100th record.
"""

import argparse
import contextlib
import json
import multiprocessing
import statistics
import sys
import tempfile
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psycopg
import uvloop

from app.cli.database import lower_priority
from app.clock import utc_now
from app.domain.definitions import Definition
from app.domain.deployments import Column, FieldKind, FieldType, OutputFields, ProblemType
from app.domain.retention import RecordSelector, RetentionPolicy
from app.embedded import embedded_postgres
from app.retention.erasing import perform_erasures
from app.retention.expiring import apply_policies
from app.security.keys import create_key
from app.security.principals import Role
from app.security.secrets import open_secret_box
from app.settings import Settings
from app.store.database.engine import Database
from app.store.database.migrate import upgrade
from app.store.database.partitions import ensure_coming_months, ensure_months
from app.store.deployments.deployments import Deployments
from app.store.retention.erasures import request_erasure
from app.store.retention.holds import put_policy
from scripts.benchmarks.load import Load, drive
from scripts.benchmarks.service import service

PERSON, EVERY = "c-1815", 100

_FILL = """
WITH added AS (INSERT INTO payload_records (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at,
    features, meta, prediction)
  SELECT %(no)s, %(start)s::timestamptz + i * interval '1 second', nextval('record_no_seq'), gen_random_uuid()::text, 1, '1', now(),
    jsonb_build_array('a_value', i, 0.5), jsonb_build_array(CASE WHEN i %% %(every)s = 0 THEN %(person)s ELSE 'c' || i END), '1'
  FROM generate_series(1, %(records)s) i RETURNING deployment_no, record_id, record_no, logged_at)
INSERT INTO payload_keys (deployment_no, record_id, record_no, logged_at) SELECT * FROM added
"""


class Stage:
    """The database with a deployment that is written to, and two with records of a past month."""

    def __init__(self, url: str, folder: Path, records: int) -> None:
        self.url, self.records = url, records
        self.database = Database(url)
        upgrade(self.database)
        with self.database.transaction() as session:
            ensure_coming_months(session, utc_now())
            ensure_months(session, [(2024, 3)])
            deployments = Deployments(session, open_secret_box(Settings(data_dir=folder)))
            self.busy, self.aged, self.other = (deployments.create(name, _definition())[0] for name in ("busy", "aged", "other"))
            self.key = create_key(session, role=Role.INGEST, name="load")

    def fill(self, *numbers: int) -> None:
        with self.database.transaction() as session:
            ensure_months(session, [(2024, 3)])
        with psycopg.connect(self.url, autocommit=True) as connection:
            for no in numbers:
                values = {"no": no, "start": "2024-03-02", "records": self.records, "every": EVERY, "person": PERSON}
                connection.execute(_FILL, values)
            connection.execute("VACUUM ANALYZE payload_records, payload_keys")

    def count(self, no: int) -> int:
        with psycopg.connect(self.url) as connection:
            row = connection.execute("SELECT count(*) FROM payload_records WHERE deployment_no = %s", [no]).fetchone()
            return 0 if row is None else int(row[0])


def expire(url: str, no: int) -> None:
    database = _background_database(url)
    with database.transaction() as session:
        put_policy(session, no, RetentionPolicy(records_months=6))
    apply_policies(database)
    with database.transaction() as session:
        put_policy(session, no, RetentionPolicy())


def erase_person(url: str, no: int) -> None:
    database = _background_database(url)
    selector = RecordSelector(field="customer", value=PERSON)
    with database.transaction() as session:
        request_erasure(session, no, "aged", erasure_id=str(uuid.uuid4()), selector=selector, by="script")
    while not perform_erasures(database, settled_after=timedelta(0)):
        pass


def rest(url: str, _no: int) -> None:
    """Starts as the others do, and does nothing."""
    _background_database(url)


def _background_database(url: str) -> Database:
    """Returns the database for a process of its own that gives way, as the worker does."""
    lower_priority()
    return Database(url)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--rounds", 3), ("--records", 200_000), ("--rate", 400), ("--seconds", 15)):
        parser.add_argument(name, type=int, default=default)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-retention-"))
        Path(folder).chmod(0o711)  # the database may run as another account
        stage = Stage(stack.enter_context(embedded_postgres(Path(folder))), Path(folder), options.records)
        with service(stage.url, Path(folder)) as port:
            _run(stage, port, options)
        stage.database.close()


def _run(stage: Stage, port: int, options: argparse.Namespace) -> None:
    sides: dict[str, tuple[Callable[[], None], Callable[[str, int], None], Callable[[], int]]] = {
        "logging alone": (lambda: None, rest, lambda: 0),
        "a month is dropped": (lambda: stage.fill(stage.aged.no), expire, lambda: stage.count(stage.aged.no)),
        "records in batches": (lambda: stage.fill(stage.aged.no, stage.other.no), expire, lambda: stage.count(stage.aged.no)),
        "a person": (lambda: stage.fill(stage.aged.no), erase_person, lambda: _persons(stage)),
    }
    context = multiprocessing.get_context("spawn")
    found: dict[str, list[Load]] = {name: [] for name in sides}
    left = dict.fromkeys(sides, 0)
    uvloop.run(drive(port, _requests(stage.key, 2000), 8))
    for number in range(options.rounds):
        for name, (prepare, work, count) in sides.items():
            print(f"round {number + 1} of {options.rounds}: {name} …", file=sys.stderr, flush=True)
            prepare()
            worker = context.Process(target=work, args=(stage.url, stage.aged.no))
            worker.start()
            load = uvloop.run(drive(port, _requests(stage.key, options.rate * options.seconds), 32, rate=options.rate))
            worker.join()
            if worker.exitcode:
                sys.exit(f"{name}: its process ended with {worker.exitcode}")
            refused = [body for body in load.bodies if not body.startswith(b'{"sent":1,"accepted":1,')]
            if refused:
                sys.exit(f"{len(refused)} requests were not accepted; one answer: {refused[0][:300]!r}")
            found[name].append(load)
            left[name] += count()
            _clear(stage)
    alone = statistics.median(_percentile(load, 0.99) for load in found["logging alone"])
    print(f"{'':24}{'p50 ms':>9}{'p99 ms':>9}{'ratio':>8}{'left':>8}")
    for name, loads in found.items():
        p50, p99 = (statistics.median(_percentile(load, share) for load in loads) for share in (0.5, 0.99))
        print(f"{name:24}{p50:9.1f}{p99:9.1f}{p99 / alone:8.2f}{left[name]:8d}")
    expected = options.rounds * len(sides) * options.rate * options.seconds + 2000
    print(f"logged: {stage.count(stage.busy.no):,} of {expected:,} acknowledged")


def _clear(stage: Stage) -> None:
    with psycopg.connect(stage.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS payload_records_2024_03")
        connection.execute("DELETE FROM payload_keys WHERE deployment_no <> %s", [stage.busy.no])


def _persons(stage: Stage) -> int:
    with psycopg.connect(stage.url) as connection:
        row = connection.execute("SELECT count(*) FROM payload_records WHERE meta->>0 = %s", [PERSON]).fetchone()
        return 0 if row is None else int(row[0])


def _percentile(load: Load, share: float) -> float:
    ordered = sorted(load.latencies_ms)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _definition() -> Definition:
    text, number = (FieldType.STRING, FieldKind.CATEGORICAL), (FieldType.NUMBER, FieldKind.NUMERIC)
    columns = [Column(name=name, type=kind[0], kind=kind[1]) for name, kind in (("word", text), ("count", number), ("amount", number))]
    return Definition(
        name="Load",
        problem_type=ProblemType.BINARY,
        features=tuple(columns),
        meta=(Column(name="customer", type=text[0], kind=text[1]),),
        outputs=OutputFields(),
        model_revision="1",
        endpoint=None,
    )


def _requests(key: str, count: int) -> list[bytes]:
    requests = []
    for number in range(count):
        record = {
            "id": str(uuid.uuid4()),
            "features": {"word": "a", "count": number, "amount": 0.5},
            "prediction": 1,
            "meta": {"customer": "x"},
        }
        body = json.dumps({"records": [record]}).encode()
        head = (
            f"POST /v1/deployments/busy/payload-records HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        requests.append(head.encode() + body)
    return requests


if __name__ == "__main__":
    main()
