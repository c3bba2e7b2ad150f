"""Compares the service of another checkout with this one's: two services at once, asked in turns, on one Postgres server with fsync on.

FOLDER is a checkout with an environment in `.venv` (`scripts/run --once` makes one). Of each round the sides' ratio is taken, and of the
ratios the median: a machine is faster at one time than at another. Measured are raw COPY and payload records, whole checks of 500 and of
100,000 records, calls through the gateway by one caller and by 32, and memory of the idle processes without Postgres.
"""

import contextlib
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg

from scripts.arguments import make_parser
from scripts.benchmarks.ingest import DEPLOYMENT, NAMES, NUMBERS, TEXTS, WORDS, copy_rows, make_request, make_rows, native_body
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.load import Load, drive, make_post, percentile
from scripts.benchmarks.model import serving
from scripts.benchmarks.service import ROOT, Checkout, idle_megabytes, take_turns
from scripts.benchmarks.staging import open_client, own_postgres

CHECK_SIZES = (500, 100_000)
FIRST, SECOND = NAMES.index(NUMBERS[0]), NAMES.index(NUMBERS[1])
CALL = json.dumps({"fields": NAMES, "values": [[*(WORDS[0] for _ in TEXTS), *(1 for _ in NAMES[len(TEXTS) :])]]}).encode()

_CHECKED = """
SELECT state::text, extract(epoch FROM finished_at - started_at)::float, ("window" ->> 'copies_to_score')::int FROM checks WHERE id = %s
"""


