"""Compares the debiased endpoint with one plain call of the same model over HTTP, in one run.

The model is a scikit-learn pipeline of ten numbers and ten categories, served in its own process, which counts its calls. Both sides get
the same rows over one connection, in turns. "All copied" are requests of nothing but monitored records with an unfavourable outcome; "as
they come" about half of the records are of the reference group. Goal: at most 2.3 times a plain call, and two calls of the model at most.
"""

import argparse
import contextlib
import http.client
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import uvicorn
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from app.clock import utc_now
from app.domain.definitions import Definition
from app.domain.deployments import Column, Endpoint, FieldKind, FieldType, OutputFields, ProblemType
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.outcomes import OutcomeRule
from app.embedded import embedded_postgres
from app.security.keys import create_key
from app.security.principals import Role
from app.security.secrets import open_secret_box
from app.settings import Settings
from app.store.database.engine import Database
from app.store.database.migrate import upgrade
from app.store.database.partitions import ensure_coming_months
from app.store.deployments.deployments import Deployments
from app.store.deployments.monitors import put_monitor
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.service import service

GOAL = 2.3
GOAL_CALLS = 2
SIZES = (1, 10, 100)
NUMBERS = [f"amount_{position}" for position in range(10)]
KINDS = ["sex", *(f"kind_{position}" for position in range(9))]
NAMES = [*NUMBERS, *KINDS]
WORDS = ["low", "middle", "high", "unknown"]
ACTIVE = "/v1/deployments/bench/debiased-predictions"
WARM_UP = 300

_random = random.Random(1)  # noqa: S311 - rows, not secrets

Row = list[Any]


@dataclass
class Side:
    """Latencies in milliseconds, and the number of model calls per request."""

    latencies: list[float] = field(default_factory=list)
    calls: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.latencies)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=60, help="of each size, side and round")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-bench-")))
        folder.chmod(0o711)  # the database may run as another account
        url = stack.enter_context(embedded_postgres(folder))
        model_port = stack.enter_context(model())
        key = prepare(url, folder, model_port)
        port = stack.enter_context(service(url, folder))
        log_some(port, key)
        results = measure(model_port, port, key, options)
    sys.exit(report(results))


def measure(model_port: int, port: int, key: str, options: argparse.Namespace) -> dict[tuple[str, int], tuple[Side, Side]]:
    results = {(kind, size): (Side(), Side()) for kind in ("all copied", "as they come") for size in SIZES}
    model_client, our_client = Client(model_port, "/score", key), Client(port, ACTIVE, key)
    for number in range(options.rounds + 1):
        for (kind, size), (plain, active) in results.items():
            found: tuple[list[float], list[float]] = ([], [])
            before = calls_of(model_port)
            for _ in range(options.requests):
                body = msgspec.json.encode({"fields": NAMES, "values": rows_of(size, all_copied=kind == "all copied")})
                found[0].append(model_client.milliseconds(body))
                found[1].append(our_client.milliseconds(body))
            if number > 0:
                plain.latencies += found[0]
                active.latencies += found[1]
                active.calls = (calls_of(model_port) - before) / options.requests - 1
    return results


