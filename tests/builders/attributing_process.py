"""A process of its own that runs attributions, to be killed."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

from app.store.database.engine import Database
from tests.builders.attributions import run_all


@contextmanager
def attributing_process(url: str) -> Iterator[BaseProcess]:
    """A process that runs all queued attributions; killed at the end of the block if it still runs."""
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(url,))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _work(url: str) -> None:
    database = Database(url)
    run_all(database)
    database.close()
