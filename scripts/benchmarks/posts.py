"""Compares single posts of payload records with pgbench's single-row commits and with a bare server, in one run.

    scripts/bench posts [--rounds 3] [--seconds 5] [--connections 64]

A post holds one record of 20 mixed features, prediction, probability, label, time and id. The bare server is uvicorn that reads the same
bodies and answers as many bytes. Load comes from wrk (Debian's package `wrk`), which takes little of the processors; without it, from a
client of our own, which takes much of them: all sides look slower then. The sides take turns. The table has the medians of the rounds;
a line that compares two sides has the median of the ratios of each round, because a machine is faster at one time than at another.

By the clock, everything shares the machine's processors: with two of them, Postgres and wrk take from a second API process what it could
have had. So the processor time of a post is printed, too, of the API processes and of Postgres: it says how many posts one processor
can take.
Where this program may limit processes (root, control groups of Linux), one and two API processes are measured once more, each with no
more than SHARE of a processor: Postgres and wrk have what they need then, as they would on a machine with processors to spare. Two of them
get the same connections as one, and in another run as many each: callers who need twice the posts have more connections, too.
A post is the more expensive the fewer others share its commit, and a process with half of the connections has half as many. So whether a
second process makes a post more expensive is compared where each has as many connections as the one.
Goals of two limited processes: GOAL_TWICE times the posts of one, and GOAL_COST times its processor time a post with as many connections
each.
"""

import argparse
import contextlib
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg
import uvloop
from bench_ingest import DEPLOYMENT, make_request, make_rows, native_body, pgbench_rate, prepare_deployment
from bench_lines import Line, show_lines
from bench_load import drive
from bench_service import postgres_seconds, service
from processor_shares import can_limit, limited

from app.embedded import embedded_postgres

BODIES = 512
"""Different bodies that are sent in turn, each time with another id."""

WARM_UP_SECONDS = 1.0

PLACE = "00000000-0000-4000-8000-000000000000"
"""Text in a body that is replaced by an id of its own."""

BARE_SERVER = """
import asyncio, socket, sys, uvicorn
BODY = b'{"sent":1,"accepted":1,"duplicate":0,"rejected":0,"rejections":[],"conflicts":[]}'
HEAD = {"type": "http.response.start", "status": 200,
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]}
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send(HEAD)
    await send({"type": "http.response.body", "body": BODY})
config = uvicorn.Config(app, loop="uvloop", http="httptools", ws="none", lifespan="off", access_log=False, log_config=None,
                        server_header=False)
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
"""

_WRK_SCRIPT = """
local heads, tails, count, made = {}, {}, 0, 0
for line in io.lines("BODIES") do
  local head, tail = line:match("^(.-)PLACE(.*)$")
  count = count + 1; heads[count] = head; tails[count] = tail
end
local threads = 0
function setup(thread) threads = threads + 1; thread:set("number", threads) end
function init(args)
  wrk.method = "POST"; wrk.path = "PATH"
  wrk.headers["Authorization"] = "Bearer KEY"; wrk.headers["Content-Type"] = "application/json"
end
function request()
  made = made + 1
  local at = made % count + 1
  return wrk.format(nil, nil, nil, heads[at] .. string.format("RUN-4000-8%03x-%012x", number, made) .. tails[at])
end
function done(summary, latency, requests)
  local errors = summary.errors
  print(string.format("RESULT %d %d %.0f %.0f %d", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.timeout + errors.status))
end
"""


@dataclass
class Posting:
    """One run of posts: its rate and latencies, and the milliseconds of processors that a post took."""

    rate: float
    p50_ms: float
    p99_ms: float
    api_ms: float = 0.0
    postgres_ms: float = 0.0


@dataclass
class Side:
    """All runs of one side."""

    runs: list[Posting] = field(default_factory=list)

    def median(self, name: str) -> float:
        """Returns the median of one figure of the runs."""
        return float(statistics.median(getattr(run, name) for run in self.runs))

    def over(self, other: "Side", name: str) -> float:
        """Returns the median, over the rounds, of one figure of this side divided by the other's of the same round."""
        return float(statistics.median(getattr(mine, name) / getattr(its, name) for mine, its in zip(self.runs, other.runs, strict=True)))


