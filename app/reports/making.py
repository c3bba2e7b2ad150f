"""Makes reports in processes of their own: drawing charts holds Python's lock."""

import asyncio
import multiprocessing
import os
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Literal, TypeAlias

import structlog

from ..domain.checks import CheckRun, Span
from ..domain.deployments import Deployment
from ..errors import EvenhandError, FieldProblem, InvalidInput, ReportNotMade, Unavailable
from ..frozen import frozen
from ..store.database.engine import Database
from ..turns import Turns
from .canonical import canonical_json
from .check_reports import check_report, period_report
from .document import Made
from .html import as_html
from .pdf import as_pdf
from .regulator.making import ReportForm, make_regulator_report
from .regulator.presets import SheetsWanted
from .source import read_check, read_period

log = structlog.get_logger("evenhand.reports")

AT_ONCE = 2
"""Max reports made at the same time."""

NICENESS = 10
"""Niceness of the processes."""

WAITING, WAITING_OF_KEY = 80, 40
"""Max reports that wait, in total and of one key or person."""

WAIT_SECONDS = 60.0
"""Max seconds that a report waits for its turn."""

MAKE_SECONDS = 55.0
"""Max seconds that a report takes."""

_NO_PROCESS = (OSError, RuntimeError)
"""Errors of a start where memory or processes have run out."""

Form: TypeAlias = Literal["html", "pdf", "json"]
"""`json` is the data that the report is made from."""


@frozen(kw_only=True)
class Order:
    deployment: Deployment
    of: CheckRun | Span
    made: Made
    form: Form
    has_annex: bool = False


@frozen(kw_only=True)
class RegulatorOrder:
    deployment: Deployment
    of: Span
    wanted: SheetsWanted
    made: Made
    form: ReportForm


@frozen
class RefusedReport:
    """Problems of an order. Errors with problems do not survive the way between processes."""

    problems: tuple[FieldProblem, ...]


class ReportMaker:
    """Makes reports on one database. Belongs to one event loop."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self.turns = Turns(
            AT_ONCE,
            waiting=WAITING,
            waiting_each=WAITING_OF_KEY,
            wait_seconds=WAIT_SECONDS,
            busy="Too many reports are being made or wait for it. Nothing was changed; ask for this one again in a few seconds.",
        )

    async def make(self, order: Order | RegulatorOrder) -> bytes:
        """Returns the file. The caller holds one of the `turns`.

        Raises:
            InvalidInput: a regulator's report cannot be made of these columns or this period.
            Unavailable: the database does not answer.
            ReportNotMade: the process was ended, took too long, or failed.
        """
        processes = _processes()
        worker, is_free = processes.take(), False
        try:
            async with asyncio.timeout(MAKE_SECONDS):
                found = await asyncio.wrap_future(worker.submit(make_report, self._url, order))
            is_free = True
        except TimeoutError as error:
            raise ReportNotMade(
                f"The report was not ready after {MAKE_SECONDS:.0f} seconds."
                " Ask for a shorter time, or again when the machine has less to do."
            ) from error
        except BrokenProcessPool as error:
            raise ReportNotMade(
                "The process that made the report was ended, perhaps because memory ran out. Ask for the report again."
            ) from error
        except OSError as error:
            raise ReportNotMade(
                f"The machine refused the process that makes reports: {error}. Ask again when it has less to do."
            ) from error
        except Unavailable:
            is_free = True
            raise
        except RuntimeError as error:
            is_free = True
            log.exception("report_failed", deployment=order.deployment.id)
            raise ReportNotMade(
                "Making the report failed, which is our fault. The log has the details under the request id."
                " Another time or form may work.",
                retry_after_seconds=None,
            ) from error
        finally:
            # Also where nobody waits any more: the next report would wait for it.
            (processes.put_back if is_free else end_process)(worker)
        if isinstance(found, RefusedReport):
            raise InvalidInput(found.problems)
        return found

    def warm(self) -> None:
        """Starts a first process in any thread; returns at once."""
        _processes().warm()


class ReportProcesses:
    """Processes that make one report at a time each. They stay when idle: loading libraries takes seconds."""

    def __init__(self) -> None:
        self._idle: list[ProcessPoolExecutor] = []
        self._started = False
        self._lock = threading.Lock()

    def take(self) -> ProcessPoolExecutor:
        with self._lock:
            self._started = True
            return self._idle.pop() if self._idle else _start_process()

    def put_back(self, worker: ProcessPoolExecutor) -> None:
        with self._lock:
            self._idle.append(worker)

    def warm(self) -> None:
        """Starts one if none was ever started. If the machine refuses, the next call tries again."""
        with self._lock:
            if self._started:
                return
            worker = _start_process()
            try:
                worker.submit(_load)
            except _NO_PROCESS as error:
                end_process(worker)
                log.warning("report_process_not_started", problem=str(error))
                return
            self._started = True
            self._idle.append(worker)


@cache
def _processes() -> ReportProcesses:
    return ReportProcesses()


def _start_process() -> ProcessPoolExecutor:
    # A fork would inherit this process's threads half-way through their work.
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=_begin)


def end_process(worker: ProcessPoolExecutor) -> None:
    for process in list((worker._processes or {}).values()):  # noqa: SLF001 - no public way exists before Python 3.14
        process.kill()
    worker.shutdown(wait=False, cancel_futures=True)


def _load() -> None:
    """Empty: to find it, a new process loads everything that makes reports."""


def make_report(database_url: str, order: Order | RegulatorOrder) -> bytes | RefusedReport:
    """Returns the file, or the problems of a regulator's report.

    Raises:
        Unavailable: the database does not answer, or the subject was deleted meanwhile.
    """
    database = Database(database_url, pool_size=1)
    try:
        if isinstance(order, RegulatorOrder):
            return make_regulator_report(database, order.deployment, order.of, order.wanted, order.made, order.form)
        with database.transaction() as session:
            if order.form == "json":
                deployment = order.deployment
                return canonical_json(
                    read_period(session, deployment, order.of) if isinstance(order.of, Span) else read_check(session, deployment, order.of)
                )
            if isinstance(order.of, Span):
                document = period_report(session, order.deployment, order.of, order.made, has_annex=order.has_annex)
            else:
                document = check_report(session, order.deployment, order.of, order.made, has_annex=order.has_annex)
        # After the transaction: drawing takes seconds, and the database ends idle sessions after one.
        return as_pdf(document) if order.form == "pdf" else as_html(document).encode()
    except InvalidInput as error:
        return RefusedReport(tuple(error.problems))
    except EvenhandError as error:
        raise Unavailable(str(error)) from None
    except Exception as error:  # noqa: BLE001 - any error must reach the other process
        # Errors of libraries may not survive the way between processes, and would break the pool.
        raise RuntimeError("".join(traceback.format_exception(error))) from None
    finally:
        database.close()


def _begin() -> None:
    os.nice(NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
