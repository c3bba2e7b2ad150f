"""Pages of alerts: grouped by deployment, one line for both figures of a group, and the page of one with all that people do about it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import httpx
import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.alerts.evaluate import evaluate_ended_checks
from app.base.clock import HOUR, floor_to_hour, utc_now
from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Endpoint
from app.domain.monitor import DisplayNames, GroupName
from tests.builders.alerts import judge_single_checks
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import says, words
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import Scene, scene
from tests.service import RunningService

MEN = "\u0631\u062c\u0627\u0644"
"""Men, in Arabic letters, which run from right to left."""
NAMES = DisplayNames(groups=(GroupName(feature="sex", group="female", name="women <i>"), GroupName(feature="sex", group="male", name=MEN)))
COMMENT = "7b1f0f3e-58f3-4f3b-9a53-2f6f0f0f7c21"


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    """A model that was fair for two hours and is unfair to women since; its alerts are decided."""
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, replace(monitor_of(SEX), names=NAMES), endpoint=Endpoint(url=server.url))
        judge_single_checks(database, stage.deployment.no)
        now = floor_to_hour(utc_now())
        for back, rich in ((4, 58), (3, 58), (2, 6), (1, 6)):
            stage.log(applicants(40, 60, rich, prefix=f"{back}-"), now - back * HOUR)
            stage.check(now - back * HOUR, trigger=Trigger.SCHEDULE)
            evaluate_ended_checks(database)
        yield stage


def alert_of(service: RunningService) -> str:
    """The id of the only open alert."""
    (alert,) = service.client.get("/v1/alerts?state=open").json()["alerts"]
    return str(alert["id"])


@pytest.mark.usefixtures("stage")
def test_a_group_is_one_line_with_its_worst_figure_under_its_deployment(
    service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    alert = alert_of(service)
    service.client.post(f"/v1/alerts/{alert}/acknowledgement", json={"note": "On <it>."}).raise_for_status()
    page = reader.get("/alerts").text

    rows = re.findall(r"<tr>\s*<td.*?</tr>", page, re.DOTALL)
    assert len(rows) == 1
    said = words(rows[0])
    assert says(said, "women <i> (sex)", "disparate impact, counterfactual, and 1 more", "0.06", "100 / 100", "On <it>.")
    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d|key \w+", "…", said) == snapshot
    assert f'value="{alert}"' in rows[0]
    assert re.search(r'<h2 id="alerts-1"><a href="/deployments/a-model/alerts">A model</a></h2>', page)
    assert set(re.findall(r'data-api="(POST /v1/alert-\w+)"', page)) == {
        "POST /v1/alert-acknowledgements",
        "POST /v1/alert-assignments",
        "POST /v1/alert-closures",
    }
    assert page.count("<tr>") == reader.get("/deployments/a-model/alerts").text.partition('id="rules"')[0].count("<tr>")


@pytest.mark.thorough
@pytest.mark.usefixtures("stage")
def test_alerts_on_the_page_over_time_have_display_names(reader: httpx.Client) -> None:
    said = words(reader.get("/deployments/a-model").text)

    assert says(said, "women <i>", "10")
    assert "records of female" not in said


@pytest.mark.usefixtures("stage")
def test_an_alert_has_its_trend_its_records_its_names_and_what_people_say(
    service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    service.client.post("/v1/users", json={"name": "ada", "role": "read", "password": "four plain words here"}).raise_for_status()
    alert = alert_of(service)
    service.client.put(f"/v1/alerts/{alert}/assignment", json={"assignee": "user:ada"}).raise_for_status()
    service.client.put(f"/v1/alerts/{alert}/comments/{COMMENT}", json={"text": "<b>Prices</b>\nchanged."}).raise_for_status()
    page = reader.get(f"/alerts/{alert}").text
    said = words(page)

    assert says(said, "women <i>", MEN)
    assert "in the records: female" in said
    assert "Assigned to ada" in said
    assert "4 checks from" in said
    assert said == snapshot
    assert 'class="onset"' in page
    assert "&lt;b&gt;Prices&lt;/b&gt;\nchanged." in page
    records = re.findall(r'href="(/deployments/a-model/transactions/[^"]+)"', page)
    assert len(records) == 5
    # Of 60 women in the check's hour 6 are rich; as men, all would be approved.
    assert "The newest 5 of 54 records." in said
    assert {reader.get(address.replace("&amp;", "&")).status_code for address in records} == {200}
    every = re.search(r'href="(/deployments/a-model/transactions\?[^"]+)"', page)
    assert every is not None
    assert "unfavourable" in reader.get(every[1].replace("&amp;", "&")).text
    assert re.findall(r'<option value="user:ada" selected>ada</option>', page)
    forms = set(re.findall(r'data-api="([^"]+)"', page))
    assert {f"PUT /v1/alerts/{alert}/assignment", f"POST /v1/alerts/{alert}/acknowledgement"} <= forms


@pytest.mark.thorough
def test_a_trend_says_that_nothing_was_measured_before_or_after(stage: Scene, service: RunningService, reader: httpx.Client) -> None:
    alert = alert_of(service)

    def read_since(at: datetime) -> str:
        with stage.database.transaction() as session:
            facts = text("UPDATE alert_figures SET facts = facts || jsonb_build_object('since', CAST(:at AS text))")
            session.execute(facts, {"at": at.isoformat()})
        return words(reader.get(f"/alerts/{alert}").text)

    before, after = "No check measured this figure in the two days before.", "No check has measured it since then."
    now = floor_to_hour(utc_now())
    assert [one in read_since(now - 5 * HOUR) for one in (before, after)] == [True, False]
    assert [one in read_since(now - 2 * HOUR) for one in (before, after)] == [False, False]
    assert [one in read_since(now + HOUR) for one in (before, after)] == [False, True]


@pytest.mark.usefixtures("stage")
def test_who_may_read_is_offered_to_acknowledge_assign_and_comment_and_not_to_close(service: RunningService, browser: httpx.Client) -> None:
    alert = alert_of(service)
    browser.post("/login", data={"key": service.key(Role.READ)})
    page = browser.get(f"/alerts/{alert}").text

    offered = [address.split("/")[-1] for address in re.findall(r'data-api="\w+ (/v1/alerts/[^"]+)"', page)]
    assert offered[:2] == ["acknowledgement", "assignment"]
    assert len(offered) == 3
    assert "closure" not in page
    assert "another group would turn favourable" in words(page)
