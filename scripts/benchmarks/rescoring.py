"""Compares rescoring with a bare httpx loop: the same rows, the same endpoint, four connections, pages of 1,000 rows, in one run.

    python scripts/bench_rescoring.py [--pages 100] [--rounds 5]

The endpoint is a plain logistic regression in its own process. Both sides take turns; the medians and their ratio are
printed (goal: at most 1.15). The bare loop encodes and decodes with msgspec, as we do, and checks nothing.
"""

import argparse
import asyncio
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx
import msgspec
import numpy as np
import uvicorn
from bench_lines import Line, show_lines

from app.domain.deployments import Endpoint, OutputFields
from app.scoring.client import ScoringClient

GOAL = 1.15
CONNECTIONS = 4
PAGE = 1000
NUMERIC = [f"amount_{i}" for i in range(10)]
CATEGORICAL = [f"kind_{i}" for i in range(10)]
COLUMNS = [*NUMERIC, *CATEGORICAL]
KINDS = ["low", "middle", "high", "unknown"]

Row = list[Any]


def main() -> None:
    """Runs both sides in turn and prints the ratio; the exit status says whether the goal was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    rows = make_rows(options.pages * PAGE)
    with endpoint() as url:
        bare, ours = measure(url, rows, options.rounds)
    ratio = statistics.median(ours) / statistics.median(bare)
    print(f"rows {len(rows):,} x {len(COLUMNS)} features, pages of {PAGE:,}, {CONNECTIONS} connections, {options.rounds} rounds")
    for name, seconds in (("bare httpx loop", bare), ("evenhand scoring", ours)):
        median = statistics.median(seconds)
        print(f"{name:<18} median {median:.3f} s (from {min(seconds):.3f} to {max(seconds):.3f}), {len(rows) / median:,.0f} rows/s")
    sys.exit(0 if show_lines([Line("rescoring: ours / bare loop, time", ratio, GOAL, is_most=True)]) else 1)


def measure(url: str, rows: list[Row], rounds: int) -> tuple[list[float], list[float]]:
    """Returns the seconds of each round of the bare loop, and of ours."""
    client = ScoringClient(Endpoint(url=url, page_size=PAGE, concurrency=CONNECTIONS), OutputFields(probability="probability"), COLUMNS)
    sides: list[tuple[Callable[[], list[Any]], list[float]]] = [
        (lambda: [row[0] for row in asyncio.run(bare_loop(url, rows))], []),
        (lambda: [prediction.prediction for prediction in client.score(rows)], []),
    ]
    answers = [side() for side, _ in sides]  # warms both up
    if answers[0] != answers[1]:
        sys.exit("the two sides disagree about the predictions")
    for number in range(rounds):
        for side, seconds in sides if number % 2 == 0 else reversed(sides):
            start = time.perf_counter()
            side()
            seconds.append(time.perf_counter() - start)
    return sides[0][1], sides[1][1]


async def bare_loop(url: str, rows: list[Row]) -> list[Row]:
    """Scores the rows in order with the least possible work: no retries, no limits, no checks."""
    starts = iter(range(0, len(rows), PAGE))
    found: dict[int, list[Row]] = {}

    async def lane(http: httpx.AsyncClient) -> None:
        for start in starts:
            body = msgspec.json.encode({"fields": COLUMNS, "values": rows[start : start + PAGE]})
            answer = await http.post(url, content=body)
            found[start] = msgspec.json.decode(answer.content)["values"]

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=CONNECTIONS), timeout=30) as http:
        await asyncio.gather(*(lane(http) for _ in range(CONNECTIONS)))
    return [row for start in sorted(found) for row in found[start]]


def make_rows(count: int) -> list[Row]:
    """Returns seeded rows of ten amounts and ten kinds."""
    draw = random.Random(0)  # noqa: S311 - made-up rows, no secrets
    return [[round(draw.gauss(), 4) for _ in NUMERIC] + draw.choices(KINDS, k=len(CATEGORICAL)) for _ in range(count)]


@contextmanager
def endpoint() -> Iterator[str]:
    """Yields the URL of the plain endpoint, which runs in its own process until the end of the `with`."""
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - this file
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            if not port:
                sys.exit("the plain endpoint did not start")
            yield f"http://127.0.0.1:{port}/score"
        finally:
            process.terminate()


def serve() -> None:
    """Serves the plain endpoint until terminated; prints the port."""
    config = uvicorn.Config(score, host="127.0.0.1", port=0, log_level="error", lifespan="off")
    socket = config.bind_socket()
    print(socket.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[socket])


async def score(_scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own types
    """Answers with a logistic regression of all columns, in fields/values."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    rows = msgspec.json.decode(body)["values"]
    numbers = np.array([row[: len(NUMERIC)] for row in rows])
    kinds = np.array([[KINDS.index(cell) for cell in row[len(NUMERIC) :]] for row in rows])
    scores = 1 / (1 + np.exp(-(numbers.sum(axis=1) / 3 + (kinds.sum(axis=1) - 15) / 5)))
    values = list(zip((scores > 0.5).astype(int).tolist(), scores.tolist(), strict=True))  # noqa: PLR2004 - the model's cut-off
    answer = msgspec.json.encode({"fields": ["prediction", "probability"], "values": values})
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(answer)).encode())]})
    await send({"type": "http.response.body", "body": answer})


if __name__ == "__main__":
    main()
