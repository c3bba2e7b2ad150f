"""Compares single posts of payload records with pgbench's single-row commits and with a bare server, in one run.

The bare server is uvicorn that reads the same bodies and answers as many bytes. The sides take turns, and a comparison is the median of the
ratios of each round. The client takes as much of the processors as the service, so the processor time of a post is printed, too. Afterwards
every acknowledged post must be stored once.
"""

import argparse
import contextlib
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import uvloop

from app.embedded import embedded_postgres
from scripts.benchmarks.ingest import DEPLOYMENT, make_request, make_rows, native_body, pgbench_rate, prepare_deployment
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.load import drive
from scripts.benchmarks.service import postgres_seconds, service

PGBENCH, BARE, OURS = "pgbench", "bare server", "service"
BATCH = 8
WARM_UP_SECONDS = 1.0

BARE_SERVER = """
import socket, sys, uvicorn
BODY = b'{"sent":1,"accepted":1,"duplicate":0,"rejected":0,"rejections":[],"conflicts":[]}'
HEAD = {"type": "http.response.start", "status": 200,
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]}
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send(HEAD)
    await send({"type": "http.response.body", "body": BODY})
config = uvicorn.Config(app, loop="uvloop", http="httptools", ws="none", lifespan="off", access_log=False, log_config=None,
                        server_header=False)
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
"""


@dataclass
class Posting:
    """One run of posts: its rate and latencies, and the milliseconds of processors that a post took."""

    rate: float
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    api_ms: float = 0.0
    postgres_ms: float = 0.0


@dataclass
class Load:
    """Posts with ids that were never sent before."""

    key: str
    connections: int
    sent: int = 0

    def run(self, port: int, seconds: float) -> Posting:
        """Returns rate and latencies of posts to a port. Exits if one was refused."""
        spent, sent, latencies = 0.0, 0, list[float]()
        while spent < seconds:
            requests = [make_request(self.key, native_body(make_rows(1))) for _ in range(BATCH * self.connections)]
            load = uvloop.run(drive(port, requests, self.connections))
            if any(not body.startswith(b'{"sent":1,"accepted":1,') for body in load.bodies):
                sys.exit("posts were refused")
            spent += load.seconds
            latencies += load.latencies_ms
            sent += load.requests
        self.sent += sent
        cuts = statistics.quantiles(latencies, n=100)
        return Posting(sent / spent, cuts[49], cuts[98])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of a run")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--processes", type=int, default=1, help="API processes of the service")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-bench-")))
        folder.chmod(0o711)  # the database may run as another account
        url = stack.enter_context(embedded_postgres(folder))
        key, _ = prepare_deployment(url, folder)
        load, bare = Load(key, options.connections), Load(key, options.connections)
        rounds: list[dict[str, Posting]] = []
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds} …", file=sys.stderr, flush=True)
            with _bare_server() as (port, process):
                at_bare_server = _measure(bare, port, options.seconds, [process.pid], url)
            with service(url, folder, processes=options.processes) as port:
                at_service = _measure(load, port, options.seconds, _api_processes(), url)
            rounds.append({PGBENCH: Posting(pgbench_rate(url)), BARE: at_bare_server, OURS: at_service})
        _show(rounds)
        wrong = _count_wrong(url, load.sent)
    sys.exit(0 if show_lines([Line("posts: acknowledged ones that are not stored once", wrong, 0, is_most=True)]) else 1)


def _measure(load: Load, port: int, seconds: float, servers: list[int], url: str) -> Posting:
    load.run(port, WARM_UP_SECONDS)
    sent, api, postgres = load.sent, _seconds_of(servers), postgres_seconds(url)
    posting = load.run(port, seconds)
    posts = load.sent - sent
    posting.api_ms = (_seconds_of(servers) - api) * 1000 / posts
    posting.postgres_ms = (postgres_seconds(url) - postgres) * 1000 / posts
    return posting


def _seconds_of(processes: list[int]) -> float:
    return sum(sum(psutil.Process(process).cpu_times()[:2]) for process in processes)


def _api_processes() -> list[int]:
    return [process.pid for process in psutil.Process().children() if "app.cli.api_process" in process.cmdline()]


@contextlib.contextmanager
def _bare_server() -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = subprocess.Popen([sys.executable, "-c", BARE_SERVER, str(listener.fileno())], pass_fds=(listener.fileno(),))  # noqa: S603 - ours
        try:
            yield int(listener.getsockname()[1]), process
        finally:
            process.terminate()
            process.wait()


def _count_wrong(url: str, sent: int) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*), count(DISTINCT record_id) FROM payload_records JOIN deployments d ON d.no = deployment_no WHERE d.id = %s",
            [DEPLOYMENT],
        ).fetchone()
    stored, ids = row or (0, 0)
    print(f"{sent:,} posts were acknowledged, {stored:,} records are stored")
    return int(abs(stored - sent) + stored - ids)


def _show(rounds: list[dict[str, Posting]]) -> None:
    print(f"{'':14}{'posts/s':>9}{'p50 ms':>8}{'p99 ms':>8}{'API ms':>8}{'Postgres ms':>13}  (ms of processor time a post)")
    for name in (PGBENCH, BARE, OURS):
        runs = [sides[name] for sides in rounds]
        median = Posting(*(statistics.median(getattr(run, column) for run in runs) for column in Posting.__dataclass_fields__))
        print(
            f"{name:14}{median.rate:9,.0f}{median.p50_ms:8.1f}{median.p99_ms:8.1f}{median.api_ms:8.3f}{median.postgres_ms:13.3f}"
            f"   rounds: {', '.join(f'{run.rate:,.0f}' for run in runs)}"
        )
    for name in (PGBENCH, BARE):
        ratio = statistics.median(sides[OURS].rate / sides[name].rate for sides in rounds)
        print(f"{OURS} / {name}: {ratio:.2f} of the posts a second")


if __name__ == "__main__":
    main()