class Load:
    """Sends posts with ids that were never sent before."""

    def __init__(self, folder: Path, key: str, *, seconds: float, connections: int) -> None:
        self._folder = folder
        self._key = key
        self._seconds = seconds
        self.connections = connections
        self._bodies = [native_body(make_rows(1)) for _ in range(BODIES)]
        self._bodies = [re.sub(rb'"id":"[^"]*"', b'"id":"%b"' % PLACE.encode(), body) for body in self._bodies]
        self._wrk = shutil.which("wrk")
        self.sent = self.to_be_stored = self.under_way = 0
        (folder / "bodies").write_bytes(b"\n".join(self._bodies) + b"\n")

    @property
    def client(self) -> str:
        """Returns the name of the client that makes the load."""
        return "wrk" if self._wrk else "a client of our own (wrk is not installed: apt-get install wrk)"

    def run(self, port: int, *, seconds: float | None = None, is_stored: bool = False) -> Posting:
        """Returns rate and latencies of posts to a port. Exits if one was refused."""
        before = self.sent
        run = self._run_wrk if self._wrk else self._run_own
        posting = run(port, seconds or self._seconds)
        if is_stored:
            self.to_be_stored += self.sent - before
            self.under_way += self.connections
        return posting

    @contextlib.contextmanager
    def times(self, factor: int) -> Iterator[None]:
        """Uses that many times the connections until the block ends."""
        self.connections *= factor
        yield
        self.connections //= factor

    def _run_wrk(self, port: int, seconds: float) -> Posting:
        path = f"/v1/deployments/{DEPLOYMENT}/payload-records"
        script = self._folder / "posts.lua"
        made = _WRK_SCRIPT.replace("BODIES", str(self._folder / "bodies")).replace("PLACE", PLACE.replace("-", "%-")).replace("PATH", path)
        script.write_text(made.replace("KEY", self._key).replace("RUN", f"{os.urandom(4).hex()}-{os.urandom(2).hex()}"))
        arguments = ["-t1", f"-c{self.connections}", f"-d{max(1, round(seconds))}s", "-s", str(script), f"http://127.0.0.1:{port}"]
        done = subprocess.run([str(self._wrk), *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - the benchmark's own
        found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)", done.stdout)
        if found is None or int(found[5]):
            sys.exit(f"wrk failed, or posts were refused: {done.stdout[-1000:]}{done.stderr[-500:]}")
        requests, microseconds, p50, p99 = (int(part) for part in found.groups()[:4])
        self.sent += requests
        return Posting(requests / microseconds * 1e6, p50 / 1000, p99 / 1000)

    def _run_own(self, port: int, seconds: float) -> Posting:
        began, sent, latencies = time.perf_counter(), 0, list[float]()
        while time.perf_counter() - began < seconds:
            requests = [make_request(self._key, native_body(make_rows(1))) for _ in range(8 * self.connections)]
            started = time.perf_counter()
            load = uvloop.run(drive(port, requests, self.connections))
            began += started - (time.perf_counter() - load.seconds)  # making requests is no part of the measurement
            latencies += load.latencies_ms
            sent += load.requests
        self.sent += sent
        return Posting(sent / (time.perf_counter() - began), *(statistics.quantiles(latencies, n=100)[at] for at in (49, 98)))


def main() -> None:
    """Runs all sides in turns and prints the table; the exit status says whether every goal was met and every post is stored once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of a run")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--only", default="", help="names of sides, comma-separated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o711)  # the database may run as another account
        url = stack.enter_context(embedded_postgres(folder))
        key, _ = prepare_deployment(url, folder)
        load = Load(folder, key, seconds=options.seconds, connections=options.connections)
        print(f"posts of one record, {options.connections} connections, {options.seconds:g} s a run, sent by {load.client}")
        sides = {side: Side() for side in SIDES if not options.only or side in options.only.split(",")}
        if not can_limit():
            print("processes cannot be limited here (root, control groups): two of them are not compared with one on spare processors")
            sides = {name: side for name, side in sides.items() if name not in LIMITED}
        for number in range(options.rounds):
            for side, runs in sides.items():
                print(f"round {number + 1} of {options.rounds}: {side} …", file=sys.stderr, flush=True)
                runs.runs.append(_run(side, load, url, folder))
        is_stored = _is_stored(url, load)
    sys.exit(0 if _show(sides) and is_stored else 1)


PGBENCH, BARE, ONE, TWO = "pgbench", "bare server", "1 API process", "2 API processes"
ONE_LIMITED, TWO_LIMITED = "1 limited process", "2 limited processes"
TWO_LIMITED_MORE = "2 limited, more load"
"""As many connections for each of them as one limited process gets."""
LIMITED = (ONE_LIMITED, TWO_LIMITED, TWO_LIMITED_MORE)
SIDES = (PGBENCH, BARE, ONE, TWO, *LIMITED)
SHARE = 0.25
"""Share of a processor of each limited process."""
GOAL_COST = 1.15
"""Max ratio of the processor time of a post with two limited processes to that with one, with as many connections each."""
GOAL_TWICE = 1.8
"""Least ratio of the rate of two limited processes to that of one."""


def _run(name: str, load: Load, url: str, folder: Path) -> Posting:
    if name == PGBENCH:
        return Posting(pgbench_rate(url), 0.0, 0.0)
    if name == BARE:
        with _bare_server() as port:
            load.run(port, seconds=WARM_UP_SECONDS)
            sent, server = load.sent, _api_seconds()
            posting = load.run(port)
            posting.api_ms = (_api_seconds() - server) * 1000 / (load.sent - sent)
            return posting
    with (
        service(url, folder, processes=1 if name in {ONE, ONE_LIMITED} else 2) as port,
        load.times(2 if name == TWO_LIMITED_MORE else 1),
        contextlib.ExitStack() as limits,
    ):
        if name in LIMITED:
            limits.enter_context(limited([process.pid for process in _servers()], SHARE))
        load.run(port, seconds=WARM_UP_SECONDS, is_stored=True)
        sent, api, postgres = load.to_be_stored, _api_seconds(), postgres_seconds(url)
        posting = load.run(port, is_stored=True)
        posts = load.to_be_stored - sent
        posting.api_ms = (_api_seconds() - api) * 1000 / posts
        posting.postgres_ms = (postgres_seconds(url) - postgres) * 1000 / posts
        return posting


def _api_seconds() -> float:
    """Returns the processor time so far of the API processes, or of the bare server."""
    return sum(sum(process.cpu_times()[:2]) for process in _servers())


def _servers() -> list[psutil.Process]:
    """Returns the API processes, or the bare server."""
    return [process for process in psutil.Process().children() if {"app.cli.api_process", BARE_SERVER} & set(process.cmdline())]


@contextlib.contextmanager
def _bare_server() -> Iterator[int]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)  # connections wait in it until the server accepts them
    process = subprocess.Popen([sys.executable, "-c", BARE_SERVER, str(listener.fileno())], pass_fds=(listener.fileno(),))  # noqa: S603 - ours
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.close()
        process.terminate()
        process.wait()


def _is_stored(url: str, load: Load) -> bool:
    """Prints whether every acknowledged post is stored once. Posts under way when a run ended may be stored, too."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT count(*), count(DISTINCT record_id) FROM payload_records JOIN deployments d ON d.no = deployment_no WHERE d.id = %s",
            [DEPLOYMENT],
        ).fetchone()
    stored, ids = found or (0, 0)
    is_right: bool = stored == ids and load.to_be_stored <= stored <= load.to_be_stored + load.under_way
    word = "each once" if is_right else "WRONG"
    print(
        f"{load.to_be_stored:,} posts were acknowledged, {stored:,} records are stored ({load.under_way} may have been under way): {word}"
    )
    return is_right


