from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.store.engine import Database
from tests.service import RunningService, running_service


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, running on a fresh database."""
    with running_service(database, tmp_path) as service:
        yield service


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    """Something that keeps cookies and shows pages, and has logged in nowhere."""
    headers = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=service.base_url, headers=headers, timeout=20) as client:
        yield client


@pytest.fixture
def reader(service: RunningService, browser: httpx.Client) -> httpx.Client:
    """The same, logged in as an admin."""
    browser.post("/login", data={"key": service.admin_key})
    return browser
