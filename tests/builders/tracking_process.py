"""A process of its own that brings the evidence of a deployment up to date, to be killed."""

from contextlib import AbstractContextManager
from datetime import datetime
from multiprocessing.process import BaseProcess

from app.database.engine import Database
from app.evidence.update import update_deployment
from tests.builders.killed_processes import killed_process


def tracking_process(url: str, deployment_no: int, until: datetime) -> AbstractContextManager[BaseProcess]:
    """A process that counts the hours before `until`; killed at the end of the block if it still runs."""
    return killed_process(_work, url, deployment_no, until)


def _work(url: str, deployment_no: int, until: datetime) -> None:
    database = Database(url)
    update_deployment(database, deployment_no, until)
    database.close()
