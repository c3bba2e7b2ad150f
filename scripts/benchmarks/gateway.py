"""Compares calls of a model through the gateway with direct calls of the same model, in one run.

The model answers after half to one and a half of `--model-ms`. Callers send single records to both in turns; medians of the latencies and
the processor time of a call are printed, and all records must arrive, each once. Goal: the median added latency is below 3 ms.

*Closed* callers, one, then 32, send again as soon as they are answered: this shows the throughput of one process, which cannot give 1,600
calls a second if each takes 0.6 ms of processor time. *Open* ones come at `--rate` calls a second, and a latency counts from the moment at
which the call was due.
"""

import argparse
import asyncio
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import uvicorn
import uvloop

from app.clock import utc_now
from app.domain.definitions import Definition
from app.domain.deployments import Column, Endpoint, FieldKind, FieldType, OutputFields, ProblemType
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

GOAL_MS = 3.0
DEPLOYMENT = "bench"
NAMES = [f"amount_{position}" for position in range(20)]
BODY = ('{"fields":[' + ",".join(f'"{name}"' for name in NAMES) + '],"values":[[' + ",".join("0.25" for _ in NAMES) + "]]}").encode()
ANSWER = b'{"fields":["prediction","probability"],"values":[[1,0.75]]}'
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which callers come: how many, and their calls a second in all, or None if they send as soon as they are answered."""

    callers: int
    rate: float | None = None

    def __str__(self) -> str:
        return f"{self.callers:3} callers, " + ("closed" if self.rate is None else f"{self.rate:g} calls/s")


@dataclass
class Figures:
    """Medians of the rounds with one way of coming, in milliseconds."""

    direct: list[float] = field(default_factory=list)
    through: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    answering: list[float] = field(default_factory=list)
    in_all: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=600, help="calls of each side in a round")
    parser.add_argument("--model-ms", type=float, default=20.0, help="time that the model takes for an answer")
    parser.add_argument("--rate", type=float, default=200.0, help="calls a second of the open way")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.model_ms / 1000)
        return
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o711)
        url = stack.enter_context(embedded_postgres(folder / "postgres"))
        model_port = stack.enter_context(model(options.model_ms))
        model_pid = find_child(b"--serve")
        key = set_up(url, folder, model_port)
        port = stack.enter_context(service(url, folder))
        pid = find_child(b"app.cli.api_process")
        connection = stack.enter_context(psycopg.connect(url.replace("+psycopg", ""), autocommit=True))
        sides = Sides(model_port, model_pid, port, key, pid, connection)
        lines: list[Line] = []
        for way in (Way(1), Way(32), Way(32, options.rate)):
            figures = Figures()
            for number in range(options.rounds + 1):
                sides.run_round(figures if number else Figures(), options.requests, way)
            lines.append(show(figures, way, options))
        is_complete = sides.stored() == sides.sent
        print(f"{sides.stored():,} of {sides.sent:,} records are stored, each once")
    sys.exit(0 if show_lines(lines) and is_complete else 1)


@dataclass
class Sides:
    model_port: int
    model_pid: int
    port: int
    key: str
    pid: int
    connection: psycopg.Connection[Any]
    sent: int = 0

    def run_round(self, figures: Figures, requests: int, way: Way) -> None:
        unasked = processor_ms(self.model_pid)
        direct = run(self.model_port, [request("/score", "") for _ in range(requests)], way)
        asked = processor_ms(self.model_pid) - unasked
        path = f"/v1/deployments/{DEPLOYMENT}/predictions"
        headers = (f"Authorization: Bearer {self.key}\r\nEvenhand-Record-Id: {uuid.uuid4()}\r\n" for _ in range(requests))
        prepared = [request(path, each) for each in headers]
        began = processor_ms(self.pid)
        through = run(self.port, prepared, way)
        answered = processor_ms(self.pid)
        wrong = next((body for body in (*direct.bodies, *through.bodies) if body != ANSWER), None)
        if wrong is not None:
            sys.exit(f"an answer was not the model's: {wrong!r}")
        self.sent += requests
        while self.stored() < self.sent:
            time.sleep(0.1)
        figures.direct.append(statistics.median(direct.latencies_ms))
        figures.through.append(statistics.median(through.latencies_ms))
        figures.asked.append(asked / requests)
        figures.answering.append((answered - began) / requests)
        figures.in_all.append((processor_ms(self.pid) - began) / requests)

    def stored(self) -> int:
        row = self.connection.execute("SELECT count(*) FROM payload_records").fetchone()
        return 0 if row is None else int(row[0])


def show(figures: Figures, way: Way, options: argparse.Namespace) -> Line:
    direct, through = statistics.median(figures.direct), statistics.median(figures.through)
    answering, in_all = statistics.median(figures.answering), statistics.median(figures.in_all)
    print(f"{way}, a model of {options.model_ms:g} ms: direct {direct:.2f} ms, through the gateway {through:.2f} ms:", end=" ")
    print(f"{through - direct:+.2f} ms (goal: below {GOAL_MS:g}), ratio {through / direct:.3f};", end=" ")
    asked = statistics.median(figures.asked)
    print(f"processor time of a call: model {asked:.2f} ms, service {answering:.2f} ms while answering,", end=" ")
    print(f"{in_all:.2f} ms with its record stored")
    return Line(f"gateway: added latency in ms, {way}", through - direct, GOAL_MS, is_most=True)


def run(port: int, requests: list[bytes], way: Way) -> Load:
    return uvloop.run(drive(port, requests, way.callers, way.rate))


def request(path: str, headers: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    return head.encode() + BODY


def find_child(argument: bytes) -> int:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return next(int(child) for child in children if argument in Path(f"/proc/{child}/cmdline").read_bytes())


def processor_ms(pid: int) -> float:
    cells = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) * 1000 / TICKS


def set_up(url: str, folder: Path, model_port: int) -> str:
    database = Database(url)
    upgrade(database)
    columns = tuple(Column(name=name, type=FieldType.NUMBER, kind=FieldKind.NUMERIC) for name in NAMES)
    definition = Definition(
        name=DEPLOYMENT,
        problem_type=ProblemType.BINARY,
        features=columns,
        meta=(),
        outputs=OutputFields(probability="probability"),
        model_revision="1",
        endpoint=Endpoint(url=f"http://127.0.0.1:{model_port}/score"),
    )
    with database.transaction() as session:
        ensure_coming_months(session, utc_now())
        Deployments(session, open_secret_box(Settings(data_dir=folder))).create(DEPLOYMENT, definition)
        key = create_key(session, role=Role.INGEST, name="bench")
    database.close()
    return key


@contextlib.contextmanager
def model(milliseconds: float) -> Iterator[int]:
    command = [sys.executable, "-P", __file__, "--serve", "--model-ms", str(milliseconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - this file
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            if not port:
                sys.exit("the model did not start")
            yield int(port)
        finally:
            process.terminate()


def serve(seconds: float) -> None:
    """Serves the model until terminated; prints the port."""
    draw = random.Random(0)  # noqa: S311 - times, no secrets

    async def answer(_scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own types
        while (await receive()).get("more_body", False):
            pass
        # Callers that all wait for the same time come back all at once.
        await asyncio.sleep(seconds * draw.uniform(0.5, 1.5))
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(ANSWER)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": ANSWER})

    config = uvicorn.Config(answer, host="127.0.0.1", port=0, log_level="error", lifespan="off", loop="uvloop")
    listener = config.bind_socket()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
