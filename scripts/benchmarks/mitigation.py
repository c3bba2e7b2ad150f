"""Compares the mitigated endpoint with one plain call of the same model over HTTP, in one run.

The model is a scikit-learn pipeline of ten numbers and ten categories, served in its own process, which counts its calls. Both sides get
the same rows over one connection, in turns. "All copied" are requests of nothing but monitored records with an unfavourable outcome; "as
they come" about half of the records are of the reference group. Goal: at most 2.3 times a plain call, and two calls of the model at most.
"""

import argparse
import contextlib
import random
import statistics
import sys
import time
import uuid
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from app.deployments.monitor.queries import put_monitor
from app.domain.deployment import Endpoint, FieldType, OutputFields
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.model import serving
from scripts.benchmarks.service import Caller, service
from scripts.benchmarks.staging import create_deployments, define, own_database

GOAL = 2.3
GOAL_CALLS = 2
SIZES = (1, 10, 100)
NUMBERS = [f"amount_{position}" for position in range(10)]
KINDS = ["sex", *(f"kind_{position}" for position in range(9))]
NAMES = [*NUMBERS, *KINDS]
WORDS = ["low", "middle", "high", "unknown"]
DEPLOYMENT = "/v1/deployments/bench"
WARM_UP = 300

_random = random.Random(1)

Row = list[Any]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=60, help="of each size, side and round")
    options = parser.parse_args()
    types = dict.fromkeys(NUMBERS, FieldType.NUMBER) | dict.fromkeys(KINDS, FieldType.STRING)
    watched = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(watched,))
    with contextlib.ExitStack() as stack:
        database, folder = stack.enter_context(own_database())
        model_port = stack.enter_context(serving(Model().answer))
        endpoint = Endpoint(url=f"http://127.0.0.1:{model_port}/score")
        definition = define(types, OutputFields(probability="probability"), endpoint)
        key, (deployment,) = create_deployments(database, folder, definition, "bench")
        with database.transaction() as session:
            put_monitor(session, deployment.no, monitor)
        port = stack.enter_context(service(database.url, folder))
        log_some(port, key)
        lines = compare(model_port, port, key, options)
    sys.exit(0 if show_lines(lines) else 1)


def compare(model_port: int, port: int, key: str, options: argparse.Namespace) -> list[Line]:
    results = {(kind, size): (list[float](), list[float]()) for kind in ("all copied", "as they come") for size in SIZES}
    calls: dict[tuple[str, int], float] = {}
    model, gateway = Caller(model_port, key), Caller(port, key)
    for number in range(options.rounds + 1):
        for (kind, size), (plain, active) in results.items():
            before = int(model.read("/counts"))
            for _ in range(options.requests):
                body = msgspec.json.encode({"fields": NAMES, "values": rows_of(size, all_copied=kind == "all copied")})
                plain.append(milliseconds(model, "/score", body))
                active.append(milliseconds(gateway, f"{DEPLOYMENT}/mitigated-predictions", body))
            calls[kind, size] = (int(model.read("/counts")) - before) / options.requests - 1
            if number == 0:
                plain.clear()
                active.clear()
    lines: list[Line] = []
    for (kind, size), sides in results.items():
        plain_ms, active_ms = map(statistics.median, sides)
        print(f"{kind}, {size} rows: plain {plain_ms:.2f} ms, active {active_ms:.2f} ms")
        lines.append(Line(f"mitigation: active / plain call, {kind}, {size} rows", active_ms / plain_ms, GOAL, is_most=True))
        lines.append(Line(f"mitigation: calls of the model, {kind}, {size} rows", calls[kind, size], GOAL_CALLS, is_most=True))
    return lines


def milliseconds(caller: Caller, path: str, body: bytes) -> float:
    began = time.perf_counter()
    caller.post(path, body)
    return (time.perf_counter() - began) * 1000


def log_some(port: int, key: str) -> None:
    records = [
        {
            "id": uuid.uuid4().hex,
            "features": dict(zip(NAMES, row, strict=True)),
            "prediction": place % 2,
            "probability": 0.2 + 0.6 * (place % 2),
        }
        for place, row in enumerate(rows_of(WARM_UP, all_copied=False))
    ]
    Caller(port, key).post(f"{DEPLOYMENT}/payload-records", msgspec.json.encode({"records": records}))


def rows_of(count: int, *, all_copied: bool) -> list[Row]:
    """Returns rows that the model refuses, all or about half of them of the monitored group."""
    return [_row("female" if all_copied or _random.random() < 0.5 else "male") for _ in range(count)]  # noqa: PLR2004 - half of them


def _row(sex: str) -> Row:
    # Amounts below the average of the model's training data, so that it refuses.
    return [*(round(_random.gauss(-1.0, 0.3), 4) for _ in NUMBERS), sex, *_random.choices(WORDS, k=len(KINDS) - 1)]


class Model:
    def __init__(self) -> None:
        draw = np.random.default_rng(0)
        frame = pd.DataFrame(draw.normal(size=(2000, len(NUMBERS))), columns=NUMBERS)
        for name in KINDS:
            frame[name] = draw.choice(["female", "male"] if name == "sex" else WORDS, size=len(frame))
        target = frame[NUMBERS].sum(axis=1) + (frame["sex"] == "male") + draw.normal(size=len(frame)) > 0
        prepared = ColumnTransformer([("numbers", StandardScaler(), NUMBERS), ("kinds", OneHotEncoder(handle_unknown="ignore"), KINDS)])
        self._pipeline = make_pipeline(prepared, LogisticRegression(max_iter=500)).fit(frame, target.astype(int))
        self._calls = 0

    async def answer(self, path: str, body: bytes) -> bytes:
        if path == "/counts":
            return str(self._calls).encode()
        self._calls += 1
        table = msgspec.json.decode(body)
        scores = self._pipeline.predict_proba(pd.DataFrame(table["values"], columns=table["fields"]))[:, 1]
        values = list(zip((scores > 0.5).astype(int).tolist(), scores.tolist(), strict=True))  # noqa: PLR2004 - the model's cut-off
        return msgspec.json.encode({"fields": ["prediction", "probability"], "values": values})


if __name__ == "__main__":
    main()
