"""Prepares the processes of reports on pages that offer one."""

from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.forkserver import ensure_running

from fastapi import Depends


def _prepare_reports() -> Iterator[None]:
    # After the page is sent: the new process would compete with it for processors.
    yield
    with suppress(OSError):  # the machine refuses it: the report will say so
        ensure_running()


OFFERS_REPORTS = Depends(_prepare_reports)
"""For pages with links to reports. A service without them keeps the memory of that process."""