@dataclass
class Side:
    port: int
    url: str
    process: psutil.Process
    key: str
    figures: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    p99: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Milliseconds of the latencies, by round."""

    def drive(self, name: str, requests: list[bytes], connections: int, beginning: bytes) -> Load:
        load = drive(self.port, requests, connections)
        load.require(beginning)
        self.p99[name].append(percentile(load.latencies_ms, 0.99))
        return load


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--before", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the requests of a full run")
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of names of measurements")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        server, folder = stack.enter_context(own_postgres())
        model = f"http://127.0.0.1:{stack.enter_context(serving(answer))}/score"
        before, now = (
            stack.enter_context(_running(code, folder / name, server, name, model))
            for name, code in (("before", options.before.resolve()), ("now", ROOT))
        )
        for side in (before, now):
            side.figures["memory of the idle processes, MB"].append(idle_megabytes(side.process))
        measurements = _measurements(options.scale)
        for name in take_turns(options.rounds, [name for name in measurements if name.startswith(tuple(options.only))]):
            for side in (before, now) if len(now.figures[name]) % 2 else (now, before):
                side.figures[name].append(measurements[name](side, name))
    sys.exit(0 if _report(before, now) else 1)


def _measurements(scale: float) -> dict[str, Callable[[Side, str], float]]:
    def post(size: int, count: int, connections: int) -> Callable[[Side, str], float]:
        def measure(side: Side, name: str) -> float:
            requests = [make_request(side.key, native_body(make_rows(size))) for _ in range(max(connections, int(count * scale)))]
            load = side.drive(name, requests, connections, f'{{"sent":{size},"accepted":{size},'.encode())
            return load.requests * size / load.seconds

        return measure

    def copy(side: Side, _name: str) -> float:
        with psycopg.connect(side.url) as connection:
            row = connection.execute("SELECT no FROM deployments WHERE id = 'twin'").fetchone()
        return copy_rows(side.url, row[0] if row else 0, max(1, int(150 * scale)))

    def call(callers: int, count: int) -> Callable[[Side, str], float]:
        def measure(side: Side, name: str) -> float:
            request = make_post(f"/v1/deployments/{DEPLOYMENT}/predictions", CALL, side.key)
            load = side.drive(name, [request] * max(100, int(count * scale)), callers, b'{"fields"')
            return statistics.median(load.latencies_ms)

        return measure

    return {
        "raw COPY, records/s": copy,
        "1,000 a request, records/s": post(1000, 200, 4),
        "1 a request, records/s": post(1, 30_000, 64),
        **{f"check of {size:,}, s": lambda side, _, size=size: _check(side, size) for size in CHECK_SIZES},  # type: ignore[misc]
        "gateway, 1 caller, p50 ms": call(1, 400),
        "gateway, 32 callers, p50 ms": call(32, 3000),
    }


def _report(before: Side, now: Side) -> bool:
    lines: list[Line] = []
    limits = {
        "1,000 a request, records/s": (0.9, False),
        **{f"check of {size:,}, s": (1.15, True) for size in CHECK_SIZES},
    }
    print(f"{'median':36}{'before':>12}{'now':>12}{'ratio':>8}  p99 ms before, now; ratios of the rounds")
    for name, figures in now.figures.items():
        ratios = [mine / theirs for mine, theirs in zip(figures, before.figures[name], strict=True)]
        p99 = ", ".join(f"{statistics.median(side.p99[name]):.1f}" for side in (before, now) if name in side.p99)
        medians = [statistics.median(side.figures[name]) for side in (before, now)]
        ratio = statistics.median(ratios)
        print(f"{name:36}{medians[0]:12,.2f}{medians[1]:12,.2f}{ratio:8.3f}  {p99}; {', '.join(f'{one:.2f}' for one in ratios)}")
        if name in limits:
            limit, is_most = limits[name]
            lines.append(Line(f"commits: {name.rpartition(',')[0]}, now / before", ratio, limit, is_most=is_most))
    large, raw = now.figures.get("1,000 a request, records/s"), now.figures.get("raw COPY, records/s")
    if large and raw:
        share = statistics.median(mine / bare for mine, bare in zip(large, raw, strict=True))
        lines.append(Line("commits: 1,000 a request / raw COPY", share, 0.75))
    return show_lines(lines)


def _check(side: Side, size: int) -> float:
    deployment = f"checked-{size}"
    batches = [make_request(side.key, native_body(make_rows(500)), deployment) for _ in range(0, size, 500)]
    drive(side.port, batches, 4).require(b'{"sent":500,"accepted":500,')
    with psycopg.connect(side.url, autocommit=True) as connection, open_client(side.port, side.key) as client:
        answer = client.post(f"/v1/deployments/{deployment}/checks").raise_for_status()
        while True:
            row = connection.execute(_CHECKED, [answer.json()["id"]]).fetchone()
            if row and row[1] is not None:
                if row[0] != "succeeded" or not row[2]:
                    sys.exit(f"a check of {size:,} records ended as {row[0]} with {row[2]} copies")
                return float(row[1])
            time.sleep(0.05)


@contextlib.contextmanager
def _running(code: Path, folder: Path, server: str, name: str, model: str) -> Iterator[Side]:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE bench_{name}")
    address = urlsplit(server)._replace(path=f"/bench_{name}").geturl()
    folder.mkdir()
    checkout = Checkout(code, code / ".venv" / "bin" / "python", address, folder)
    with checkout.running("serve") as process:
        side = Side(checkout.port, address, process, checkout.run("keys", "create", "--role", "admin", "--name", "bench"))
        _prepare(side, model)
        yield side


def _prepare(side: Side, model: str) -> None:
    features = [{"name": name, "type": "string" if name in TEXTS else "number" if name in NUMBERS else "integer"} for name in NAMES]
    with open_client(side.port, side.key) as client:
        for deployment in (DEPLOYMENT, "twin", *(f"checked-{size}" for size in CHECK_SIZES)):
            body: dict[str, Any] = {
                "id": deployment,
                "name": deployment,
                "problem_type": "binary",
                "features": features,
                "outputs": {"prediction": "prediction", "probability": "probability", "label": "label"},
                "model_revision": "1",
                "endpoint": {"url": model, "payload_format": "fields_values"},
            }
            client.post("/v1/deployments", json=body).raise_for_status()
        for size in CHECK_SIZES:
            monitor = {
                "favourable": ["Risk"],
                "unfavourable": ["No Risk"],
                "attributes": [
                    {"feature": TEXTS[0], "monitored": [WORDS[0]], "reference": [WORDS[1]], "threshold": 0.8},
                    {"feature": TEXTS[1], "monitored": [WORDS[0]], "reference": [WORDS[1], WORDS[2]], "threshold": 0.8},
                ],
                "max_records": size,
                "min_records": size,
                "schedule": "off",
            }
            client.put(f"/v1/deployments/checked-{size}/fairness-monitor", json=monitor).raise_for_status()


async def answer(_path: str, body: bytes) -> bytes:
    values = []
    for row in json.loads(body)["values"]:
        probability = (row[FIRST] + row[SECOND]) / 2
        is_risk = round(probability)
        values.append([is_risk, [1 - probability, probability], ("No Risk", "Risk")[is_risk]])
    return json.dumps({"fields": ["prediction", "probability", "label"], "values": values}).encode()


if __name__ == "__main__":
    main()
