"""Compares calls of a model through the gateway with direct calls of the same model, in one run.

The model answers after half to one and a half of `--model-ms`. Callers send single records to both in turns; medians of the latencies are
printed, and all records must arrive, each once. Goal: the median added latency is below 3 ms.

*Closed* callers, one, then 32, send again as soon as they are answered: this shows the throughput of one process. *Open* ones come at
`--rate` calls a second, and a latency counts from the moment at which the call was due.
"""

import asyncio
import contextlib
import random
import statistics
import sys
import time
import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg

from app.domain.deployment import Endpoint, FieldType, OutputFields
from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.load import drive, make_post
from scripts.benchmarks.model import serving
from scripts.benchmarks.service import service
from scripts.benchmarks.staging import create_deployments, define, own_database

GOAL_MS = 3.0
DEPLOYMENT = "bench"
NAMES = [f"amount_{position}" for position in range(20)]
BODY = ('{"fields":[' + ",".join(f'"{name}"' for name in NAMES) + '],"values":[[' + ",".join("0.25" for _ in NAMES) + "]]}").encode()
ANSWER = b'{"fields":["prediction","probability"],"values":[[1,0.75]]}'

_draw = random.Random(0)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=600, help="calls of each side in a round")
    parser.add_argument("--model-ms", type=float, default=20.0, help="time that the model takes for an answer")
    parser.add_argument("--rate", type=float, default=200.0, help="calls a second of the open way")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        database, folder = stack.enter_context(own_database())
        model_port = stack.enter_context(serving(partial(answer, options.model_ms / 1000)))
        endpoint = Endpoint(url=f"http://127.0.0.1:{model_port}/score")
        definition = define(dict.fromkeys(NAMES, FieldType.NUMBER), OutputFields(probability="probability"), endpoint)
        key, _ = create_deployments(database, folder, definition, DEPLOYMENT)
        port = stack.enter_context(service(database.url, folder))
        connection = stack.enter_context(psycopg.connect(database.url, autocommit=True))
        sides = Sides(model_port, port, key, connection)
        lines: list[Line] = []
        for callers, rate in ((1, None), (32, None), (32, options.rate)):
            rounds = [sides.run_round(options.requests, callers, rate) for _ in range(options.rounds + 1)]
            direct, through = (statistics.median(side) for side in zip(*rounds[1:], strict=True))
            way = f"{callers:3} callers, " + ("closed" if rate is None else f"{rate:g} calls/s")
            print(f"{way}, a model of {options.model_ms:g} ms: direct {direct:.2f} ms, through the gateway {through:.2f} ms")
            lines.append(Line(f"gateway: added latency in ms, {way}", through - direct, GOAL_MS, is_most=True))
        stored = sides.stored()
        print(f"{stored:,} of {sides.sent:,} records are stored, each once")
    sys.exit(0 if show_lines(lines) and stored == sides.sent else 1)


@dataclass
class Sides:
    model_port: int
    port: int
    key: str
    connection: psycopg.Connection[Any]
    sent: int = 0

    def run_round(self, requests: int, callers: int, rate: float | None) -> tuple[float, float]:
        """Returns the median latencies in milliseconds, direct and through the gateway."""
        direct = drive(self.model_port, [make_post("/score", BODY)] * requests, callers, rate)
        path = f"/v1/deployments/{DEPLOYMENT}/predictions"
        prepared = [make_post(path, BODY, self.key, f"Evenhand-Record-Id: {uuid.uuid4()}\r\n") for _ in range(requests)]
        through = drive(self.port, prepared, callers, rate)
        wrong = next((body for body in (*direct.bodies, *through.bodies) if body != ANSWER), None)
        if wrong is not None:
            sys.exit(f"an answer was not the model's: {wrong!r}")
        self.sent += requests
        while self.stored() < self.sent:
            time.sleep(0.1)
        return statistics.median(direct.latencies_ms), statistics.median(through.latencies_ms)

    def stored(self) -> int:
        row = self.connection.execute("SELECT count(*) FROM payload_records").fetchone()
        return 0 if row is None else int(row[0])


async def answer(seconds: float, _path: str, _body: bytes) -> bytes:
    # Callers that all wait for the same time come back all at once.
    await asyncio.sleep(seconds * _draw.uniform(0.5, 1.5))
    return ANSWER


if __name__ == "__main__":
    main()
