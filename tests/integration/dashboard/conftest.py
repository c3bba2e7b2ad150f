from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.database.engine import Database
from app.domain.deployment import Endpoint
from tests.builders.applicants import AGE, APPLICANT, SEX, monitor_of
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import Scene, scene
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
    with service.new_client(headers=headers) as client:
        yield client


@pytest.fixture
def reader(service: RunningService, browser: httpx.Client) -> httpx.Client:
    """The same, logged in as an admin."""
    browser.post("/login", data={"key": service.admin_key})
    return browser


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    """The watched deployment."""
    with serve(RuleScorer()) as server:
        yield scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))
