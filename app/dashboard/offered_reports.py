"""Pages that offer a report prepare the process that makes it, so that the first one is as fast as the next."""

from fastapi import Depends

from ..web.access import ServicesIn


def _warm_reports(services: ServicesIn) -> None:
    services.reports.warm()


OFFERS_REPORTS = Depends(_warm_reports)
"""Dependency of a page with links to reports. A service whose pages nobody opens keeps the memory of that process."""
