"""What now: causes in worlds in which they are known, with their steps, in the drawer and on alerts."""

import html
import re
from urllib.parse import urlencode

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.alerts.evaluate import evaluate_evidence, evaluate_passing_time
from app.base.clock import floor_to_hour, utc_now
from app.base.values import Range
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.attributions import run_all
from tests.builders.evidence_worlds import log, update, watched, world
from tests.builders.page_words import says, words
from tests.builders.proxies import proxied_world
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, scene
from tests.service import RunningService

PAGE = "/deployments/a-model"
THEN = floor_to_hour(utc_now()) - HOUR


def drawer(client: httpx.Client, attribute: str, group: str) -> str:
    page = client.get(f"{PAGE}?{urlencode({'attribute': attribute, 'group': group})}").text
    (found,) = re.findall(r'<dialog id="drawer".*?</dialog>', page, re.DOTALL)
    return str(found)


def statements(markup: str) -> list[str]:
    return [words(text) for text in re.findall(r"<p data-statement>(.*?)</p>", markup.partition('id="what-now"')[2], re.DOTALL)]


def causes(markup: str) -> list[str]:
    return [words(title) for title in re.findall(r"<h4>(.*?)</h4>", markup)]


def test_a_model_that_uses_the_attribute_is_said_so_and_each_step_has_its_page(
    database: Database, service: RunningService, reader: httpx.Client
) -> None:
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url))
        stage.log(applicants(60, 60, 12), THEN)
        stage.check(THEN)
    markup = drawer(reader, "sex", "female")
    of_reader = service.client.get(f"{PAGE}?attribute=sex&group=female", headers={**service.as_(Role.READ), "Accept": "text/html"}).text

    assert causes(markup) == ["The attribute itself"]
    assert statements(markup)[0].startswith("With everything else equal the gap stays: 0.10")
    steps = re.findall(r"<li>(.*?)</li>", markup.partition("<ol>")[2].partition("</ol>")[0], re.DOTALL)
    assert len(steps) == 5
    for address in re.findall(r'href="([^"#]+)"', "".join(steps)):
        assert reader.get(html.unescape(address)).status_code == 200
    assert "Mitigation needs the permission manage." in words(of_reader)


def test_women_that_are_favoured_and_men_that_are_not_are_one_gap(database: Database, reader: httpx.Client) -> None:
    """The monitored group is at an advantage: the same cause, and no sentence that turns it round."""
    men = MonitoredAttribute(feature="sex", monitored=("male",), reference=("female",), upper_threshold=1.25)
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, monitor_of(men), endpoint=Endpoint(url=server.url))
        stage.log(applicants(60, 60, 12), THEN)
        stage.check(THEN)

    markup = drawer(reader, "sex", "male")

    assert causes(markup) == ["The attribute itself"]
    assert statements(markup)[0].startswith("With everything else equal the gap stays: 10.00")


@pytest.mark.thorough
def test_what_a_model_takes_from_other_features_names_those_that_carry_it(database: Database, reader: httpx.Client) -> None:
    with proxied_world(database, at=THEN) as stage:
        stage.check(THEN)
        before = drawer(reader, "group", "first")
        check = reader.get("/v1/deployments/a-model/checks").json()["checks"][0]["id"]
        queued = reader.post("/v1/deployments/a-model/attributions", json={"check_id": check})
        run_all(database)
    markup = drawer(reader, "group", "first")

    assert queued.status_code == 202
    assert causes(before) == causes(markup) == ["Other features in which the groups differ"]
    assert statements(before) == ["The model does not see group: the gap comes through other features, in which the groups differ."]
    (sentence,) = statements(markup)
    assert set(re.findall(r"\b(priors|district|charge|age)\b", sentence)) == {"priors", "district"}


