"""Pages that offer a report prepare the process that makes it, so that the first one is as fast as the next."""

from collections.abc import Iterator

from fastapi import Depends

from ..web.access import ServicesIn


def _warm_reports(services: ServicesIn) -> Iterator[None]:
    # After the page is sent: the new process would compete with it for processors.
    yield
    services.reports.warm()


OFFERS_REPORTS = Depends(_warm_reports)
"""Dependency of a page with links to reports. A service whose pages nobody opens keeps the memory of that process."""
