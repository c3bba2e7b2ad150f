"""Groups nobody listed on the page of a deployment: scans, the groups they found, and why there is nothing yet."""

import re
from contextlib import closing
from typing import Any

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.database.engine import Database
from app.domain.monitor import EvidenceSettings
from app.evidence.subgroups.scan_deployment import run_next_scan
from app.pages.deployment.explore_page import NO_MONITOR, NO_SCAN, NO_WORKER, NOTHING_COUNTED
from tests.builders.evidence_worlds import START, Logged, log, update, watched, world
from tests.builders.heartbeats import let_a_worker_answer
from tests.builders.page_words import says, words
from tests.scenes import HOUR, Scene
from tests.service import RunningService

PAGE = "/deployments/a-model"
EXPLORE = f"{PAGE}/explore"
SCANS = "/v1/deployments/a-model/subgroup-scans"
FOUND_GROUPS = "/v1/deployments/a-model/fairness-monitor/found-groups"
HOURS = 30


def section(client: httpx.Client) -> str:
    """The section of the page as HTML."""
    answer = client.get(EXPLORE)
    assert answer.status_code == 200
    return answer.text.partition('id="nobody-listed"')[2].partition("</section>")[0]


@pytest.fixture
def counted(database: Database) -> Scene:
    """A watched deployment that approves women half as often, its hours counted."""
    found = watched(database, metrics=("disparate_impact",))
    log(found, world([0.5] * HOURS, seed=1), first_no=1)
    update(found, START + HOURS * HOUR)
    return found


def scan(service: RunningService) -> dict[str, Any]:
    """Requests a scan, runs it, and returns it."""
    asked = service.client.post(SCANS, json={"features": ["sex"]}).raise_for_status()
    assert run_next_scan(service.database, token="a") is True  # noqa: S106 - of a lease
    found: dict[str, Any] = service.client.get(asked.headers["Location"]).json()
    return found


def test_without_a_monitor_the_page_says_what_a_scan_needs(service: RunningService, stage: Scene, reader: httpx.Client) -> None:
    service.client.delete(f"/v1{PAGE}/fairness-monitor").raise_for_status()
    said = section(reader)

    assert stage.deployment.id == "a-model"
    assert f"{NO_MONITOR} {NO_SCAN}" in words(said)
    assert 'href="/deployments/a-model/configure/monitor"' in said
    assert "Scan now" not in said


def test_before_an_hour_is_counted_no_scan_is_offered(stage: Scene, reader: httpx.Client) -> None:
    said = words(section(reader))

    assert stage.deployment.id == "a-model"
    assert f"{NOTHING_COUNTED} {NO_SCAN}" in said
    assert "Scan now" not in said


def test_a_scan_is_offered_to_those_who_may_request_it(service: RunningService, counted: Scene, reader: httpx.Client) -> None:
    of_reader = service.client.get(EXPLORE, headers={**service.as_(Role.READ), "Accept": "text/html"}).text
    said = section(reader)

    assert counted.deployment.id == "a-model"
    assert NO_SCAN in words(said)
    assert f'data-api="POST {SCANS}"' in said
    assert "Scan now" in said
    assert "Scan now" not in of_reader
    assert NO_SCAN in words(of_reader)


@pytest.mark.usefixtures("counted")
def test_a_waiting_scan_is_followed_and_says_if_no_worker_answers(
    service: RunningService, database: Database, reader: httpx.Client
) -> None:
    asked = service.client.post(SCANS).json()
    alone = section(reader)
    let_a_worker_answer(database)
    with closing(service.new_client(headers={"Accept": "text/html", "Authorization": f"Bearer {service.admin_key}"})) as client:
        answered = section(client)

    assert f'data-scan="{SCANS}/{asked["id"]}"' in alone
    assert "The scan waits for a worker." in words(alone)
    assert NO_WORKER in alone
    assert "The scan waits for a worker." in words(answered)
    assert NO_WORKER not in answered
    assert "Scan now" not in answered


