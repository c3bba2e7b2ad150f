"""Logs under load while the service is away, then lets it come back, and counts what arrives.

Three programs log at that rate to a port at which nothing listens: one with a spool, one without (its queue overflows, by intention), and
one with a spool that is killed and started again. Then a stand-in for the service listens there. Every record of the first program must be
stored, and every one of the third that was on disk; of the second, stored records and those reported as not received add up to all; none is
stored twice; memory did not grow after the queue was full, and `log()` takes as long as with a service.
"""

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from evenhand_client import Evenhand

from scripts.trials.service_stand_in import Store, serve

FEATURES = {f"amount_{number}": 1.5 * number for number in range(10)} | {f"kind_{number}": "a_value" for number in range(10)}
QUEUE = 20_000
SETTLING_SECONDS = 20
"""Seconds after which memory is compared: the queue in memory is full only then, at the usual rate later."""

MAX_GROWTH_MB = 60


@dataclass
class Program:
    """One logging program: its last report, and the number of records that it knows to be on disk."""

    name: str
    arguments: list[str]
    process: "subprocess.Popen[str]"
    lines: list[dict[str, float]] = field(default_factory=list)

    def read(self) -> None:
        """Reads its reports until it ends."""
        for line in self.process.stdout or ():
            self.lines.append(json.loads(line))


def main() -> None:
    """Runs everything; the exit status says whether all of it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="time for which the service is away")
    parser.add_argument("--rate", type=int, default=200, help="records a second of each program")
    parser.add_argument("--kills", type=int, default=9, help="kills of the third program")
    parser.add_argument("--log", nargs=4, metavar=("NAME", "URL", "SPOOL", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.log:
        name, url, spool, seconds = options.log
        log_steadily(name, url, spool, float(seconds), options.rate)
        return
    store = Store()
    away = socket.socket()
    away.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{away.getsockname()[1]}"
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="evenhand-outage-") as folder:
        began = time.monotonic()
        steady = [begin(name, url, spool, seconds, options.rate) for name, spool in (("spool", f"{folder}/a"), ("memory", ""))]
        killed: list[Program] = []
        life = seconds / (options.kills + 1)
        for number in range(options.kills + 1):
            one = begin(f"killed{number}", url, f"{folder}/b", life, options.rate)
            killed.append(one)
            if number < options.kills:
                time.sleep(max(0.0, began + (number + 0.9) * life - time.monotonic()))
                one.process.kill()
                one.process.wait()
                print(f"{time.monotonic() - began:6.0f} s  killed {number + 1} times", flush=True)
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        size = sum(one.stat().st_size for one in Path(folder).rglob("*.jsonl")) / 2**20
        print(f"{time.monotonic() - began:6.0f} s  the service comes back; {size:.0f} MiB are on disk", flush=True)
        server = serve(away, store)
        for one in (*steady, killed[-1]):
            one.process.wait()
        server.shutdown()
    sys.exit(0 if judge(store, steady, killed) else 1)


def judge(store: Store, steady: list[Program], killed: list[Program]) -> bool:
    """Prints what became of the records; returns whether all of it is as promised."""
    spool, memory = (one.lines[-1] for one in steady)
    ids = Counter(one.rpartition("-")[0] for one in store.times)
    reported = sum(store.missing.values())
    durable = [(f"{one.name}-{number}") for one in killed for number in range(int(one.lines[-1]["durable"]))]
    lost = [one for one in durable if one not in store.times]
    again = sum(times - 1 for times in store.times.values())
    early = next(line for line in steady[0].lines if line["seconds"] >= SETTLING_SECONDS or line is steady[0].lines[-1])
    grown = spool["peak_mb"] - early["peak_mb"]
    peak = f"peak memory {spool['peak_mb']:.0f} MB, {grown:+.0f} MB after settling"
    print(f"with a spool:  {int(spool['logged']):,} logged, {ids['spool']:,} stored; {peak}")
    peak = f"peak memory {memory['peak_mb']:.0f} MB"
    print(f"without:       {int(memory['logged']):,} logged, {ids['memory']:,} stored and {reported:,} reported as not received; {peak}")
    of_killed = sum(count for name, count in ids.items() if name.startswith("killed"))
    print(f"killed {len(killed) - 1} times: {len(durable):,} were on disk, {len(lost):,} of them lost; {of_killed:,} stored")
    print(f"sent again:    {again:,}, each stored once")
    for name, line in (("with a spool", spool), ("without", memory)):
        wall = f"p50 {line['p50']:.1f}, p99 {line['p99']:.1f}, p99.9 {line['p999']:.1f} µs"
        print(f"log() {name:12} {wall}; the thread's own time p99 {line['cpu99']:.1f} µs")
    return ids["spool"] == int(spool["logged"]) and ids["memory"] + reported == int(memory["logged"]) and not lost and grown < MAX_GROWTH_MB


def begin(name: str, url: str, spool: str, seconds: float, rate: int) -> Program:
    """Starts a logging program and a thread that reads what it reports."""
    arguments = [sys.executable, "-P", __file__, "--rate", str(rate), "--log", name, url, spool, str(seconds)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this file
    program = Program(name, arguments, process)
    threading.Thread(target=program.read, daemon=True).start()
    return program


def log_steadily(name: str, url: str, spool: str, seconds: float, rate: int) -> None:
    """Logs, and prints each second how much was logged, how much is on disk, and the times of the calls."""
    client = Evenhand(url, "evk", "outage", spool_dir=spool or None, max_queue=QUEUE)
    walls: list[int] = []
    own: list[int] = []
    began = time.monotonic()
    logged = 0
    while (now := time.monotonic() - began) < seconds:
        while logged < now * rate:
            own_before, before = time.thread_time_ns(), time.perf_counter_ns()
            client.log(FEATURES, 1, 0.5, id=f"{name}-{logged}")
            walls.append(time.perf_counter_ns() - before)
            own.append(time.thread_time_ns() - own_before)
            logged += 1
        if name.startswith("killed"):
            client.flush(0)
        report(now, logged, walls, own)
        time.sleep(1)
    client.flush(600)
    report(seconds, logged, walls, own)
    client.close(60)


def report(seconds: float, logged: int, walls: list[int], own: list[int]) -> None:
    """Prints a line of JSON."""
    at = sorted(walls[-50_000:])
    line = {
        "seconds": seconds,
        "logged": logged,
        "durable": logged,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **{name: at[int(len(at) * share)] / 1000 if at else 0.0 for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))},
        "cpu99": sorted(own[-50_000:])[int(len(at) * 0.99)] / 1000 if at else 0.0,
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
