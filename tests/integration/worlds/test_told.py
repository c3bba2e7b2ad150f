"""Simulated worlds from logged records to pages, alerts and reports: every sentence on a figure, a check or an alert is known and true."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from html import unescape
from pathlib import Path

import httpx
import pytest

from app.alerts.channels.notification import build_alert_message
from app.alerts.evaluate import evaluate_ended_checks
from app.alerts.queries import AlertFilter, page_alerts
from app.alerts.words import write_headline, write_sentence
from app.checks.views.headlines import list_headlines, word_figure
from app.database.binary_rows import plain_json
from app.database.engine import Database, arrow_reader
from app.domain.alert import Event
from app.domain.check import DataSet, Measurement, Scope, Span, Trigger
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import DisplayNames, GroupName
from app.domain.paging import Paging
from app.reports.check_report import make_document
from app.reports.document import Bullets, Document, Paragraph, ReportStamp
from app.reports.report_source import read_source
from app.statistics.intervals.verdicts import Verdict
from tests.builders.alerts import judge_single_checks
from tests.scenes import HOUR, NOON, Result, Scene, scene
from tests.service import running_service
from tests.worlds import figures, standing  # noqa: F401 - they register their sentences
from tests.worlds.reading import Facts, read
from tests.worlds.world import ATTRIBUTE, GroupTruth, World

MADE = ReportStamp(at=NOON, by="user:ada")
KIND = (Column(name=ATTRIBUTE, type=FieldType.STRING, kind=FieldKind.CATEGORICAL),)


def group(name: str, records: int, favourable: int, role: str = "monitored") -> GroupTruth:
    """A group without labels: nobody is wrong."""
    return GroupTruth(name, role, records - favourable, 0, 0, favourable)  # type: ignore[arg-type]


WOMEN, MEN = group("women", 200, 150), group("men", 200, 80, "reference")
WORLDS = {
    "the monitored group is favoured, both sides are watched": World((WOMEN, MEN), 0.8, 1.25),
    "the monitored group is favoured, one side is watched": World((WOMEN, MEN), 0.8, None),
    "the monitored group is at a disadvantage": World((replace(WOMEN, tn=150, tp=50), MEN), 0.8, 1.25),
    "a gap that is clear and a limit that is not": World((group("women", 400, 230), group("men", 400, 300, "reference")), 0.8, 1.25),
    "nobody of the reference is favoured": World((WOMEN, group("men", 200, 0, "reference")), 0.8, 1.25),
    "twelve groups": World((*(group(f"group {place}", 40, 10 + 2 * place) for place in range(12)), MEN), 0.8, 1.25),
}


@dataclass
class Told:
    """A world in a database: its deployment, and the check that measured it, if one did."""

    world: World
    stage: Scene
    checked: Result | None

    def facts(self, figure: Measurement | None, **more: int) -> Facts:
        """What sentences on it are held against."""
        return Facts(self.world, figure, checks=0 if self.checked is None else 1, **more)

    @property
    def figure(self) -> Measurement:
        """The headline as logged."""
        assert self.checked is not None
        return self.checked.get("disparate_impact", "as_logged", ATTRIBUTE, scope="worst")

    def sentences(self) -> list[str]:
        """What is said of the headlines, in their order, each read and true."""
        assert self.checked is not None
        found = []
        for one in list_headlines(self.checked.measurements):
            for part in one.parts:
                assert part.figure is not None
                read(" ".join((part.figure.sentence, *part.figure.statements)), self.facts(part.figure.measurement))
                found += [part.figure.sentence, *part.figure.statements]
            assert one.reading is None
        return found


def told(
    database: Database, world: World, *, is_logged: bool = True, trigger: Trigger = Trigger.REQUEST, names: Mapping[str, str] | None = None
) -> Told:
    """The world, logged in an hour and checked for `trigger`; or with nothing logged, and not checked. `names` are display names."""
    called = DisplayNames(groups=tuple(GroupName(feature=ATTRIBUTE, group=one, name=name) for one, name in (names or {}).items()))
    monitor = replace(world.monitor, min_records=1, metrics=("favourable_rate", "disparate_impact"), names=called)
    stage = scene(database, KIND, monitor, endpoint=None)
    judge_single_checks(database, stage.deployment.no)
    if not is_logged:
        return Told(world, stage, None)
    outcomes = [
        (one.name, answer)
        for one in world.groups
        for answer, many in (("yes", one.favourable), ("no", one.records - one.favourable))
        for _ in range(many)
    ]
    stage.log([{ATTRIBUTE: name, "prediction": answer} for name, answer in outcomes], NOON + timedelta(minutes=10))
    end = NOON + HOUR if trigger is not Trigger.RANGE else NOON + 3 * HOUR
    return Told(world, stage, stage.check(NOON, end, trigger))


@pytest.fixture(params=list(WORLDS))
def one(request: pytest.FixtureRequest, database: Database) -> Told:
    """Each of the worlds, checked because somebody asked for now, and its alerts decided."""
    found = told(database, WORLDS[request.param])
    evaluate_ended_checks(database)
    return found


@pytest.fixture
def reader(database: Database, tmp_path: Path) -> Iterator[httpx.Client]:
    """A browser of somebody who is logged in."""
    with running_service(database, tmp_path) as service:
        headers = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
        with service.new_client(headers=headers) as client:
            client.post("/login", data={"key": service.admin_key})
            yield client


def said_on(page: str) -> list[str]:
    """What a page tells of figures."""
    statements = re.findall(r"<(?:span|p) data-statement>(.*?)</(?:span|p)>", page, re.DOTALL)
    return [unescape(re.sub(r"<[^>]+>", "", text)) for text in statements]


def paragraphs(document: Document, *titles: str) -> list[str]:
    """The paragraphs under those headings."""
    return [block.text for section in document.annex if section.title in titles for block in section.blocks if isinstance(block, Paragraph)]


def items(document: Document, title: str) -> list[str]:
    """The items of lists under that heading."""
    return [
        item
        for section in document.annex
        if section.title == title
        for block in section.blocks
        if isinstance(block, Bullets)
        for item in block.items
    ]


def hold_headline(one: Told, page: str) -> None:
    """Holds the headline of the page against the rates of the world."""
    found = re.search(r'<h2 id="forest-headline"[^>]*>(.*?)</h2>', page, re.DOTALL)
    assert found is not None
    said = re.sub(r"<[^>]+>", "", found[1])
    names = "|".join(sorted((group.name for group in one.world.groups), key=len, reverse=True))
    rates = {group.name: group.favourable / group.records for group in one.world.groups}
    if "cannot be computed" in said:
        assert rates["men"] == 0, said
        return
    often = re.search(rf"({names})\b.*? (?:(\d+) % (less|more) often than|(?:about )?as often as) .*?({names})\b", said)
    assert often is not None, said
    percent = int(often[2] or 0) * (1 if often[3] == "more" else -1)
    assert percent == pytest.approx(100 * rates[often[1]] / rates[often[4]] - 100, abs=0.51), said


def hold_drawer(one: Told, page: httpx.Response) -> None:
    """Holds the drawer of a group against the world: it says of the group's figure what is stored and true."""
    assert one.checked is not None
    group = page.url.params["group"]
    figure = one.checked.get("disparate_impact", "as_logged", ATTRIBUTE, group=group)
    worded = word_figure(figure)
    read(" ".join((worded.sentence, *worded.statements)), one.facts(figure))
    assert said_on(page.text) == [worded.sentence, *worded.statements]


