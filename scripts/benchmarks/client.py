"""Measures what one `log()` of the client costs the program, next to the least that it could cost, in one run.

The least is a UUID, the time, a copy of the features, an append to a queue; a call of nothing shows what the measurement itself takes.
Records with 20 features come at a steady rate, in short bursts, while the client's threads send them to a stand-in. Goal: p99 of `log()`
below 20 µs.
"""

import argparse
import json
import sys
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

from evenhand_client import Evenhand

from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.model import serving

ROW: dict[str, Any] = {f"amount_{number}": 1.5 * number for number in range(10)} | {f"kind_{number}": "a_value" for number in range(10)}
GOAL_MICROSECONDS = 20
AWAY = "http://127.0.0.1:9"


async def accept(_path: str, body: bytes) -> bytes:
    records = body.count(b'"scored_at"')
    return json.dumps({"sent": records, "accepted": records, "duplicate": 0, "rejected": 0, "rejections": [], "conflicts": []}).encode()


def measure(call: Callable[[], object], options: argparse.Namespace) -> list[float]:
    """Returns the microseconds of each call of the round with the lowest p99, ascending: other programs only ever add to it."""
    return min((_measure_round(call, options.records, options.rate) for _ in range(options.rounds)), key=lambda found: at(found, 0.99))


def _measure_round(call: Callable[[], object], records: int, rate: int) -> list[float]:
    microseconds = []
    burst = max(1, rate // 500)
    due = time.perf_counter()
    for number in range(records):
        if number % burst == 0:
            due += burst / rate
            time.sleep(max(0.0, due - time.perf_counter()))
        before = time.perf_counter_ns()
        call()
        microseconds.append((time.perf_counter_ns() - before) / 1000)
    return sorted(microseconds)


def at(ascending: list[float], share: float) -> float:
    return ascending[int(share * len(ascending))]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--rate", type=int, default=5000, help="records a second")
    parser.add_argument("--rounds", type=int, default=3, help="the quietest one is shown")
    options = parser.parse_args()
    queue: deque[Any] = deque(maxlen=100_000)
    found = {
        "nothing": measure(lambda: None, options),
        "the least": measure(lambda: queue.append((str(uuid.uuid4()), time.time_ns(), dict(ROW), 1, 0.5)), options),
    }
    with serving(accept) as port, tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{port}"
        ways: dict[str, dict[str, Any]] = {
            "in memory": {"url": url},
            "with a spool": {"url": url, "spool_dir": f"{folder}/a"},
            "the service is away": {"url": AWAY, "max_queue": options.records * options.rounds},
            "away, with a spool": {"url": AWAY, "spool_dir": f"{folder}/b"},
        }
        for name, given in ways.items():
            client = Evenhand(**given, key="evk", deployment="bench")
            found[name] = measure(lambda client=client: client.log(ROW, 1, 0.5), options)  # type: ignore[misc]
            if given["url"] == url:
                report = client.flush()
                assert client.stats().sent == options.records * options.rounds, report  # noqa: S101 - a measurement of lost records is none
            client.close(0)
    print(f"{'microseconds of one call':28}    p50     p99    p99.9")
    for name, ascending in found.items():
        print(f"{name:28}{at(ascending, 0.5):7.1f} {at(ascending, 0.99):7.1f} {at(ascending, 0.999):8.1f}")
    worst = max(at(found[name], 0.99) for name in ways)
    sys.exit(0 if show_lines([Line("client: highest p99 of a call, microseconds", worst, GOAL_MICROSECONDS, is_most=True)]) else 1)


if __name__ == "__main__":
    main()
