"""Pages and reports of a deployment whose records lie in files: each has its figures, or says why there are none."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.database.engine import Database
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.scenes import NOON, scene
from tests.service import RunningService, running_service


def words(text: str) -> str:
    """The text of a page without its tags."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))


PAGES = ("", "/checks", "/checks/{check}", "/alerts", "/ingestion", "/configure", "/configure/monitor", "/configure/log")
REFUSED = ("/transactions", "/second-look")


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, which may read that folder."""
    with running_service(database, tmp_path / "data", table_roots=str(tmp_path)) as service:
        yield service


@pytest.fixture
def check(database: Database, service: RunningService, tmp_path: Path) -> str:
    """The id of the deployment's only check."""
    stage = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=None)
    lake = lake_of(stage, tmp_path)
    lake.write(applicants(40, 40, 10), NOON)
    assert service.client.get("/health/ready").is_success
    return str(lake.check(NOON).run.id)


def test_each_page_answers_and_says_what_is_not_there(service: RunningService, check: str) -> None:
    name = next(one["id"] for one in service.client.get("/v1/deployments").json()["deployments"] if one["payload"])
    asks = {"headers": {"Accept": "text/html"}}

    answers = {path: service.client.get(f"/deployments/{name}{path.format(check=check)}", **asks) for path in (*PAGES, *REFUSED)}

    assert {path: one.status_code for path, one in answers.items() if one.status_code >= 500} == {}
    for path in PAGES:
        assert answers[path].status_code == 200, path
        assert "a rule on evidence opens no alert: set a rule on single checks" in words(answers[path].text), path
        assert ">Transactions</a>" not in answers[path].text, path
    for path in REFUSED:
        assert answers[path].status_code == 409, path
        assert "lie in files" in words(answers[path].text), path


def test_its_reports_are_made_and_its_other_routes_say_why_not(service: RunningService, check: str) -> None:
    base = "/v1/deployments/in-files"
    made = (
        "",
        "/checks",
        "/series",
        "/ingestion",
        "/alerts",
        f"/checks/{check}",
        f"/checks/{check}/views/payload",
        f"/checks/{check}/report.pdf",
    )
    refused = ("/payload-records", "/flagged-records", "/evidence", "/transactions")

    for path in made:
        answer = service.client.get(base + path)
        assert answer.status_code in {200, 404}, (path, answer.text[:300])
    for path in refused:
        answer = service.client.get(base + path)
        assert answer.status_code in {404, 409}, (path, answer.text[:300])
