"""A process of its own that runs attributions, to be killed."""

from contextlib import AbstractContextManager
from multiprocessing.process import BaseProcess

from app.database.engine import Database
from tests.builders.attributions import run_all
from tests.builders.killed_processes import killed_process


def attributing_process(url: str) -> AbstractContextManager[BaseProcess]:
    """A process that runs all queued attributions; killed at the end of the block if it still runs."""
    return killed_process(_work, url)


def _work(url: str) -> None:
    database = Database(url)
    run_all(database)
    database.close()
