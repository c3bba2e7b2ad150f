"""Workers that do checks in this process, and checks that are over."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from app.access.secret_box import open_secret_box
from app.base.settings import Settings
from app.checks.check import perform_check
from app.database.engine import Database
from app.mitigation.window.mitigate_window import mitigate_window
from app.worker.worker import Worker
from tests.builders.check_results import read_results
from tests.progress import wait_until
from tests.scenes import PlainSealer
from tests.service import RunningService


@contextmanager
def running(worker: Worker) -> Iterator[threading.Event]:
    """The worker at work in this process until the block ends, or until the event is set."""
    stop = threading.Event()
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join()


@contextmanager
def working(database: Database, data_dir: Path | None = None) -> Iterator[None]:
    """A worker next to the service, one check at a time; with its folder, it reads the credentials that the service has sealed."""
    sealer = PlainSealer() if data_dir is None else open_secret_box(Settings(data_dir=data_dir))
    perform = partial(perform_check, database=database, sealer=sealer, further=mitigate_window)
    with running(Worker(database, perform, concurrency=1)):
        yield


def ended(service: RunningService, address: str, check: dict[str, Any]) -> dict[str, Any]:
    """The check, once it is over, with its figures and tables."""
    own = f"{address}/checks/{check['id']}"
    wait_until(lambda: service.client.get(own).json()["state"] not in {"queued", "running"}, "the check is over")
    return read_results(service.client, own)
