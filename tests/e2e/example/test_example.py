"""`evenhand example` as a person runs it: one command, a table, nothing left behind, and the next run goes on from there."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psycopg
import pytest

from app.base.clock import floor_to_hour
from app.cli.example.applicants import TRAINING_RECORDS
from app.database.embedded.embedded_server import embedded_postgres, find_postmaster
from tests.progress import wait_until

REPOSITORY = Path(__file__).resolve().parents[3]
HOURS = 4
KEY = re.compile(r"evk_[a-z2-7]{8}_[A-Za-z0-9_-]{43}")

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux to see a process's children"),
]


@dataclass
class Home:
    """A data folder and a port for the runs of one example."""

    folder: Path
    port: int

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def running(self, *options: str) -> Iterator["Run"]:
        """An example, killed with all its children if the block does not end it."""
        environment = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "NO_COLOR", "FORCE_COLOR"}}
        environment |= {"EVENHAND_DATA_DIR": str(self.data), "EVENHAND_PORT": str(self.port), "TMPDIR": str(self.folder), "COLUMNS": "80"}
        command = [sys.executable, "-m", "app.cli", "example", "--hours", str(HOURS), *options]
        printed = self.folder / "printed.txt"
        with (
            printed.open("w") as output,
            subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=output, stderr=output) as process,
        ):
            try:
                yield Run(process, printed)
            finally:
                process.kill()

    def count(self, query: str, *values: object) -> int:
        """The only number that a query gives, while no example runs."""
        with embedded_postgres(self.data) as url, psycopg.connect(url) as connection:
            (number,) = connection.execute(query.encode(), values).fetchone() or (0,)
        return int(number)

    def history(self, until: datetime) -> int:
        """How many payload records were logged into the hours before `until`."""
        return self.count("SELECT count(*) FROM payload_records WHERE logged_at < %s", until)

    def checks_of_history(self, until: datetime) -> int:
        """How many checks were made of the hours before `until`."""
        return self.count("SELECT count(*) FROM checks WHERE trigger = 'range' AND span_end <= %s", until)


@dataclass
class Run:
    """One run, and what it has printed so far."""

    process: subprocess.Popen[bytes]
    printed: Path

    def text(self) -> str:
        return self.printed.read_text()

    def wait_for(self, words: str) -> None:
        """Returns when the run has printed them."""
        while words not in self.text():
            assert self.process.poll() is None, self.text()
            time.sleep(0.05)

    def ended(self) -> int:
        """The exit status, once it has ended."""
        return self.process.wait()

    def descendants(self) -> set[int]:
        """The ids of all processes that it started, and theirs."""
        found: set[int] = set()
        waiting = [self.process.pid]
        while waiting:
            with contextlib.suppress(FileNotFoundError):
                for thread in Path(f"/proc/{waiting.pop()}/task").iterdir():
                    children = {int(child) for child in (thread / "children").read_text().split()}
                    waiting += children - found
                    found |= children
        return found


@pytest.fixture
def home() -> Iterator[Home]:
    # Not pytest's own folder: it is closed to the account that stands in for root.
    folder = Path(tempfile.mkdtemp(prefix="evenhand-example-"))
    folder.chmod(0o711)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield Home(folder, port)
    running = find_postmaster(folder / "data" / "postgres")
    if running is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def test_it_shows_results_ends_cleanly_and_a_second_run_goes_on_from_there(home: Home) -> None:
    this_hour = floor_to_hour(datetime.now(UTC))
    with home.running("--once") as first:
        first.wait_for(f"Checked {HOURS} hours")
        started = first.descendants()
        first_status = first.ended()
        first_text = first.text()
    invented = home.count("SELECT count(*) FROM payload_records WHERE record_id ~ '^[0-9]{8}T[0-9]{2}-'")
    history, checks = home.history(this_hour), home.checks_of_history(this_hour)
    with home.running("--once") as second:
        second_status = second.ended()
        second_text = second.text()

    assert first_status == 0, first_text
    assert len(started) >= 4  # Postgres, the service, a worker, the model
    assert not any(_lives(pid) for pid in started)
    assert f"Logged {HOURS} hours of traffic: {invented:,} scored applicants" in first_text
    for words in (
        "sex female",
        "sex male",
        "age 18-25",
        "female × 26-75",
        "as logged",
        "counterfactual",
        "unfair",
        "fair",
        "reference",
        "Accuracy",
    ):
        assert words in first_text, words
    assert second_status == 0, second_text
    assert "sex female" in second_text
    # Lines of the audit, which the worker prints, are in the log as well.
    assert '{"position": ' not in first_text + second_text
    assert '{"position": 1, ' in (home.data / "example.log").read_text()
    assert home.history(this_hour) == history
    assert home.checks_of_history(this_hour) == checks
    assert KEY.findall(first_text)[0] != KEY.findall(second_text)[0]
    assert first_text.index("Pages  ") < first_text.index("Key of this run") < first_text.index("✓ Started")
    assert home.count("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL") == 0
    assert find_postmaster(home.data / "postgres") is None


@pytest.mark.nightly
def test_cut_short_it_leaves_nothing_running_and_the_next_run_streams_until_ctrl_c(home: Home) -> None:
    with home.running() as first:
        first.wait_for("Began a live stream")
        started = first.descendants()
        first.process.send_signal(signal.SIGTERM)
        first_status = first.ended()
    with home.running() as second:
        second.wait_for("A series, day by day")
        started |= second.descendants()
        key = KEY.findall(second.text())[0]
        with httpx.Client(base_url=home.url, headers={"Authorization": f"Bearer {key}"}, trust_env=False) as client:
            page = client.get("/docs", auth=("anyone", key))
            training = client.get("/v1/deployments/credit-risk/training-data").json()["records"]
            days = client.get("/v1/deployments/credit-risk/measurements", params={"metric": "disparate_impact", "rollup": "day"})
            wait_until(lambda: _labels(client), "labels have come")
            labels = _labels(client)
        second.process.send_signal(signal.SIGINT)
        second_status = second.ended()

    assert (first_status, second_status) == (0, 0), second.text()
    assert page.status_code == httpx.codes.OK
    assert {point["attribute"] for point in days.json()["measurements"]} == {"sex", "age", "sex × age"}
    assert labels
    assert training == TRAINING_RECORDS
    assert "Everything has stopped." in second.text()
    assert not any(_lives(pid) for pid in started)
    assert find_postmaster(home.data / "postgres") is None


def test_a_taken_port_is_told_in_a_sentence(home: Home) -> None:
    with socket.create_server(("127.0.0.1", home.port)), home.running("--once") as run:
        status = run.ended()

    assert status == 1
    assert f"Cannot listen on 127.0.0.1:{home.port}" in run.text()
    assert "Traceback" not in run.text()


def _labels(client: httpx.Client) -> bool:
    """Whether accuracy was measured at all."""
    found = client.get("/v1/deployments/credit-risk/measurements", params={"metric": "accuracy", "scope": "overall", "limit": "1000"})
    return any(point["value"] is not None for point in found.json()["measurements"])


def _lives(pid: int) -> bool:
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    # It has ended, and its new parent, which in a container may be any program, has not waited for it yet.
    return after_name.split()[0] != "Z"