@pytest.mark.usefixtures("counted")
def test_a_found_group_has_its_rule_and_counts_and_is_watched_by_those_who_may(
    service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    found = scan(service)
    group = found["group"]
    scan(service)
    said = section(reader)
    of_reader = service.client.get(EXPLORE, headers={**service.as_(Role.READ), "Accept": "text/html"}).text

    assert found["words"] in words(said)
    assert says(words(said), "3", "1,800", "p = 0.005", "sex female")
    assert f"{group['favourable']:,} of {group['records']:,}" in words(said)
    assert f"{group['others_favourable']:,} of {group['others_records']:,}" in words(said)
    assert words(said) == snapshot
    assert said.count(f'data-api="POST {FOUND_GROUPS}"') == 1  # two scans found one group
    assert 'name="name" value="group by sex"' in said
    assert "Watch from now on" in said
    assert "sex female" in words(of_reader)
    assert "Watch from now on" not in of_reader


@pytest.mark.thorough
def test_a_watched_group_is_shown_by_its_attribute(
    service: RunningService, counted: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    found = scan(service)
    service.client.post(FOUND_GROUPS, json={"scan_id": found["id"], "name": "women"}).raise_for_status()
    said = section(reader)
    check = counted.check(START + HOURS * HOUR).run
    of_check = words(reader.get(f"{PAGE}/checks/{check.id}").text)
    report = words(reader.get(f"/v1{PAGE}/checks/{check.id}/report.html?annex=true").text)
    page, monitor = words(reader.get(EXPLORE).text), words(reader.get(f"{PAGE}/configure/monitor").text)

    assert "watched as women" in words(said)
    assert f'href="{PAGE}/configure/monitor">women</a>' in said
    assert "Watch from now on" not in said
    for text in (page, monitor, of_check, report):
        assert re.search(r"(women|sex female).* 3 groups \(p = 0\.005\)", text)
    assert words(said) == snapshot


def test_a_failed_scan_says_why_next_to_the_newest_result(
    database: Database, service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, [Logged(START, "female", 1) for _ in range(19)], first_no=1)
    update(stage, START + HOUR)
    scan(service)
    said = words(section(reader))

    assert says(said, "20")
    assert said == snapshot


def test_a_scan_without_a_finding_says_so(
    database: Database, service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, [Logged(START, sex, no % 2) for no in range(40) for sex in ("female", "male")], first_no=1)
    update(stage, START + HOUR)
    scan(service)
    said = words(section(reader))

    assert says(said, "p = 1.000")
    assert said == snapshot
    assert "Watch from now on" not in said


def test_values_of_records_are_shown_as_text(database: Database, service: RunningService, reader: httpx.Client) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    hostile = "<script>alert('x')</script>"
    records = [Logged(START, "male", 1) for _ in range(60)] + [Logged(START, hostile, 0) for _ in range(60)]
    log(stage, records, first_no=1)
    update(stage, START + HOUR)
    scan(service)
    said = section(reader)

    assert f"sex {hostile}" in words(said)
    assert hostile not in said


@pytest.mark.usefixtures("counted")
def test_configure_shows_and_offers_what_happens_every_night(
    service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    def read() -> str:
        return reader.get(f"{PAGE}/configure/monitor").text

    before = words(read())
    monitor = service.client.get(f"/v1{PAGE}/fairness-monitor").json()
    sent = {name: value for name, value in monitor.items() if name not in {"version", "warnings", "measured_metrics"}}
    service.client.put(f"/v1{PAGE}/fairness-monitor", json=sent | {"attribution": {"nightly": True, "max_rows": 1234}}).raise_for_status()
    after = words(read())

    assert says(after, "1,234")
    assert before == snapshot(name="on request")
    assert after == snapshot(name="nightly")


def test_a_scan_is_offered_all_columns_but_the_one_that_names_people(database: Database, reader: httpx.Client) -> None:
    stage = watched(database, metrics=("disparate_impact",), evidence=EvidenceSettings(person="person"))
    log(stage, world([0.5] * HOURS, seed=1), first_no=1)
    update(stage, START + HOURS * HOUR)
    said = section(reader)

    assert 'data-omit-empty value="sex"' in said
    assert 'data-omit-empty value="place"' in said
    assert 'data-omit-empty value="person"' not in said
