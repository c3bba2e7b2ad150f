"""The range bar: what the pages of a deployment show of a chosen time, and that every link of them keeps it."""

import html
import re
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.clock import floor_to_hour, utc_now
from app.charts.time_ranges import read_choice
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.pages.range_bar import keep_range
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import says, words
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene

PAGE = "/deployments/a-model"
BEFORE, AFTER = "from=2026-03-02T12:30Z", "to=2026-03-02T14:30Z"
RANGE = f"{BEFORE}&{AFTER}"


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """Four hours with records, each checked."""

    def make() -> Scene:
        watched = scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url))
        for hour in range(4):
            watched.log(applicants(20, 20, 2 + hour, prefix=f"{hour}-"), NOON + hour * HOUR)
            watched.check(NOON + hour * HOUR)
        return watched

    return memory.recall(database, make)


def links(text: str) -> list[str]:
    """The addresses of a page that lead to pages of the deployment."""
    found = [html.unescape(address) for address in re.findall(r'<a [^>]*href="([^"]*)"', text)]
    return [one for one in found if one.startswith(PAGE)]


@pytest.mark.usefixtures("stage")
def test_every_link_of_every_page_of_the_deployment_keeps_the_range(reader: httpx.Client, subtests: pytest.Subtests) -> None:
    for page in ("", "/checks", "/alerts", "/transactions", "/configure", "/ingestion", "/second-look", "/explore"):
        with subtests.test(page=page):
            text = reader.get(f"{PAGE}{page}?{RANGE}&zone=Europe/Berlin&compare=period").text
            chosen = {"from": ["2026-03-02T12:30Z"], "to": ["2026-03-02T14:30Z"], "compare": ["period"], "zone": ["Europe/Berlin"]}

            assert len(links(text)) >= 5
            for link in links(text):
                query = parse_qs(urlsplit(link).query)
                assert {name: query.get(name) for name in chosen} == chosen, link


@pytest.mark.usefixtures("stage")
@pytest.mark.nightly
def test_every_page_that_the_deployments_page_links_to_takes_the_range(reader: httpx.Client) -> None:
    found = set(links(reader.get(f"{PAGE}?{RANGE}&zone=Europe/Berlin&compare=period").text))

    assert {link: status for link in found if (status := reader.get(link).status_code) != 200} == {}


@pytest.mark.usefixtures("stage")
@pytest.mark.thorough
def test_lists_are_cut_to_the_range_and_show_all_without_one(reader: httpx.Client) -> None:
    rows = {
        page: [reader.get(f"{PAGE}{page}{query}").text.count("<tr") for query in ("", f"?{RANGE}", "?range=day", "?range=all")]
        for page in ("/checks", "/transactions")
    }

    # The head is a row, too. Two checks end in the range; the records of an hour are logged at its start.
    assert rows["/checks"] == [5, 3, 0, 5]
    assert rows["/transactions"] == [51, 51, 0, 51]
    assert "2026-03-02 15:00" not in re.sub(r"value=\"[^\"]*\"", "", reader.get(f"{PAGE}/transactions?{RANGE}").text)


@pytest.mark.usefixtures("stage")
def test_the_page_shows_panels_of_the_range_and_a_report_of_it(reader: httpx.Client) -> None:
    text = reader.get(f"{PAGE}?{RANGE}").text
    home = html.unescape(re.findall(r'href="([^"]*/reports[^"]*)"', text)[0])
    report = html.unescape(re.findall(r'href="([^"]*/report\.pdf\?since[^"]*)"', reader.get(home).text)[-1])

    assert text.count('class="time-panel"') >= 1
    assert "2 checks: unfair 2" in text
    ends = {"since": ["2026-03-02T12:30:00+00:00"], "until": ["2026-03-02T14:30:00+00:00"]}
    assert parse_qs(urlsplit(report).query) == ends | {"zone": ["UTC"]}


@pytest.mark.usefixtures("stage")
def test_a_single_check_leads_back_to_the_picture_of_all_groups(reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    one, none = (reader.get(f"{PAGE}/explore?{query}").text for query in ("from=2026-03-02T12:30Z&to=2026-03-02T13:30Z", "range=day"))

    assert 'class="time-panel"' not in one + none
    assert words(one) == snapshot(name="one check")
    assert words(none) == snapshot(name="no check")


@pytest.mark.nightly
def test_a_deployment_that_is_hours_old_fills_the_picture_and_a_group_without_figures_says_why(
    reader: httpx.Client, database: Database, server: ModelServer, snapshot: SnapshotAssertion
) -> None:
    now = floor_to_hour(utc_now())
    watched = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=server.url))
    for ago in (30, 2, 1):
        # Nobody is under 26, so that this group has no figure in any check.
        watched.log([applicant | {"age": 40} for applicant in applicants(20, 20, 2, prefix=f"{ago}-")], now - ago * HOUR)
        watched.check(now - ago * HOUR)
    text = reader.get(f"{PAGE}/explore").text
    start = re.search(r'data-start="(\d+)"', text)

    assert start is not None
    assert int(start[1]) == (now - 30 * HOUR).timestamp()
    assert re.search(r'aria-current="true">All<', text)
    assert '<p class="no-figure">' in text
    assert words(text) == snapshot


