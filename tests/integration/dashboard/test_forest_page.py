"""The deployment's page as one forest plot: its headline, one line for each group, the drawer of one of them."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.alerts.evaluate import evaluate_ended_checks
from app.base.clock import HOUR, floor_to_hour, utc_now
from app.base.values import Range
from app.charts.forest_headline import SHARED_RECORDS
from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType, ProblemType
from app.domain.monitor import MonitoredAttribute, OutcomeRule
from tests.builders.alerts import judge_single_checks
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import says, words
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import Scene, scene
from tests.service import RunningService

PAGE = "/deployments/a-model"
ROW = f"{PAGE}?{urlencode({'attribute': 'sex', 'group': 'female'})}"
RACES = [f"race {letter}" for letter in "abcdefgh"]
NAMES = {"favourable": "approved", "groups": {"sex": {"female": "women", "male": "men"}}}
HOSTILE = "<b>&\"women'"


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    """A watched deployment, nothing logged."""
    with serve(RuleScorer()) as server:
        yield scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url))


@pytest.fixture
def checked(stage: Scene) -> Scene:
    """The same after one check of this moment: 20 men, all approved, and 30 women, 6 approved."""
    hour = floor_to_hour(utc_now()) - HOUR
    stage.log(applicants(20, 30, 6), hour)
    stage.check(hour)
    return stage


def drawer_of(text: str) -> str:
    """The drawer of a page, with its tags; empty without one."""
    return text.partition('<dialog id="drawer"')[2].partition("</dialog>")[0]


def put_names(service: RunningService, names: object) -> None:
    monitor = service.client.get(f"/v1{PAGE}/fairness-monitor").json()
    sent = {name: value for name, value in monitor.items() if name not in {"version", "warnings", "measured_metrics"}}
    service.client.put(f"/v1{PAGE}/fairness-monitor", json=sent | {"names": names}).raise_for_status()


@pytest.mark.usefixtures("checked")
def test_one_group_is_one_line_with_both_figures_and_its_words(reader: httpx.Client) -> None:
    text = reader.get(PAGE).text
    line = text.partition('class="forest"')[2].partition("</table>")[0]

    assert line.count('class="forest-row"') == 1
    assert says(html.unescape(line), "female", "20 %", "100 %", "0.20")
    assert "6 of 30 records" in line
    assert 'aria-label="The last check: unfair"' in line
    assert "style=" not in text
    assert "<script>" not in text


@pytest.mark.usefixtures("checked")
def test_display_names_word_headline_lines_and_drawer(service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    version = service.client.get(f"/v1{PAGE}/fairness-monitor").json()["version"]
    put_names(service, NAMES)
    said, drawer = words(reader.get(PAGE).text), words(drawer_of(reader.get(ROW).text))

    assert says(said, "Women", "80 % less", "men")
    assert says(said, "24", "men")
    assert says(drawer, "Women", "80 % less", "men")
    assert said == snapshot(name="page")
    assert drawer == snapshot(name="drawer")
    assert service.client.get(f"/v1{PAGE}/fairness-monitor").json()["version"] == version


@pytest.mark.usefixtures("checked")
def test_names_are_never_markup(service: RunningService, reader: httpx.Client) -> None:
    put_names(service, {"favourable": HOSTILE, "groups": {"sex": {"female": HOSTILE}}})

    for path in (PAGE, ROW):
        assert "<b>&" not in reader.get(path).text
        assert HOSTILE in words(reader.get(path).text.replace("<b>", ""))


@pytest.mark.usefixtures("checked")
@pytest.mark.thorough
def test_the_drawer_has_an_address_of_its_own(reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    closed, opened, other = (reader.get(path).text for path in (PAGE, ROW, f"{PAGE}?attribute=sex&group=nobody"))
    said = words(drawer_of(opened))
    addresses = [html.unescape(found) for found in re.findall(r'href="([^"#?]*/(?:transactions|checks)[^"]*)"', drawer_of(opened))]

    assert html.unescape(re.findall(r'href="([^"]*)" data-row', closed)[0]) == "?attribute=sex&group=female#drawer"
    assert drawer_of(closed) == drawer_of(other) == ""
    assert says(said, "female", "20")
    assert "favourable_rate(monitored) / favourable_rate(reference)" in said
    assert said == snapshot
    assert len(addresses) == 5
    assert {reader.get(address).status_code for address in addresses} == {200}


def test_a_blank_group_has_a_name_and_opens_as_any_other(database: Database, reader: httpx.Client) -> None:
    stage = scene(database, APPLICANT, monitor_of(replace(SEX, monitored=("",))), endpoint=None)
    hour = floor_to_hour(utc_now()) - HOUR
    stage.log([person | {"sex": person["sex"].replace("female", "")} for person in applicants(20, 30, 6)], hour)
    stage.check(hour)
    text = reader.get(PAGE).text
    link, name = re.findall(r'row-link[^>]* href="([^"#]*)[^>]*><bdi>([^<]*)</bdi>', text)[0]
    drawer = words(drawer_of(reader.get(f"{PAGE}{html.unescape(link)}").text))

    assert name == "(blank)"
    assert "Records with sex (blank) get the favourable outcome 80 % less often" in words(text)
    assert "Of every 100 records of (blank), 20 were predicted favourable; of every 100 of male, 100" in drawer


@pytest.mark.nightly
def test_a_combination_has_one_figure_and_the_drawer_says_why(stage: Scene, reader: httpx.Client) -> None:
    stage.watch(monitor_of(SEX, AGE, intersections=(("sex", "age"),)))
    hour = floor_to_hour(utc_now()) - HOUR
    stage.log(applicants(40, 40, 10), hour)
    stage.check(hour, trigger=Trigger.SCHEDULE)
    addresses = [html.unescape(found) for found in re.findall(r'href="([^"]*)" data-row', reader.get(PAGE).text)]
    said = {address: words(drawer_of(reader.get(f"{PAGE}{address}").text)) for address in addresses}
    together = [text for one, text in said.items() if "%C3%97" in one or "×" in one]

    assert together
    for text in together:
        caveat = "There is no counterfactual figure of attributes that are watched together"
        assert text.index(caveat) < text.index("Of every 100 records of")
        assert "read together" not in text


@pytest.mark.thorough
def test_the_drawer_says_that_checks_share_records_only_if_there_are_several(database: Database, reader: httpx.Client) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX, min_records=80), endpoint=None)
    hours = [floor_to_hour(utc_now()) - ago * HOUR for ago in (3, 2, 1)]
    for no, hour in enumerate(hours):
        stage.number_from(1 + 1000 * no)
        stage.log([{**applicant, "id": f"{no}-{place}"} for place, applicant in enumerate(applicants(20, 30, 6))], hour)

    stage.check(hours[1])
    one = words(drawer_of(reader.get(ROW).text))
    stage.check(hours[2])
    two = words(drawer_of(reader.get(ROW).text))

    assert SHARED_RECORDS not in one
    assert SHARED_RECORDS in two


@pytest.mark.thorough
def test_an_alert_is_acknowledged_in_the_drawer(
    service: RunningService, database: Database, stage: Scene, reader: httpx.Client, browser: httpx.Client
) -> None:
    judge_single_checks(database, stage.deployment.no)
    hour = floor_to_hour(utc_now()) - HOUR
    stage.log(applicants(20, 30, 6), hour)
    stage.check(hour, trigger=Trigger.SCHEDULE)
    evaluate_ended_checks(database)
    alert = service.client.get("/v1/alerts").json()["alerts"][0]
    offered = drawer_of(reader.get(ROW).text)
    browser.post("/login", data={"key": service.key(Role.READ)})
    offered_to_reader = drawer_of(browser.get(ROW).text)
    service.client.post(f"/v1/alerts/{alert['id']}/acknowledgement", json={"note": "Looking <i>into</i> it"}).raise_for_status()
    acknowledged = drawer_of(reader.get(ROW).text)

    assert f'data-api="POST /v1/alerts/{alert["id"]}/acknowledgement"' in offered
    assert "“Looking &lt;i&gt;into&lt;/i&gt; it”" in acknowledged
    # Who may read may acknowledge.
    assert [page.count("Acknowledge</button>") for page in (offered, offered_to_reader, acknowledged)] == [1, 1, 0]


def test_before_the_first_check_there_is_no_line_and_the_next_step_is_said(stage: Scene, reader: httpx.Client) -> None:
    text = reader.get(PAGE).text

    assert stage.deployment.id == "a-model"
    assert 'class="forest"' not in text
    assert "Log payload records" in words(text)


def test_a_stale_deployment_says_up_to_when_it_measured(stage: Scene, reader: httpx.Client) -> None:
    hour = floor_to_hour(utc_now()) - 60 * HOUR
    stage.log(applicants(20, 30, 6), hour)
    stage.check(hour)

    assert f"stale: measured up to {hour + HOUR:%Y-%m-%d %H:%M} UTC" in words(reader.get(PAGE).text)


def test_a_failing_deployment_keeps_its_last_figures(checked: Scene, reader: httpx.Client) -> None:
    checked.queue(checked.check(floor_to_hour(utc_now())).run.span)
    checked.stop_running()
    text = reader.get(PAGE).text

    assert "check failed" in words(text)
    assert 'class="forest-row"' in text


def test_a_regression_has_a_forest_too(database: Database, reader: httpx.Client) -> None:
    outcomes = OutcomeRule(favourable=(Range(0.5, 1.0),), unfavourable=(Range(0.0, 0.49),))
    monitor = replace(monitor_of(SEX), outcomes=outcomes, metrics=("disparate_impact",))
    stage = scene(database, APPLICANT, monitor, endpoint=None, problem_type=ProblemType.REGRESSION, probability=None)
    hour = floor_to_hour(utc_now()) - HOUR
    rows = [(sex, 0.9 if place < high else 0.2) for sex, high in (("female", 10), ("male", 30)) for place in range(40)]
    stage.log([{"sex": sex, "income": 1, "age": 30, "prediction": given} for sex, given in rows], hour)
    stage.check(hour)

    assert says(words(reader.get(PAGE).text), "sex female", "67 % less", "sex male")


def test_other_metrics_lie_on_an_axis_of_their_own(checked: Scene, reader: httpx.Client) -> None:
    text = reader.get(f"{PAGE}?metric=statistical_parity_difference").text

    assert checked.deployment.id == "a-model"
    assert "percentage points less" in words(text)
    assert 'class="forest-row"' in text


@pytest.fixture
def twenty(database: Database) -> Scene:
    """Eight races and two sexes, all of them and their combinations compared; race b is rarely approved."""
    race = MonitoredAttribute(feature="race", monitored=tuple(RACES[1:]), reference=(RACES[0],))
    columns = (*APPLICANT, Column(name="race", type=FieldType.STRING, kind=FieldKind.CATEGORICAL))
    monitor = replace(monitor_of(race, SEX, intersections=(("race", "sex"),), max_records=10_000), metrics=("disparate_impact",))
    stage = scene(database, columns, monitor, endpoint=None)
    hour = floor_to_hour(utc_now()) - HOUR
    rows = [
        (race, sex, place < (5 if race == RACES[1] else 15 + place_of))
        for place_of, race in enumerate(RACES)
        for sex in ("female", "male")
        for place in range(40)
    ]
    records = [
        {"sex": sex, "race": race, "income": 1, "age": 30, "prediction": int(given), "probability": 0.5} for race, sex, given in rows
    ]
    stage.log(records, hour)
    stage.check(hour, trigger=Trigger.SCHEDULE)
    return stage


@pytest.mark.nightly
def test_of_many_groups_together_each_has_a_line(twenty: Scene, reader: httpx.Client) -> None:
    text = reader.get(PAGE).text
    table = text.partition('class="forest"')[2].partition("</table>")[0]
    links = [html.unescape(found) for found in re.findall(r'href="([^"]*)" data-row', table)]

    assert twenty.deployment.id == "a-model"
    assert table.count('class="forest-row"') == len(links) == len(set(links)) == 7 + 1 + 15
    assert words(table).index("race b") < words(table).index("race h")
    assert {reader.get(PAGE + link).status_code for link in links} == {200}


@pytest.mark.usefixtures("checked")
def test_once_a_check_has_succeeded_the_first_one_is_not_offered_any_more(reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    said = words(reader.get(f"{PAGE}/configure?step=log").text)

    assert said == snapshot
