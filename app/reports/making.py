"""Makes reports as files, in processes of their own: drawing charts holds Python's lock for as long as it takes."""

import asyncio
import multiprocessing
import os
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from ..domain.checks import CheckRun, Span
from ..domain.deployments import Deployment
from ..errors import EvenhandError, FieldProblem, InvalidInput, Unavailable
from ..store.database.engine import Database
from ..turns import Turns
from .canonical import canonical_json
from .check_report import check_report
from .document import Made
from .html import as_html
from .pdf import as_pdf
from .period_report import period_report
from .regulator.making import ReportForm, make_regulator_report
from .regulator.wanted import SheetsWanted
from .source import read_check, read_period

AT_ONCE = max(1, min(2, (os.cpu_count() or 1) - 1))
"""Max reports that are made at the same time: each takes a processor for a second or more, and one is left to everything else."""

WAITING, WAITING_OF_KEY = 80, 40
"""Max reports that wait, in total and of one key or person."""

WAIT_SECONDS = 60.0
"""Max seconds that a report waits for its turn."""

MAKE_SECONDS = 55.0
"""Max seconds that a report takes."""

Form: TypeAlias = Literal["html", "pdf", "json"]
"""Form of a report; `json` is the data that it is made from, whose hash the report names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Order for a report: its subject, its format, who asked for it when, and whether the annex is wanted."""

    deployment: Deployment
    of: CheckRun | Span
    made: Made
    form: Form
    has_annex: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegulatorOrder:
    """Order for a regulator's report: the deployment, the period, the sheets, the format, and who asked for it when."""

    deployment: Deployment
    of: Span
    wanted: SheetsWanted
    made: Made
    form: ReportForm


@dataclass(frozen=True, slots=True)
class RefusedReport:
    """Problems of an order that only the log shows. Errors with problems do not survive the way between processes."""

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
            InvalidInput: a regulator's report cannot be made of these columns or of this period.
            Unavailable: the database does not answer, the process was ended from outside, or it took too long.
        """
        pool = _pool()
        try:
            async with asyncio.timeout(MAKE_SECONDS):
                found = await asyncio.wrap_future(pool.submit(make_report, self._url, order))
        except TimeoutError as error:
            # A process of it hangs. The next report starts new ones.
            if pool is _pool():
                _pool.cache_clear()
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 - no public way exists before Python 3.14
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)
            raise Unavailable(
                f"The report was not ready after {MAKE_SECONDS:.0f} seconds."
                " Ask for a shorter time, or again when the machine has less to do."
            ) from error
        except BrokenProcessPool as error:
            # Another report may have replaced the pool already.
            if pool is _pool():
                _pool.cache_clear()
            raise Unavailable(
                "The process that made the report was ended, perhaps because memory ran out. Ask for the report again."
            ) from error
        if isinstance(found, RefusedReport):
            raise InvalidInput(found.problems)
        return found


@cache
def _pool() -> ProcessPoolExecutor:
    """Returns processes. They start with the first reports and stay as long as this one: loading the drawing libraries takes seconds."""
    # A fork would inherit the threads of this process half-way through their work.
    return ProcessPoolExecutor(AT_ONCE, mp_context=multiprocessing.get_context("spawn"), initializer=_follow_parent)


def make_report(database_url: str, order: Order | RegulatorOrder) -> bytes | RefusedReport:
    """Returns the file, or the problems of a regulator's report.

    Raises:
        Unavailable: the database does not answer, or what is reported on was deleted meanwhile.
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
        # After the transaction: drawing takes seconds, and the database ends sessions that do nothing within one.
        return as_pdf(document) if order.form == "pdf" else as_html(document).encode()
    except InvalidInput as error:
        return RefusedReport(tuple(error.problems))
    except EvenhandError as error:
        raise Unavailable(str(error)) from None
    except Exception as error:  # noqa: BLE001 - any error must reach the other process
        # Errors of libraries may not survive the way to the other process, and would break the pool.
        raise RuntimeError("".join(traceback.format_exception(error))) from None
    finally:
        database.close()


def _follow_parent() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