@pytest.mark.thorough
def test_what_is_watched_together_leads_to_each_attribute_alone_and_says_which_figures_are_whose(
    database: Database, reader: httpx.Client
) -> None:
    with serve(RuleScorer()) as server:
        monitor = monitor_of(SEX, AGE, intersections=(("sex", "age"),))
        stage = scene(database, APPLICANT, monitor, endpoint=Endpoint(url=server.url))
        stage.log(applicants(120, 120, 24), THEN)
        stage.check(THEN)
        before = drawer(reader, "sex × age", "female × 36-75")
        asked = {"comparisons": [["sex", "age"]], "check_id": reader.get("/v1/deployments/a-model/checks").json()["checks"][0]["id"]}
        reader.post("/v1/deployments/a-model/attributions", json=asked).raise_for_status()
        run_all(database)
    after, alone = drawer(reader, "sex × age", "female × 36-75"), drawer(reader, "sex", "female")
    advice, advice_after = (words(text.partition('id="what-now"')[2].partition("</details>")[0]) for text in (before, after))

    # The advice is that of the sex alone, with the figures of the sex alone.
    assert causes(before) == causes(after) == ["The attribute itself"]
    assert "No cause is recognised of attributes that are watched together." in advice
    assert says(advice, "By sex alone", "female")
    assert statements(before) == statements(alone)
    (flipped,) = re.findall(r'href="([^"]*)">Records<', before.partition('id="what-now"')[2])
    assert "changed=gained" in flipped
    assert "group=female&" in html.unescape(flipped)
    links = [html.unescape(link) for link in re.findall(r'<a href="([^"]*)" data-row>', before)]
    assert [re.sub(r".*?(attribute=.*)", r"\1", link) for link in links] == ["attribute=sex&group=female#what-now"]
    assert causes(reader.get(f"{PAGE}{links[0]}").text) == ["The attribute itself"]
    # The drivers are above it then.
    assert '<table class="drivers">' in after
    assert "Why" not in advice
    assert says(advice_after, "Why", "drivers", "No cause", "together")
    assert ["Explain again" in words(text) for text in (before, after, alone)] == [False, True, False]
    assert all("Explain" in words(text) for text in (before, after, alone))
    page = reader.get(PAGE).text
    assert "36-75" in re.findall(r'id="forest-headline".*?</h2>', page, re.DOTALL)[0]
    assert says(words(re.findall(r'<p class="effect">.*?</p>', page, re.DOTALL)[0]), "sex alone", "female")


def test_few_records_are_not_called_a_gap(database: Database, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX, min_records=1), endpoint=None)
    stage.log(applicants(20, 7, 2), THEN)
    stage.check(THEN)

    markup = drawer(reader, "sex", "female")

    assert causes(markup) == ["Too few records"]
    assert statements(markup) == ["Too few records to tell: 7 on the smaller side."]
    assert words(markup.partition('id="what-now"')[2].partition("</details>")[0]) == snapshot


def test_a_fair_group_needs_nothing(database: Database, reader: httpx.Client) -> None:
    ages = MonitoredAttribute(feature="age", monitored=(Range(18, 49),), reference=(Range(50, 75),))
    stage = scene(database, APPLICANT, monitor_of(ages), endpoint=None)
    stage.log(applicants(400, 0), THEN)
    stage.check(THEN)

    page = reader.get(PAGE).text

    assert "What now" not in page
    assert "What now" not in drawer(reader, "age", "18-49")


@pytest.mark.thorough
def test_a_gap_that_came_with_a_revision_says_so(database: Database, reader: httpx.Client) -> None:
    stage = watched(database, metrics=("disparate_impact",))
    records = world([1.0] * 10 + [0.3] * 20, seed=1, records=120)
    log(stage, [record for record in records if record.hour < NOON + 10 * HOUR], first_no=1, revision="0")
    log(stage, [record for record in records if record.hour >= NOON + 10 * HOUR], first_no=50_000)
    update(stage, NOON + 30 * HOUR)
    evaluate_evidence(database)
    run_all(database)
    stage.check(NOON + 29 * HOUR)

    markup = drawer(reader, "sex", "female")

    assert causes(markup) == ["Another revision of the model"]
    assert re.fullmatch(r"Revision 1 answers since \S+ \d\d:\d\d UTC; the change began about then\.", statements(markup)[0])
    assert re.search(r'href="/alerts/[0-9a-f-]{36}#why"', markup)


def test_records_that_stopped_say_what_to_do_in_the_drawer_and_on_the_alert(
    database: Database, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    start = floor_to_hour(utc_now()) - 100 * HOUR
    for hour in range(3):
        stage.log(applicants(60, 60, 12, prefix=f"{hour}-"), start + hour * HOUR)
    stage.check(start + 2 * HOUR)
    evaluate_passing_time(database)

    markup = drawer(reader, "sex", "female")
    (alert,) = reader.get("/v1/alerts").json()["alerts"]
    page = reader.get(f"/alerts/{alert['id']}").text

    assert causes(markup) == causes(page) == ["No new figures"]
    assert statements(markup)[0].startswith("No record was logged for ")
    assert "The last figures, of " in statements(markup)[0]
    assert words(re.findall(r'<details class="what-now">.*?</details>', page, re.DOTALL)[0]) == snapshot
