"""Makes reports in processes of their own: drawing charts holds Python's lock."""

import asyncio
from typing import Literal

import structlog

from ..base.apart import ChildWork
from ..base.errors import EvenhandError, InvalidInput, ReportNotMade, TooLarge, Unavailable
from ..base.turns import Turns
from ..database.engine import Database
from .regulator.regulator_report import ReportOrder, read_content

log = structlog.get_logger("evenhand.reports")

MAX_CONCURRENT = 2
"""Reports that are made at the same time."""

MAX_WAITING = 80
"""Reports that wait for their turn."""

MAX_WAITING_OF_KEY = 40
"""Reports of one key or person that wait."""

MAX_WAIT_SECONDS = 60.0
MAX_WORK_SECONDS = 55.0

Form = Literal["html", "pdf", "json"]
"""`json` is the data that the report is made from."""


class ReportMaker:
    """Makes reports on one database. Belongs to one event loop."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self.turns = Turns(
            MAX_CONCURRENT,
            waiting=MAX_WAITING,
            waiting_each=MAX_WAITING_OF_KEY,
            wait_seconds=MAX_WAIT_SECONDS,
            busy="Too many reports are being made or wait for it. Nothing was changed; ask for this one "
            "again in a few seconds.",
        )

    async def make(self, order: ReportOrder, form: str) -> bytes:
        """Makes the file of a report. The caller holds one of the `turns`.

        Raises:
            InvalidInput: a regulator's report cannot be made of these columns or this period.
            Unavailable: the database does not answer.
            ReportNotMade: the process was ended, took too long, or failed.
        """
        child = ChildWork(make_report, self._url, order, form)
        try:
            async with asyncio.timeout(MAX_WORK_SECONDS):
                content: bytes = await asyncio.to_thread(child.result)
                return content
        except TimeoutError as error:
            raise ReportNotMade(
                f"The report was not ready after {MAX_WORK_SECONDS:.0f} seconds."
                " Ask for a shorter time, or again when the machine has less to do."
            ) from error
        except TooLarge as error:
            raise ReportNotMade(
                "The process that made the report was ended, perhaps because memory ran out. Ask for the "
                "report again."
            ) from error
        except OSError as error:
            raise ReportNotMade(
                f"The machine refused the process that makes reports: {error}. Ask again when it has less "
                "to do."
            ) from error
        except RuntimeError as error:
            log.exception("report_failed", deployment=order.deployment.id)
            raise ReportNotMade(
                "Making the report failed, which is our fault. The log has the details under the request id."
                " Another time or form may work.",
                retry_after_seconds=None,
            ) from error
        finally:
            # Even if the caller has left: the next report would wait for this process.
            child.end()


def make_report(database_url: str, order: ReportOrder, form: str) -> bytes:
    """Makes the file of a report, in a process of its own.

    Raises:
        InvalidInput: a regulator's report cannot be made of these columns or this period.
        Unavailable: the database does not answer, or the subject was deleted meanwhile.
    """
    database = Database(database_url, pool_size=1)
    try:
        return read_content(database, order).write(form)
    except InvalidInput:
        raise
    except EvenhandError as error:
        raise Unavailable(str(error)) from None
    finally:
        database.close()
