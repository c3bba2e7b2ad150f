"""Programs that log with the Python client and a spool on disk. They are killed; what they knew to be on disk must arrive."""

import os
import subprocess
import sys
from pathlib import Path

from tests.progress import wait_until

CLIENT = Path(__file__).resolve().parents[2] / "client"
SPOOLED = "spooled"
"""The deployment that the programs log to."""

_PROGRAM = """
import os, random, sys, time
from evenhand_client import Evenhand
url, key, deployment, folder = sys.argv[1:]
client = Evenhand(url, key, deployment, spool_dir=folder, flush_at=200, flush_interval=0.2)
chance = random.Random()
while True:
    rows = [(chance.choice(("male", "female")), chance.randrange(10_000, 90_000)) for _ in range(10)]
    ids = [client.log({"sex": sex, "income": income, "age": 40}, int(sex == "male" or income >= 50_000)) for sex, income in rows]
    if client.flush(0).waiting:
        continue  # the disk is full: they are in memory only
    os.write(1, ("\\n" + " ".join(ids) + " .\\n").encode())  # they are on disk
    time.sleep(0.1)
"""

_DRAIN = """
import sys
from evenhand_client import Evenhand
url, key, deployment, folder = sys.argv[1:]
with Evenhand(url, key, deployment, spool_dir=folder) as client:
    client.flush(3600)
    print(client.stats().spooled)
"""


class SpoolingProgram:
    """One such program, started again after each kill on the same spool."""

    def __init__(self, home: Path, url: str, key: str) -> None:
        self._arguments = (url, key, SPOOLED, str(home / "client-spool"))
        self._said = home / "client-said.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it; it runs until it is killed."""
        with self._said.open("ab") as output:
            self._process = self._run(_PROGRAM, stdout=output)
        before = self._said.stat().st_size
        wait_until(lambda: self._said.stat().st_size > before, "the client logs")

    def kill(self) -> None:
        """Ends it without a word."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def drain(self) -> int:
        """Has the next program send what the killed ones left; returns how many records stay on disk."""
        with self._run(_DRAIN, stdout=subprocess.PIPE) as process:
            answer, _ = process.communicate()
        return int(answer)

    def durable(self) -> set[str]:
        """The ids of records that were on disk at some moment."""
        # A full disk or a kill may cut a line.
        lines = [line.split() for line in self._said.read_text().split("\n")]
        return {record_id for *ids, end in filter(None, lines) if end == "." for record_id in ids}

    def _run(self, program: str, *, stdout: object) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "PYTHONPATH": str(CLIENT)}
        return subprocess.Popen((sys.executable, "-c", program, *self._arguments), env=environment, stdout=stdout)  # type: ignore[call-overload,no-any-return]
