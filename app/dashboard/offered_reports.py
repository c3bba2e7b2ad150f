"""Prepares the process of reports on pages that offer one."""

from collections.abc import Iterator

from fastapi import Depends

from ..web.access import ServicesIn


def _warm_reports(services: ServicesIn) -> Iterator[None]:
    # After the page is sent: the new process would compete with it for processors.
    yield
    services.reports.warm()


OFFERS_REPORTS = Depends(_warm_reports)
"""For pages with links to reports. A service without them keeps the memory of that process."""
