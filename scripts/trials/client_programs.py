"""Runs the client under gunicorn with pre-fork and under Ray Serve, and counts what arrives.

Each program runs in an environment of its own: gunicorn that loads the application once and forks four workers (WSGI, and ASGI with
uvicorn's worker), and Ray Serve with two replicas under a route prefix. Eight callers call it, then it gets SIGTERM. Every answered call
must have arrived at a stand-in for the service, once.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scripts.trials.server_environments import make_environment
from scripts.trials.server_processes import free_port
from scripts.trials.service_stand_in import Store, serve

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "scripts" / "trials" / "logging_programs"
READY_SECONDS = 240.0
STOP_SECONDS = 120.0
CALLERS = 8

GUNICORN = ["gunicorn==27.0.1", "uvicorn==0.54.0", "uvicorn-worker==0.4.0", "fastapi==0.165.0"]
RAY = ["ray[serve]==2.60.0", "fastapi==0.165.0"]


@dataclass(frozen=True, slots=True)
class Program:
    """One program: its packages, its command, and the prefix of its addresses. `extra` records are logged without a call."""

    packages: list[str]
    command: list[str]
    prefix: str = ""
    extra: tuple[str, ...] = ()


_FORKS = ["-m", "gunicorn", "--preload", "--workers", "4", "--bind", "127.0.0.1:{port}", "--log-level", "warning"]
KINDS = {
    "gunicorn-wsgi": Program(GUNICORN, [*_FORKS, "wsgi_program:app"], extra=("before-the-fork",)),
    "gunicorn-asgi": Program(GUNICORN, [*_FORKS, "--worker-class", "uvicorn_worker.UvicornWorker", "asgi_program:app"]),
    "ray": Program(RAY, ["ray_program.py", "{port}"], prefix="/credit"),
}


def main() -> None:
    """Runs every program; the exit status says whether every record arrived once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evenhand-servers"
    parser.add_argument("--cache", type=Path, default=default, help=f"folder of the environments (default: {default})")
    parser.add_argument("--only", default=",".join(KINDS), help="programs, with commas (default: all)")
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    is_complete = True
    for name in options.only.split(","):
        program = KINDS[name]
        python = make_environment(options.cache / name.partition("-")[0], program.packages, sys.executable)
        is_complete &= try_program(name, program, python, options.calls)
    sys.exit(0 if is_complete else 1)


def try_program(name: str, program: Program, python: str, calls: int) -> bool:
    """Runs a program, calls it, ends it, and prints what arrived; returns whether that is everything, once."""
    store = Store()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = serve(listener, store)
        port = free_port()
        with running([part.format(port=port) for part in program.command], python, f"http://127.0.0.1:{listener.getsockname()[1]}"):
            base = f"http://127.0.0.1:{port}{program.prefix}"
            await_ready(f"{base}/ready")
            with ThreadPoolExecutor(CALLERS) as pool:
                answered = list(pool.map(lambda number: call(f"{base}/invocations", number), range(calls)))
        server.shutdown()
    ids = store.times
    lost = [one for one in (*answered, *program.extra) if not ids[one]]
    more = [one for one, times in ids.items() if times > 1]
    different = len(set(answered))
    of_calls = sum(times for one, times in ids.items() if one not in program.extra)
    without = f" and {sum(ids[one] for one in program.extra):,} of no call" if program.extra else ""
    arrived = f"{of_calls:,} records of calls{without} arrived, {len(lost)} lost, {len(more)} twice"
    print(f"{name:14} {len(answered):,} calls answered with {different:,} ids; {arrived}", flush=True)
    return not lost and not more and different == calls and len(ids) == calls + len(program.extra)


@contextlib.contextmanager
def running(command: list[str], python: str, url: str) -> Iterator[None]:
    """Runs a command in the folder of the programs, and asks it to stop after the block."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'client'}:{PROGRAMS}",
        "EVENHAND_URL": url,
        "EVENHAND_KEY": "evk_stand_in",
        "EVENHAND_DEPLOYMENT": "credit",
        "RAY_USAGE_STATS_ENABLED": "0",
        "DO_NOT_TRACK": "1",
    }
    process = subprocess.Popen([python, *command], cwd=PROGRAMS, env=environment)  # noqa: S603 - our own programs
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)


def await_ready(url: str) -> None:
    """Returns once the program answers; raises OSError after four minutes."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(url, timeout=10).close()  # noqa: S310 - loopback
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)
        else:
            return


def call(url: str, number: int) -> str:
    """Calls the model once, and returns the id under which it was logged."""
    body = json.dumps({"inputs": [{"number": number}]}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
        answer.read()
        return str(answer.headers["evenhand-id"])


if __name__ == "__main__":
    main()
