"""A notifier next to the service."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.alerts.sending import Sender
from app.outbound.egress import EgressPolicy
from app.schedule.notifier import Notifier
from app.security.secrets import open_secret_box
from app.settings import Settings
from app.store.database.engine import Database


@contextmanager
def notifying(database: Database, data_dir: Path) -> Iterator[None]:
    """A notifier with the keys of the service."""
    settings = Settings(data_dir=data_dir)
    notifier, stop = Notifier(database, Sender.of(settings, open_secret_box(settings), EgressPolicy).send), threading.Event()
    notifier.start(stop)
    try:
        yield
    finally:
        stop.set()
        notifier.join(threading.TIMEOUT_MAX)
