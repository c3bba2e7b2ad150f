"""Runs the blocks of a page as its reader does: with a service, a worker and a model."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from app.access.secret_box import open_secret_box
from app.alerts.channels.notifier import Notifier, Sender
from app.base.settings import Settings
from app.calls.egress_policy import EgressPolicy
from app.checks.check import perform_check
from app.database.engine import Database
from app.mitigation.window.mitigate_window import mitigate_window
from app.worker.attribute import perform_attribution
from app.worker.attributor import Attributor
from app.worker.worker import Worker
from tests.builders.docs_pages import REPOSITORY, Step
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.service import running_service

PATIENCE = "import tests.progress\ntests.progress.lift_limits()\n"
"""In front of a page's Python: without it, httpx would give up after 5 seconds."""

TOOLS = ("bash", "curl", "gzip")


@contextmanager
def everything(database: Database, folder: Path) -> Iterator[dict[str, str]]:
    """A service, a worker and a model; the environment in which a reader of the pages works."""
    with serve(RuleScorer()) as model, running_service(database, folder) as service, background_work(database, folder):
        yield {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'client'}",
            "DATABASE_URL": database.url,
            "EVENHAND_DATA_DIR": str(folder),
            "EVENHAND": service.base_url,
            "KEY": service.admin_key,
            "MODEL": model.base,
        }


@contextmanager
def background_work(database: Database, folder: Path) -> Iterator[None]:
    """Checks, attributions and notifications, done until the block ends."""
    sealer = open_secret_box(Settings(data_dir=folder))
    perform = partial(perform_check, database=database, sealer=sealer, further=mitigate_window)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(database, perform, concurrency=1).run, args=(stop,))
    notifier = Notifier(database, Sender(Settings(data_dir=folder), sealer, EgressPolicy).send)
    attribute = partial(perform_attribution, database=database, sealer=sealer)
    attributor = Attributor(database, attribute, limit=timedelta(days=1))
    thread.start()
    notifier.start(stop)
    attributor.start(stop)
    try:
        yield
    finally:
        stop.set()
        thread.join()
        attributor.join(threading.TIMEOUT_MAX)
        notifier.join(threading.TIMEOUT_MAX)


def run(step: Step, environment: dict[str, str], folder: Path) -> str:
    """What the block prints."""
    is_python = step.run.language == "python"
    command = [sys.executable, "-c"] if is_python else ["bash", "-euo", "pipefail", "-c"]
    ended = subprocess.run(
        [*command, PATIENCE * is_python + step.run.body], env=environment, cwd=folder, check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, f"{step.run.body}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def run_and_compare(step: Step, environment: dict[str, str], folder: Path) -> None:
    """Runs the block; what it prints is what the page shows, if the page shows something."""
    printed = run(step, environment, folder)
    if step.output is None:
        return
    if step.output.language == "json":
        assert json.loads(printed) == json.loads(step.output.body), printed
    else:
        # What somebody declares is of the day on which the block runs.
        assert printed == re.sub(r"(?<= on )\d{4}-\d\d-\d\d", f"{datetime.now(UTC):%Y-%m-%d}", step.output.body), printed
