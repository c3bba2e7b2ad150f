"""A process of its own that brings the evidence of a deployment up to date, to be killed."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from multiprocessing.process import BaseProcess

from app.store.database.engine import Database
from app.tracking.updating import update_deployment


@contextmanager
def tracking_process(url: str, deployment_no: int, until: datetime) -> Iterator[BaseProcess]:
    """A process that counts the hours before `until`; killed at the end of the block if it still runs."""
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(url, deployment_no, until))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _work(url: str, deployment_no: int, until: datetime) -> None:
    database = Database(url)
    update_deployment(database, deployment_no, until)
    database.close()