def _show(sides: dict[str, Side]) -> bool:
    print(f"{'':20}{'posts/s':>9}{'p50 ms':>8}{'p99 ms':>8}{'API ms':>8}{'Postgres ms':>13}  (ms of processor time a post)")
    for name, side in sides.items():
        line = f"{name:20}{side.median('rate'):9,.0f}"
        if side.median("p99_ms"):
            line += f"{side.median('p50_ms'):8.1f}{side.median('p99_ms'):8.1f}"
        if side.median("api_ms"):
            line += f"{side.median('api_ms'):8.3f}{side.median('postgres_ms'):13.3f}"
        print(f"{line}   rounds: {', '.join(f'{run.rate:,.0f}' for run in side.runs)}")
    lines: list[Line] = []
    if ONE in sides:
        for name in {PGBENCH, BARE} & set(sides):
            print(f"{ONE} / {name}: {sides[ONE].over(sides[name], 'rate'):.2f}")
    if set(LIMITED) <= set(sides):
        limited_one, limited_two, more = (sides[name] for name in LIMITED)
        title = f"posts: two processes / one, each with {SHARE} of a processor"
        lines.append(Line(title, limited_two.over(limited_one, "rate"), GOAL_TWICE))
        lines.append(Line(f"{title}, twice the connections", more.over(limited_one, "rate"), GOAL_TWICE))
        lines.append(Line("posts: the same, API processor time of a post", more.over(limited_one, "api_ms"), GOAL_COST, is_most=True))
    return show_lines(lines)


if __name__ == "__main__":
    main()
