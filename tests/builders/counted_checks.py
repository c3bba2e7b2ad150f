"""Checks that are done by simple rules, and workers in processes of their own that do them.

The side tables of `counted` hold every start and every stored end of a check, so that tests can count them.
"""

import os
import time
from contextlib import AbstractContextManager
from multiprocessing.process import BaseProcess

from sqlalchemy import text

from app.checks.lease_queries import finish_check
from app.checks.subject import Report
from app.cli.database import build_stop_signal
from app.database.engine import Database
from app.domain.check import CheckRun, CheckState, Progress
from app.worker.worker import Worker
from tests.builders.killed_processes import killed_process


def make_side_tables(database: Database) -> None:
    """The tables that `CountedCheck` writes to."""
    with database.transaction() as session:
        session.execute(text("CREATE TABLE starts (check_no bigint, pid int)"))
        session.execute(text("CREATE TABLE ends (check_no bigint, pid int)"))


def rows(database: Database, table: str) -> list[tuple[int, int]]:
    """(check, process) of each start or end."""
    with database.transaction() as session:
        return [(no, pid) for no, pid in session.execute(text(f"SELECT check_no, pid FROM {table}"))]  # noqa: S608 - a test's own name


class CountedCheck:
    """Reports page after page, then succeeds; notes its start, and its end in the transaction that ends the check."""

    def __init__(self, database: Database, *, pages: int, page_seconds: float) -> None:
        self._database = database
        self._pages = pages
        self._page_seconds = page_seconds

    def __call__(self, check: CheckRun, *, report: Report, **_: object) -> None:
        self._note("starts", check)
        for page in range(self._pages):
            report(Progress(step="scoring copies", done=page, total=self._pages))
            time.sleep(self._page_seconds)
        self.end(check)

    def end(self, check: CheckRun) -> None:
        """Stores the result."""
        with self._database.transaction() as session:
            finish_check(session, check, state=CheckState.SUCCEEDED, window={"records": 1}, alerts_due=True)
            session.execute(text("INSERT INTO ends VALUES (:no, :pid)"), {"no": check.no, "pid": os.getpid()})

    def _note(self, table: str, check: CheckRun) -> None:
        with self._database.transaction() as session:
            session.execute(text(f"INSERT INTO {table} VALUES (:no, :pid)"), {"no": check.no, "pid": os.getpid()})  # noqa: S608 - as above


def worker_process(url: str, *, pages: int = 1, page_seconds: float = 0.0) -> AbstractContextManager[BaseProcess]:
    """A worker in a process of its own that does `CountedCheck`s; killed at the end of the block if it still runs."""
    return killed_process(_work, url, pages, page_seconds)


def _work(url: str, pages: int, page_seconds: float) -> None:
    stop = build_stop_signal()
    database = Database(url)
    check = CountedCheck(database, pages=pages, page_seconds=page_seconds)
    Worker(database, check, concurrency=2).run(stop)
    database.close()
