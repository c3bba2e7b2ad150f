"""Compares logging payload records with raw COPY of similar rows into the same tables, in one run.

Starts its own Postgres (fsync on) and the real service; all sides take turns. Goals, as parts of raw COPY on one connection: 1,000 records
a request 0.75 (fields/values 1.1), 100 a request 0.6. `posts` measures single records.
"""

import os
import random
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from app.database.engine import Database
from app.database.migrations import upgrade
from app.domain.deployment import FieldType, OutputFields
from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.load import Load, drive, make_post, percentile
from scripts.benchmarks.service import service, take_turns
from scripts.benchmarks.staging import create_deployments, define, own_postgres

DEPLOYMENT = "bench"
TEXTS = [f"kind_{position}" for position in range(10)]
WHOLES = [f"count_{position}" for position in range(6)]
NUMBERS = [f"amount_{position}" for position in range(4)]
NAMES = [*TEXTS, *WHOLES, *NUMBERS]
WORDS = ("a_value", "another", "third_option")
SCORED_AT = "2026-01-31T10:00:00.123Z"
CONNECTIONS = 4
CEILING = "raw COPY"

_random = random.Random(1)


@dataclass(frozen=True)
class Row:
    id: str
    cells: tuple[str, ...]

    @property
    def array(self) -> str:
        return f"[{','.join(self.cells)}]"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the requests of a full run")
    options = parser.parse_args()
    rates: dict[str, list[float]] = {}
    loads: dict[str, Load] = {}
    with own_postgres() as (url, folder):
        key, twin_no = prepare_deployment(url, folder)
        with service(url, folder) as port:
            for name in take_turns(options.rounds, (CEILING, *POSTS)):
                if name == CEILING:
                    rate = copy_rows(url, twin_no, max(1, int(150 * options.scale)))
                else:
                    posts = POSTS[name]
                    bodies = (posts.write(make_rows(posts.size)) for _ in range(max(CONNECTIONS, int(posts.count * options.scale))))
                    loads[name] = load = drive(port, [make_request(key, body) for body in bodies], CONNECTIONS)
                    load.require(f'{{"sent":{posts.size},"accepted":{posts.size},'.encode())
                    rate = load.requests * posts.size / load.seconds
                rates.setdefault(name, []).append(rate)
    sys.exit(0 if _report(rates, loads) else 1)


def prepare_deployment(url: str, folder: Path) -> tuple[str, int]:
    """Prepares a migrated database with the deployment and a twin for raw COPY; returns a key, and the twin's number."""
    database = Database(url)
    upgrade(database)
    types = dict.fromkeys(TEXTS, FieldType.STRING) | dict.fromkeys(WHOLES, FieldType.INTEGER) | dict.fromkeys(NUMBERS, FieldType.NUMBER)
    definition = define(types, OutputFields(probability="probability", label="label"))
    key, (_, twin) = create_deployments(database, folder, definition, DEPLOYMENT, "twin")
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
    return make_post(f"/v1/deployments/{deployment}/payload-records", body, key)


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


@dataclass(frozen=True)
class Posts:
    """Records of a request, requests of a round, and the least that is right as a part of raw COPY."""

    size: int
    count: int
    write: Callable[[list[Row]], bytes]
    goal: float


POSTS = {
    "1,000 a request": Posts(1000, 200, native_body, 0.75),
    "1,000 a request, fields/values": Posts(1000, 200, _fields_values, 1.1),
    "100 a request": Posts(100, 1200, native_body, 0.6),
}


def _report(rates: dict[str, list[float]], loads: dict[str, Load]) -> bool:
    print(f"{'':34}{'records/s':>11}{'p50 ms':>9}{'p99 ms':>9}")
    lines: list[Line] = []
    ceiling = statistics.median(rates[CEILING])
    for name, figures in rates.items():
        rate, cells = statistics.median(figures), ""
        if name in POSTS:
            latencies = loads[name].latencies_ms
            lines.append(Line(f"ingest: {name} / {CEILING}, records/s", rate / ceiling, POSTS[name].goal))
            cells = f"{percentile(latencies, 0.5):9.1f}{percentile(latencies, 0.99):9.1f}"
        print(f"{name:34}{rate:11,.0f}{cells}")
    return show_lines(lines)


if __name__ == "__main__":
    main()