@pytest.mark.nightly
def test_pages_say_of_each_figure_what_is_true(one: Told, reader: httpx.Client) -> None:
    expected = one.sentences()
    assert one.checked is not None
    fairness = reader.get("/deployments/a-model").text
    check = reader.get(f"/deployments/a-model/checks/{one.checked.run.id}").text
    overview = reader.get("/").text

    assert expected
    for address, page in (("/deployments/a-model", fairness), (f"/deployments/a-model/checks/{one.checked.run.id}", check)):
        hold_headline(one, page)
        for row in re.findall(r'href="([^"]*)" data-row', page):
            hold_drawer(one, reader.get(f"{address}{unescape(row)}"))
    for text in said_on(overview):
        read(text, one.facts(one.figure))
    for page in (fairness, check, overview):
        assert "treated worst" not in page
        assert "may be chance." not in page
    is_unwatched = one.figure.verdict == Verdict.UNWATCHED
    for page in (fairness, check):
        assert ("Watch both sides" in page) == is_unwatched
    first_line = fairness.partition('<table class="forest">')[2].partition("<tbody>")[2].partition("</tr>")[0]
    assert ('class="badge fair"' in first_line) == (one.figure.verdict == Verdict.FAIR)


def test_alerts_say_what_is_true_and_who_is_at_a_disadvantage(one: Told, database: Database) -> None:
    assert one.checked is not None
    with database.transaction() as session:
        alerts = page_alerts(session, AlertFilter(), Paging(100))

    unfair = [m for m in one.checked.measurements if m.verdict == Verdict.UNFAIR and m.scope is Scope.GROUP and m.data is DataSet.AS_LOGGED]
    assert {alert.group for alert in alerts} == {m.group for m in unfair}
    for alert in alerts:
        figure = next(m for m in unfair if m.group == alert.group)
        facts = one.facts(figure)
        read(str(alert.facts["sentence"]), facts)
        assert alert.facts["disadvantaged_group"] == figures.favoured_less(facts)


