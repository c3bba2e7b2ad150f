"""A notifier next to the service."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.access.secret_box import open_secret_box
from app.alerts.channels.notifier import Notifier, Sender
from app.base.settings import Settings
from app.calls.egress_policy import EgressPolicy
from app.database.engine import Database


@contextmanager
def notifying(database: Database, data_dir: Path) -> Iterator[None]:
    """A notifier with the keys of the service."""
    settings = Settings(data_dir=data_dir)
    notifier, stop = Notifier(database, Sender(settings, open_secret_box(settings), EgressPolicy).send), threading.Event()
    notifier.start(stop)
    try:
        yield
    finally:
        stop.set()
        notifier.join(threading.TIMEOUT_MAX)