@pytest.mark.usefixtures("stage")
def test_moments_are_on_the_clock_of_the_zone_with_their_distance_from_utc(reader: httpx.Client) -> None:
    text = reader.get(f"{PAGE}?from=2026-03-02T13:30&to=2026-03-02T15:30&zone=Europe/Berlin").text

    assert says(text, "2026-03-02 13:30 UTC+01:00", "2026-03-02 15:30 UTC+01:00")
    assert "2 checks: unfair 2" in text


@pytest.mark.usefixtures("stage")
def test_a_chosen_zone_is_kept_and_one_that_no_longer_exists_is_utc(reader: httpx.Client) -> None:
    chosen = reader.get(f"{PAGE}/checks?clock=Europe/Berlin")
    cookie = chosen.headers["set-cookie"]
    after = reader.get(f"{PAGE}/checks")
    reader.cookies.set("clock", "Nowhere.Else")
    unknown = reader.get(f"{PAGE}/checks")

    assert says(cookie, "clock", "Europe.Berlin", "HttpOnly")
    assert "2026-03-02 13:00 to 14:00 UTC+01:00" in words(chosen.text)
    assert "2026-03-02 13:00 to 14:00 UTC+01:00" in words(after.text)
    assert "2026-03-02 12:00 to 13:00 UTC" in words(unknown.text)
    assert reader.get(f"{PAGE}/checks?clock=Nowhere/Else").status_code == HTTPStatus.UNPROCESSABLE_ENTITY


@pytest.mark.usefixtures("stage")
def test_a_range_that_cannot_be_is_refused_by_its_name(reader: httpx.Client, subtests: pytest.Subtests) -> None:
    for query, field in (
        ("range=fortnight", "range"),
        ("range=day&from=2026-03-02T12:30Z", "range"),
        ("to=2026-03-02T12:30Z", "from"),
        ("from=2999-01-01T00:00Z", "from"),
        ("from=today", "from"),
        ("from=2026-03-29T02:30&zone=Europe/Berlin", "from"),
        ("compare=all", "compare"),
        ("zone=Nowhere/Else", "zone"),
        ("zone=" + "x" * 65, "zone"),
        ("range=" + "x" * 21, "range"),
    ):
        with subtests.test(query=query, field=field):
            for page in ("", "/checks", "/transactions", "/alerts"):
                answer = reader.get(f"{PAGE}{page}?{query}")

                assert answer.status_code == 422, page
                assert re.search(rf"\b{field}\b", answer.text), page


@pytest.mark.usefixtures("stage")
def test_a_check_that_a_picture_names_by_number_is_found_with_the_range(reader: httpx.Client, stage: Scene) -> None:
    found = reader.get(f"{PAGE}/checks/number/1?range=week", follow_redirects=False)

    assert found.status_code == 307
    assert re.fullmatch(rf"{PAGE}/checks/[0-9a-f-]{{36}}\?range=week", found.headers["location"])
    assert reader.get(f"{PAGE}/checks/number/999").status_code == 404
    assert reader.get(f"{PAGE}/checks/number/{2**63}").status_code == 422
    assert stage.deployment.id == "a-model"


@pytest.mark.usefixtures("stage")
@pytest.mark.thorough
def test_the_page_reads_the_same_number_of_times_whatever_the_range(reader: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.get(PAGE)  # what is read once in a process
    numbers = []
    for query in ("from=2025-03-02T00:00Z&to=2026-03-02T18:00Z", "from=2016-03-02T00:00Z&to=2026-03-02T18:00Z"):
        with counted(monkeypatch) as sent:
            assert reader.get(f"{PAGE}?{query}").status_code == 200
        numbers.append(len(sent))

    assert numbers[0] == numbers[1]


KEPT = read_choice({"range": "week", "zone": "Europe/Berlin"})
ADDED = "range=week&amp;zone=Europe%2FBerlin"


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        ('<a href="/deployments/a">', f'<a href="/deployments/a?{ADDED}">'),
        ('<a class="x" href="?metric=a&amp;data=b#top" data-row>', f'<a class="x" href="?metric=a&amp;data=b&amp;{ADDED}#top" data-row>'),
        ('<a href="?range=day">', '<a href="?range=day&amp;zone=Europe%2FBerlin">'),
        ('<a href="?from=2026-01-01T00%3A00Z">', '<a href="?from=2026-01-01T00%3A00Z&amp;zone=Europe%2FBerlin">'),
        ('<a data-range href="?range=day">', '<a data-range href="?range=day">'),
        ('<a href="/glossary#unfair">', '<a href="/glossary#unfair">'),
        ('<a href="/v1/deployments/a/report.pdf">', '<a href="/v1/deployments/a/report.pdf">'),
        ("<p>&lt;a href=&#34;/deployments/a&#34;&gt;</p>", "<p>&lt;a href=&#34;/deployments/a&#34;&gt;</p>"),
        ('<a title="a > b" href="/deployments/a">', f'<a title="a > b" href="/deployments/a?{ADDED}">'),
        ('<dialog data-close="?">', f'<dialog data-close="?{ADDED}">'),
        (
            '<form method="get">',
            '<form method="get"><input type="hidden" name="range" value="week"><input type="hidden" name="zone" value="Europe/Berlin">',
        ),
        ('<form method="get" data-range>', '<form method="get" data-range>'),
        ('<form method="post" action="/logout">', '<form method="post" action="/logout">'),
    ],
)
def test_links_and_forms_carry_the_range_along(page: str, kept: str) -> None:
    assert keep_range(page, KEPT) == kept
    assert keep_range(page, read_choice({})) == page
