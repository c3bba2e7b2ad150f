"""Kills programs that log with a spool at random moments, and counts what arrives: nothing that was on disk may be missing.

Each program logs as fast as it can, with one spool folder for all, says after each `flush(0)` how many of its records are on disk, and is
killed up to a second later; the next one takes over its files. At the end every record that was on disk is stored, none under two ids, and
the folder is empty.
"""

import argparse
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evenhand_client import Evenhand

from scripts.trials.service_stand_in import Store, serve

FEATURES = {"sex": "female", "age": 31, "income": 42_000.5}
LONGEST_LIFE_SECONDS = 1.0
LONGEST_BURST = 400


def main() -> None:
    """Runs everything; the exit status says whether nothing was lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--log", nargs=3, metavar=("NAME", "URL", "SPOOL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.log:
        log_until_killed(*options.log)
        return
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)  # noqa: S311 - moments, no secrets
    store = Store()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = serve(listener, store)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with tempfile.TemporaryDirectory(prefix="evenhand-kills-") as folder:
        durable = [kill_one(f"p{number}", url, folder, chance.uniform(0, LONGEST_LIFE_SECONDS)) for number in range(options.kills)]
        with Evenhand(url, "evk", "kills", spool_dir=folder) as client:
            client.flush(600)
        left = [one.name for one in Path(folder, "kills").iterdir() if one.suffix != ".lock"]
    server.shutdown()
    sys.exit(0 if judge(store, durable, left) else 1)


def kill_one(name: str, url: str, folder: str, seconds: float) -> int:
    """Starts a program, kills it so long after its first records were on disk, and returns how many were."""
    command = [sys.executable, "-P", __file__, "--log", name, url, folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - this file
        lines = [process.stdout.readline()] if process.stdout else []
        time.sleep(seconds)
        process.kill()
        lines += process.stdout.readlines() if process.stdout else []
    return max(int(json.loads(line)) for line in lines if line.endswith("\n"))


def judge(store: Store, durable: list[int], left: list[str]) -> bool:
    """Prints what became of the records; returns whether all of it is as promised."""
    promised = [f"p{program}-{number}" for program, count in enumerate(durable) for number in range(count)]
    lost = [one for one in promised if one not in store.times]
    again = sum(times - 1 for times in store.times.values())
    numbers = [(int(program[1:]), int(number)) for program, _, number in (one.partition("-") for one in store.times)]
    strange = [one for one in numbers if one[0] >= len(durable)]
    print(
        f"killed {len(durable)} times: {len(promised):,} records were on disk, {len(lost):,} of them lost; {len(store.times):,} are stored,"
    )
    print(f"each under one id; {again:,} were sent again; {len(left)} files are left in the spool")
    return not (lost or strange or left)


def log_until_killed(name: str, url: str, spool: str) -> None:
    """Logs in bursts of any length, and prints after each how many records are on disk."""
    client = Evenhand(url, "evk", "kills", spool_dir=spool, flush_at=200, flush_interval=0.1)
    chance = random.Random(name)  # noqa: S311 - lengths, no secrets
    logged = 0
    while True:
        for _ in range(chance.randrange(1, LONGEST_BURST)):
            client.log(FEATURES, 1, 0.5, id=f"{name}-{logged}")
            logged += 1
        if client.flush(0).waiting == 0:
            print(logged, flush=True)


if __name__ == "__main__":
    main()