class Client:
    def __init__(self, port: int, path: str, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._path = path
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}

    def milliseconds(self, body: bytes) -> float:
        began = time.perf_counter()
        self._connection.request("POST", self._path, body, self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        took = time.perf_counter() - began
        if response.status != http.HTTPStatus.OK:
            sys.exit(f"a request failed: {answer[:500]!r}")
        return took * 1000


def report(results: dict[tuple[str, int], tuple[Side, Side]]) -> int:
    lines: list[Line] = []
    print(f"{'':14}{'rows':>5}{'plain ms':>10}{'active ms':>11}{'ratio':>8}{'goal':>6}{'calls':>7}{'plain p95':>11}{'active p95':>12}")
    for (kind, size), (plain, active) in results.items():
        ratio = active.median / plain.median
        lines.append(Line(f"mitigation: active / plain call, {kind}, {size} rows", ratio, GOAL, is_most=True))
        lines.append(Line(f"mitigation: calls of the model, {kind}, {size} rows", active.calls, GOAL_CALLS, is_most=True))
        tails = [statistics.quantiles(side.latencies, n=20)[-1] for side in (plain, active)]
        print(
            f"{kind:14}{size:5}{plain.median:10.2f}{active.median:11.2f}{ratio:8.2f}{GOAL:6}{active.calls:7.2f}"
            f"{tails[0]:11.2f}{tails[1]:12.2f}"
        )
    return 0 if show_lines(lines) else 1


def prepare(url: str, folder: Path, model_port: int) -> str:
    database = Database(url)
    upgrade(database)
    columns = [Column(name=name, type=FieldType.NUMBER, kind=FieldKind.NUMERIC) for name in NUMBERS]
    columns += [Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL) for name in KINDS]
    definition = Definition(
        name="Bench",
        problem_type=ProblemType.BINARY,
        features=tuple(columns),
        meta=(),
        outputs=OutputFields(probability="probability"),
        model_revision="1",
        endpoint=Endpoint(url=f"http://127.0.0.1:{model_port}/score"),
    )
    watched = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
    with database.transaction() as session:
        ensure_coming_months(session, utc_now())
        deployment, _ = Deployments(session, open_secret_box(Settings(data_dir=folder))).create("bench", definition)
        put_monitor(session, deployment.no, Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(watched,)))
        key = create_key(session, role=Role.INGEST, name="bench")
    database.close()
    return key


def log_some(port: int, key: str) -> None:
    values = [*rows_of(WARM_UP, all_copied=False)]
    records = [
        {
            "id": uuid.uuid4().hex,
            "features": dict(zip(NAMES, row, strict=True)),
            "prediction": place % 2,
            "probability": 0.2 + 0.6 * (place % 2),
        }
        for place, row in enumerate(values)
    ]
    Client(port, "/v1/deployments/bench/payload-records", key).milliseconds(msgspec.json.encode({"records": records}))


def rows_of(count: int, *, all_copied: bool) -> list[Row]:
    """Returns rows that the model refuses, all or about half of them of the monitored group."""
    return [_row("female" if all_copied or _random.random() < 0.5 else "male") for _ in range(count)]  # noqa: PLR2004 - half of them


def _row(sex: str) -> Row:
    # Amounts below the average of the model's training data, so that it refuses.
    return [*(round(_random.gauss(-1.0, 0.3), 4) for _ in NUMBERS), sex, *_random.choices(WORDS, k=len(KINDS) - 1)]


def calls_of(model_port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{model_port}/counts", timeout=5) as answer:
        return int(answer.read())


@contextlib.contextmanager
def model() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-P", __file__, "--serve"], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - this file
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            if not port:
                sys.exit("the model did not start")
            yield int(port)
        finally:
            process.terminate()


def serve() -> None:
    config = uvicorn.Config(Served(trained()), host="127.0.0.1", port=0, log_level="error", lifespan="off")
    listener = config.bind_socket()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listener])


def trained() -> Pipeline:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(2000, len(NUMBERS))), columns=NUMBERS)
    for name in KINDS:
        frame[name] = draw.choice(["female", "male"] if name == "sex" else WORDS, size=len(frame))
    target = frame[NUMBERS].sum(axis=1) + (frame["sex"] == "male") + draw.normal(size=len(frame)) > 0
    prepared = ColumnTransformer([("numbers", StandardScaler(), NUMBERS), ("kinds", OneHotEncoder(handle_unknown="ignore"), KINDS)])
    pipeline: Pipeline = make_pipeline(prepared, LogisticRegression(max_iter=500)).fit(frame, target.astype(int))
    return pipeline


class Served:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._calls = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own types
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        answer = str(self._calls).encode() if scope["path"] == "/counts" else self._scored(body)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(answer)).encode())]})
        await send({"type": "http.response.body", "body": answer})

    def _scored(self, body: bytes) -> bytes:
        self._calls += 1
        table = msgspec.json.decode(body)
        scores = self._pipeline.predict_proba(pd.DataFrame(table["values"], columns=table["fields"]))[:, 1]
        values = list(zip((scores > 0.5).astype(int).tolist(), scores.tolist(), strict=True))  # noqa: PLR2004 - the model's cut-off
        return msgspec.json.encode({"fields": ["prediction", "probability"], "values": values})


if __name__ == "__main__":
    main()