@pytest.mark.parametrize("is_decided", [True, False])
def test_reports_say_of_figures_checks_and_alerts_what_is_true(database: Database, *, is_decided: bool) -> None:
    """Only a check that somebody asked for, of an hour long ago: its report has the alerts that it opened, and so has the period's."""
    one = told(database, WORLDS["the monitored group is favoured, both sides are watched"])
    if is_decided:
        evaluate_ended_checks(database)
    assert one.checked is not None
    period = Span(start=NOON - timedelta(days=20), end=NOON + HOUR)
    with database.transaction() as session, arrow_reader(database) as arrow:
        documents = [
            make_document(session, read_source(session, arrow, one.stage.deployment, one.checked.run, now=MADE.at), MADE, has_annex=True),
            make_document(session, read_source(session, arrow, one.stage.deployment, period, now=MADE.at), MADE, has_annex=True),
        ]
        opened = page_alerts(session, AlertFilter(), Paging(100))

    assert len(opened) == (1 if is_decided else 0)
    facts = one.facts(one.figure, alerts=len(opened), is_undecided=not is_decided)
    for document, place in zip(documents, ("In short", "The newest check"), strict=True):
        for text in items(document, place):
            of = one.figure if ", as logged: " in text else next(m for m in one.checked.measurements if m.data is DataSet.COUNTERFACTUAL)
            if of.value is not None:
                read(text.split(": ", 1)[1], replace(facts, figure=of))
        for text in paragraphs(document, "Alerts", "The checks"):
            read(text, facts)
        alerts = next(section for section in document.annex if section.title == "Alerts")
        assert any(not isinstance(block, Paragraph) for block in alerts.blocks) == is_decided
    read(paragraphs(documents[0], "In short")[0], facts)
    read(paragraphs(documents[1], "The newest check")[0], facts)


def test_the_report_of_a_period_without_a_checked_hour_shows_its_newest_check_and_says_so(database: Database) -> None:
    one = told(database, WORLDS["the monitored group is favoured, one side is watched"], trigger=Trigger.RANGE)
    with database.transaction() as session, arrow_reader(database) as arrow:
        document = make_document(
            session,
            read_source(session, arrow, one.stage.deployment, Span(start=NOON - timedelta(days=20), end=NOON + 3 * HOUR), now=MADE.at),
            MADE,
            has_annex=True,
        )

    facts = one.facts(one.figure)
    read(paragraphs(document, "The newest check", "The checks")[0], facts)
    assert document.first is not None
    assert document.first.about.startswith("The newest check")
    assert any(note.startswith("No whole hour of this time has stored counts") for note in document.first.notes)


def test_a_deployment_without_records_says_so_everywhere(database: Database, reader: httpx.Client) -> None:
    one = told(database, WORLDS["twelve groups"], is_logged=False)
    entry = reader.get("/v1/overview", headers={"Accept": "application/json"}).json()["deployments"][0]
    with database.transaction() as session, arrow_reader(database) as arrow:
        document = make_document(
            session, read_source(session, arrow, one.stage.deployment, Span(start=NOON, end=NOON + HOUR), now=MADE.at), MADE, has_annex=True
        )

    for text in (entry["reason"], entry["next_step"], *paragraphs(document, "In short", "The newest check", "The checks", "Alerts")):
        read(text, one.facts(None))
    assert said_on(reader.get("/deployments/a-model").text) == []


CROSSED = {"women": "men of the north", "men": "women of the south"}
"""Names that would name the other side if a label were taken for a name, or a name for a label."""
_NAME = re.compile("|".join(CROSSED.values()), re.IGNORECASE)


def unname(text: str) -> str:
    """The text with labels for display names; no label may be among them."""
    assert not re.search(r"\b(?:women|men)\b", _NAME.sub("", text)), text
    labels = {name: label for label, name in CROSSED.items()}
    return _NAME.sub(lambda found: labels[found[0].lower()], text)


@pytest.mark.parametrize("name", [name for name, world in WORLDS.items() if len(world.groups) == 2 and "nobody" not in name])
@pytest.mark.thorough
def test_no_sentence_with_display_names_names_the_wrong_side(database: Database, reader: httpx.Client, name: str) -> None:
    one = told(database, WORLDS[name], names=CROSSED)
    evaluate_ended_checks(database)
    assert one.checked is not None
    check = f"/deployments/a-model/checks/{one.checked.run.id}"
    with database.transaction() as session, arrow_reader(database) as arrow:
        alerts = page_alerts(session, AlertFilter(), Paging(100))
        document = make_document(
            session, read_source(session, arrow, one.stage.deployment, one.checked.run, now=MADE.at), MADE, has_annex=True
        )
    figure = one.checked.get("disparate_impact", "as_logged", ATTRIBUTE, group="women")

    for address in ("/deployments/a-model", check):
        page = reader.get(address).text
        hold_headline(one, re.sub(r'<h2 id="forest-headline".*?</h2>', lambda found: unname(found[0]), page, flags=re.DOTALL))
        said = said_on(reader.get(f"{address}?attribute={ATTRIBUTE}&group=women").text)
        read(" ".join(unname(text) for text in said[:3]), one.facts(figure))
    for alert in alerts:
        message = plain_json(build_alert_message(Event.OPENED, [alert], now=NOON))
        assert alert.group == "women"
        assert unname(alert.sentence) == alert.facts["sentence"] == unname(write_sentence(message))
        assert write_headline(message).endswith(f"{ATTRIBUTE} / {CROSSED['women']}")
        assert unname(said_on(reader.get(f"/alerts/{alert.id}").text)[0]) == alert.facts["sentence"]
        assert unname(str(alert.facts["display_disadvantaged_group"])) == alert.facts["disadvantaged_group"]
    for text in items(document, "In short"):
        if ", as logged: " in text:
            read(unname(text).split(": ", 1)[1], one.facts(one.figure))
