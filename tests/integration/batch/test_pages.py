"""Pages and reports of a deployment whose records lie in files: each has its figures, or says why there are none."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.alerts.evaluate import evaluate_ended_checks
from app.checks.window.window import TablePlaces
from app.database.engine import Database
from app.deployments.queries import Deployments
from app.domain.check import Trigger
from app.domain.deployment import Endpoint
from app.worker.looks import look_for_late_files
from tests.builders.alerts import judge_single_checks
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.builders.page_words import says
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import NOON, PlainSealer, Scene, scene
from tests.service import RunningService, running_service


def words(text: str) -> str:
    """The text of a page without its tags."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))


PAGES = (
    *("", "/checks", "/checks/{check}", "/alerts", "/ingestion", "/configure", "/configure/monitor", "/configure/log"),
    *("/transactions", "/transactions/a-record", "/second-look", "/reports", "/configure/mitigation"),
)


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


@pytest.mark.nightly
def test_each_page_answers_and_says_what_is_not_there(service: RunningService, check: str) -> None:
    name = next(deployment["id"] for deployment in service.client.get("/v1/deployments").json()["deployments"] if deployment["payload"])
    asks = {"headers": {"Accept": "text/html"}}

    answers = {path: service.client.get(f"/deployments/{name}{path.format(check=check)}", **asks) for path in PAGES}

    for path in PAGES:
        assert answers[path].status_code == 200, path
        assert says(words(answers[path].text), "There are no", "single records", "mitigation", "attributions"), path
        assert ">Transactions</a>" not in answers[path].text, path
    for path in ("/transactions", "/transactions/a-record", "/second-look"):
        assert "Single records are not shown" in words(answers[path].text), path
    for path in ("", "/checks/{check}"):
        assert "/transactions" not in answers[path].text, path
    assert "/regulator-report." not in answers["/reports"].text
    assert "/report.pdf" in answers["/reports"].text
    assert "not there for this deployment" in words(answers["/configure/mitigation"].text)


def test_the_view_of_mitigation_and_the_report_say_that_files_have_none(service: RunningService, check: str) -> None:
    asks = {"headers": {"Accept": "text/html"}}
    mitigated = words(service.client.get(f"/deployments/in-files/checks/{check}?view=mitigated", **asks).text)
    report = words(service.client.get(f"/v1/deployments/in-files/checks/{check}/report.html").text)

    assert says(mitigated, "lie in your own tables", "mitigation is not there")
    assert "No hour has been counted yet" in report


def test_a_check_of_files_says_where_the_records_are_that_need_a_second_look(
    service: RunningService, database: Database, tmp_path: Path
) -> None:
    with serve(RuleScorer()) as server:
        lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url)), tmp_path)
        lake.write(applicants(40, 40, 10), NOON)
        check = lake.check(NOON).run
    asks = {"headers": {"Accept": "text/html"}}

    shown = words(service.client.get(f"/deployments/in-files/checks/{check.id}", **asks).text)
    file = tmp_path / "payload" / "_evenhand" / "flagged" / "2026-03-02T120000Z_2026-03-02T130000Z.parquet"
    assert says(shown, "30 flags", "sex: 30", "Parquet", f"{file} .")
    assert file.is_file()
    assert service.client.get(f"/v1/deployments/in-files/checks/{check.id}").json()["window"]["flag_file"] == str(file)
    second_look = words(service.client.get("/deployments/in-files/second-look", **asks).text)
    assert says(second_look, "as Parquet", "the page of the check names its file")
    refused = service.client.get("/v1/deployments/in-files/flagged-records").json()
    assert says(refused["detail"], "`flag_file`")


def test_the_listed_files_are_shown_where_records_are_expected(
    service: RunningService, database: Database, check: str, tmp_path: Path
) -> None:
    assert check
    asks = {"headers": {"Accept": "text/html"}}
    before = words(service.client.get("/deployments/in-files/ingestion", **asks).text)
    look_for_late_files(database, (tmp_path,))

    for path in ("/ingestion", "/configure/log"):
        shown = words(service.client.get(f"/deployments/in-files{path}", **asks).text)
        assert re.search(r"Records \S+/payload , parquet 1 [\d.]+ KiB", shown), path
        assert re.search(r"Labels \S+/feedback , parquet 0 0 Bytes", shown), path
    assert re.search(r"Records \S+/payload , parquet 0 0 Bytes", before)
    assert "table_not_listed" in before


def test_an_alert_on_records_in_files_opens_and_says_where_its_records_are(
    service: RunningService, database: Database, check: str, tmp_path: Path
) -> None:
    assert check
    asks = {"headers": {"Accept": "text/html"}}
    with database.transaction() as session:
        deployment = Deployments(session, PlainSealer()).get("in-files")
    judge_single_checks(database, deployment.no)
    lake = Scene(database, deployment, places=TablePlaces((tmp_path,)))
    lake.check(NOON, trigger=Trigger.SCHEDULE)
    evaluate_ended_checks(database)

    alerts = service.client.get("/v1/alerts?state=open").json()["alerts"]
    assert [(alert["attribute"], alert["group"], alert["data"]) for alert in alerts] == [("sex", "female", "as_logged")]
    shown = service.client.get(f"/alerts/{alerts[0]['id']}", **asks).text
    assert says(words(shown), "They are not shown", "lie in your own tables")
    assert "/transactions" not in shown
    rules = words(service.client.get("/deployments/in-files/alerts", **asks).text)
    assert "A rule that limits false alarms" in rules


@pytest.mark.nightly
def test_its_reports_are_made_and_its_other_routes_say_why_not(service: RunningService, check: str) -> None:
    base = "/v1/deployments/in-files"
    made = (
        "",
        "/checks",
        "/series",
        "/ingestion",
        "/alerts",
        "/evidence",
        f"/checks/{check}",
        f"/checks/{check}/views/as_logged",
        f"/checks/{check}/report.pdf",
    )
    refused = ("/payload-records", "/flagged-records", "/transactions")

    for path in made:
        answer = service.client.get(base + path)
        assert answer.status_code in {200, 404}, (path, answer.text[:300])
    for path in refused:
        answer = service.client.get(base + path)
        assert answer.status_code in {404, 409}, (path, answer.text[:300])
