"""Groups nobody listed on the page of a deployment: scans, candidates, and why there is nothing yet."""

import html
import re
from contextlib import closing

import httpx
import pytest
from sqlalchemy import text

from app.dashboard.subgroups import EVERY_NIGHT, NO_CANDIDATE, NO_MONITOR, NO_SCAN, NO_WORKER, NOTHING_COUNTED
from app.domain.monitors import EvidenceSettings
from app.security.principals import Role
from app.store.database.engine import Database
from app.tracking.subgroups.scanning import run_next_scan
from tests.builders.evidence_worlds import START, Logged, log, update, watched, world
from tests.builders.heartbeats import let_a_worker_answer
from tests.scenes import HOUR, Scene
from tests.service import RunningService

PAGE = "/deployments/a-model"
SCANS = f"/v1{PAGE}/subgroup-scans"
SETTINGS = f"/v1{PAGE}/subgroup-scan-settings"
HOURS = 30


def words(text: str) -> str:
    """The text of a page without its tags."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))


def section(client: httpx.Client) -> str:
    """The section of the page as HTML."""
    answer = client.get(PAGE)
    assert answer.status_code == 200
    return answer.text.partition('id="nobody-listed"')[2].partition("</section>")[0]


@pytest.fixture
def counted(database: Database) -> Scene:
    """A watched deployment that approves women half as often, its hours counted."""
    found = watched(database, metrics=("disparate_impact",))
    log(found, world([0.5] * HOURS, seed=1), first_no=1)
    update(found, START + HOURS * HOUR)
    return found


def scan(service: RunningService) -> None:
    """Requests a scan and runs it."""
    service.client.post(SCANS, json={"features": ["sex"]}).raise_for_status()
    assert run_next_scan(service.database, token="a") is True  # noqa: S106 - of a lease


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
    service.client.put(SETTINGS, json={"nightly": True}).raise_for_status()
    of_reader = service.client.get(PAGE, headers={**service.as_(Role.READ), "Accept": "text/html"}).text
    said = section(reader)

    assert counted.deployment.id == "a-model"
    assert f"{NO_SCAN} {EVERY_NIGHT}" in words(said)
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
def test_a_candidate_has_its_number_state_words_and_counts(service: RunningService, reader: httpx.Client) -> None:
    scan(service)
    (one,) = service.client.get(f"/v1{PAGE}/subgroup-candidates").json()["candidates"]
    said = section(reader)

    assert "3 subgroups by sex searched in 1,800 records. One falls short by more than chance explains (p = 0.005): candidate 1." in words(
        said
    )
    assert one["words"] in words(said)
    assert "sex female" in words(said)
    assert f"{one['favourable']:,} of {one['records']:,}" in words(said)
    assert f"{one['others_favourable']:,} of {one['others_records']:,}" in words(said)
    assert '<td class="number" data-label="Later">fewer than 10</td>' in said
    assert re.search(r'<span class="badge suspected">candidate</span>', said)
    assert "over all candidates of this deployment together" in words(said)
    assert NO_CANDIDATE not in words(said)


def test_later_hours_confirm_a_candidate_on_the_page(service: RunningService, counted: Scene, reader: httpx.Client) -> None:
    scan(service)
    log(counted, [one for one in world([0.4] * (HOURS + 60), seed=2) if one.hour >= START + HOURS * HOUR], first_no=10_000, noted=True)
    update(counted, START + (HOURS + 60) * HOUR)
    (one,) = service.client.get(f"/v1{PAGE}/subgroup-candidates").json()["candidates"]
    said = section(reader)

    assert one["state"] == "confirmed"
    assert '<span class="badge unfair">confirmed</span>' in said
    assert one["words"] in words(said)
    assert f'<td class="number" data-label="Later">{one["later_records"]:,}</td>' in said


@pytest.mark.usefixtures("counted")
def test_an_expired_candidate_comes_after_a_newer_one(service: RunningService, database: Database, reader: httpx.Client) -> None:
    scan(service)
    with database.transaction() as session:
        session.execute(text("UPDATE subgroup_candidates SET state = 'expired'"))
    scan(service)
    said = section(reader)

    assert re.findall(r'<span class="badge \w+">(\w+)</span>', said) == ["candidate", "expired"]
    assert "It expired: later hours did not confirm it within 30 days." in words(said)


def test_a_failed_scan_says_why_next_to_the_newest_result(database: Database, service: RunningService, reader: httpx.Client) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, [Logged(START, "female", 1) for _ in range(19)], first_no=1)
    update(stage, START + HOUR)
    scan(service)
    said = words(section(reader))

    assert re.search(r"The newest scan, requested at 20\S+ \S+ UTC, failed\. Fewer than 20 records with these features count", said)
    assert "Scan now" in said


def test_a_scan_without_a_finding_says_so(database: Database, service: RunningService, reader: httpx.Client) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    log(stage, [Logged(START, sex, no % 2) for no in range(40) for sex in ("female", "male")], first_no=1)
    update(stage, START + HOUR)
    scan(service)
    said = words(section(reader))

    assert "None falls short by more than chance explains (p = 1.000)." in said
    assert NO_CANDIDATE in said


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
def test_configure_shows_and_offers_what_happens_every_night(service: RunningService, reader: httpx.Client) -> None:
    def read() -> str:
        return "".join(reader.get(f"{PAGE}/configure/{part}").text for part in ("monitor", "nobody-listed"))

    before = words(read())
    monitor = service.client.get(f"/v1{PAGE}/fairness-monitor").json()
    sent = {name: value for name, value in monitor.items() if name not in {"version", "warnings"}}
    service.client.put(f"/v1{PAGE}/fairness-monitor", json=sent | {"attribution": {"nightly": True, "max_rows": 1234}}).raise_for_status()
    service.client.put(SETTINGS, json={"nightly": True, "features": ["place"], "limit": 0.7}).raise_for_status()
    text_after = read()
    after = words(text_after)

    assert "gaps are attributed only on request" in before
    assert "Scans only on request Columns the monitored ones, then the features in their order, 8 at most" in before
    assert "the gaps of each day are attributed; the model is asked about at most 1,234 rows" in after
    assert "Scans every night after 2:00 UTC, and on request Columns place" in after
    assert "a favourable rate below 0.7 times that of all others" in after
    assert "What a night costs is not known before records exist." in after
    assert 'value="place" checked' in text_after
    assert 'value="person"' in text_after
    assert f'data-path="{SETTINGS}"' in text_after


def test_configure_offers_no_form_to_readers_and_no_column_that_names_people(database: Database, service: RunningService) -> None:
    stage = watched(database, evidence=EvidenceSettings(person="person"))
    service.client.put(SETTINGS, json={"nightly": True}).raise_for_status()
    keys = (service.as_(Role.ADMIN), service.as_(Role.READ))
    of_admin, of_reader = (
        service.client.get(f"{PAGE}/configure/nobody-listed", headers={**key, "Accept": "text/html"}).text for key in keys
    )

    assert stage.deployment.id == "a-model"
    assert 'id="scans-form"' in of_admin
    assert 'data-omit-empty value="person"' not in of_admin
    assert 'id="scans-form"' not in of_reader
    assert "every night after 2:00 UTC, and on request" in words(of_reader)
