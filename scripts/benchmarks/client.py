"""Measures what one `log()` of the client costs the program, next to the least that it could cost, in one run.

The least is a UUID, the time, a copy of the features, an append to a queue; a call of nothing shows what the measurement itself takes.
Records with 20 features come at a steady rate, in short bursts, while the client's threads send them to a stand-in. Goal: p99 of `log()`
below 20 µs. `cpu` is the thread's own processor time, to 1 µs or so.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any

from evenhand_client import Evenhand

from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines

ROW: dict[str, Any] = {f"amount_{number}": 1.5 * number for number in range(10)} | {f"kind_{number}": "a_value" for number in range(10)}
GOAL_MICROSECONDS = 20
AWAY = "http://127.0.0.1:9"


class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        records = body.count(b'"scored_at"')
        members = {"sent": records, "accepted": records, "duplicate": 0, "rejected": 0, "rejections": [], "conflicts": []}
        answer = json.dumps(members).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_PUT = do_POST  # noqa: N815 - the library's name

    def log_message(self, *_: object) -> None: ...


def serve(port: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    port.send(server.server_port)
    server.serve_forever()


def measure(call: Callable[[], object], records: int, rate: int) -> tuple[list[int], list[int]]:
    """Returns the nanoseconds of each call, by the wall and of this thread's processor time, in ascending order."""
    walls, own = [], []
    burst = max(1, rate // 500)
    due = time.perf_counter()
    for number in range(records):
        if number % burst == 0:
            due += burst / rate
            time.sleep(max(0.0, due - time.perf_counter()))
        own_before, before = time.thread_time_ns(), time.perf_counter_ns()
        call()
        walls.append(time.perf_counter_ns() - before)
        own.append(time.thread_time_ns() - own_before)
    return sorted(walls), sorted(own)


def quietest(call: Callable[[], object], options: argparse.Namespace) -> tuple[list[int], list[int]]:
    """Returns the round with the lowest p99: other programs of the machine only ever add to it."""
    rounds = [measure(call, options.records, options.rate) for _ in range(options.rounds)]
    return min(rounds, key=lambda found: found[0][int(0.99 * options.records)])


def show(name: str, found: tuple[list[int], list[int]], least: tuple[list[int], list[int]]) -> None:
    cells = []
    for nanoseconds, base in zip(found, least, strict=True):
        at = {share: nanoseconds[int(len(nanoseconds) * share)] / 1000 for share in (0.5, 0.99, 0.999)}
        ratio = nanoseconds[int(len(nanoseconds) * 0.99)] / base[int(len(base) * 0.99)]
        cells.append(f"{at[0.5]:7.1f} {at[0.99]:7.1f} {at[0.999]:8.1f} {ratio:10.1f}x")
    print(f"{name:28}", "  |".join(cells))


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--rate", type=int, default=5000, help="records a second")
    parser.add_argument("--rounds", type=int, default=3, help="the quietest one is shown")
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{here.recv()}"

    queue: deque[Any] = deque(maxlen=100_000)
    nothing = quietest(lambda: None, options)
    least = quietest(lambda: queue.append((str(uuid.uuid4()), time.time_ns(), dict(ROW), 1, 0.5)), options)
    print(f"{'microseconds of one call':28}    wall p50     p99    p99.9  p99 to least  |   cpu p50     p99    p99.9  p99 to least")
    show("nothing", nothing, least)
    show("the least", least, least)
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        ways: dict[str, dict[str, Any]] = {
            "in memory": {"url": url},
            "with a spool": {"url": url, "spool_dir": f"{folder}/a"},
            "the service is away": {"url": AWAY, "max_queue": options.records * options.rounds},
            "away, with a spool": {"url": AWAY, "spool_dir": f"{folder}/b"},
        }
        for name, given in ways.items():
            client = Evenhand(**given, key="evk", deployment="bench")
            found = quietest(lambda client=client: client.log(ROW, 1, 0.5), options)  # type: ignore[misc]
            show(name, found, least)
            worst = max(worst, found[0][int(0.99 * options.records)] / 1000)
            if given["url"] == url:
                report = client.flush()
                assert client.stats().sent == options.records * options.rounds, report  # noqa: S101 - a measurement of lost records is none
            client.close(0)
    process.terminate()
    sys.exit(0 if show_lines([Line("client: highest p99 of a call, microseconds", worst, GOAL_MICROSECONDS, is_most=True)]) else 1)


if __name__ == "__main__":
    main()
