"""The pages of checks, over what real checks of a model that can be read have stored."""

import html
import re
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.checks.queries import read_run
from app.database.engine import Database
from app.domain.check import CheckRun, CheckState, Trigger
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.check_results import read_measurements
from tests.builders.page_words import says, words
from tests.builders.statements import counted
from tests.builders.training import put_training
from tests.integration.dashboard.check_pages import CHECKS, HOSTILE, checked, figures
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene
from tests.service import RunningService


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """The model of every test."""
    with serve(RuleScorer()) as server:
        yield server


@pytest.fixture(scope="module")
def memory_with_training() -> SceneMemory:
    """Memory for the scene that has training data."""
    return SceneMemory()


def watched(database: Database, server: ModelServer) -> Scene:
    return scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    """The watched deployment, without records."""
    return watched(database, server)


@pytest.fixture
def checked_stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """The watched deployment after the one check. Ask for it before the service, whose keys it has not."""

    def make() -> Scene:
        made = watched(database, server)
        checked(made)
        return made

    return memory.recall(database, make)


@pytest.fixture
def check(checked_stage: Scene) -> CheckRun:
    """The one check."""
    return first_check(checked_stage)


@pytest.fixture
def check_after_training(database: Database, server: ModelServer, memory_with_training: SceneMemory) -> CheckRun:
    """The one check of a deployment with training data. As `checked_stage`, it comes before the service."""

    def make() -> Scene:
        made = watched(database, server)
        put_training(made, ("female", 31, 70), ("male", 60, 40))
        checked(made)
        return made

    return first_check(memory_with_training.recall(database, make))


def first_check(stage: Scene) -> CheckRun:
    with stage.database.transaction() as session:
        return read_run(session, 1)


KINDS = ["openscale", "as_logged", "training", "mitigated"]


@pytest.mark.nightly
def test_a_check_opens_with_its_forest_and_a_row_with_its_sentences_as_logged_and_with_copies(
    checked_stage: Scene, check: CheckRun, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    checked_stage.log(applicants(20, 30, 30, prefix="later-"), NOON + HOUR)
    checked_stage.check(NOON + HOUR)

    page = reader.get(f"{CHECKS}/{check.id}").text
    row = f"{CHECKS}/{check.id}?attribute=sex&group=female"
    drawer = reader.get(row).text.partition('<dialog id="drawer"')[2].partition("</dialog>")[0]
    said = words(drawer)
    assert says(html.unescape(page), "0.12")  # the picture of the row says so
    assert 'href="?attribute=sex&amp;group=female#drawer"' in page
    assert says(said.replace("\n", " "), "female", "20", "male", "100", "0.200")
    assert says(said.replace("\n", " "), "female", "12", "male", "100", "0.120")
    assert words(page.partition('id="measurements"')[0]) == snapshot(name="page")
    assert said == snapshot(name="drawer")
    assert {reader.get(address).status_code for address in figures(drawer)} == {200}


def test_every_view_has_an_address_a_chart_and_a_table_with_the_counts(
    check_after_training: CheckRun, reader: httpx.Client, subtests: pytest.Subtests
) -> None:
    for kind in KINDS:
        with subtests.test(kind=kind):
            answer = reader.get(f"{CHECKS}/{check_after_training.id}", params={"view": kind})
            text = answer.text
            assert answer.status_code == 200
            assert f'href="/v1{CHECKS}/{check_after_training.id}/charts/{kind}.svg?attribute=sex"' in text
            assert says(text, 'aria-label="Bar chart', "sex", "female")
            assert re.search(rf'href="\?view={kind}#views" aria-current="page"', text)
            counts = {"as_logged": "6 24 30", "openscale": "6 44 50", "training": "31 70 101", "mitigated": "6 → 30 30"}
            assert f"female monitored {counts[kind]}" in words(text)


@pytest.mark.nightly
def test_the_charts_of_every_view_can_be_drawn(check_after_training: CheckRun, service: RunningService, reader: httpx.Client) -> None:
    pages = [reader.get(f"{CHECKS}/{check_after_training.id}", params={"view": kind}).text for kind in KINDS]
    charts = {html.unescape(address) for text in pages for address in re.findall(r'href="([^"]*[.]svg[?][^"]*)"', text)}
    assert any("part=sub_ranges" in address for address in charts)
    assert any("part=with_copies" in address for address in charts)
    assert "40-49 36-75, reference" in words(pages[1])
    assert {service.client.get(address).status_code for address in charts} == {200}


@pytest.mark.thorough
def test_every_figure_of_a_view_opens_with_its_formula_and_counts(
    check_after_training: CheckRun, reader: httpx.Client, subtests: pytest.Subtests
) -> None:
    for kind in KINDS:
        with subtests.test(kind=kind):
            text = reader.get(f"{CHECKS}/{check_after_training.id}", params={"view": kind}).text
            shown = text.partition('id="measurements"')[0]
            opened = [reader.get(address) for address in figures(shown)]
            assert len(opened) > 2
            assert {answer.status_code for answer in opened} == {200}
            assert all("Formula" in answer.text and 'id="figure"' in answer.text for answer in opened)


@pytest.mark.nightly
def test_every_measurement_of_the_check_is_listed_and_opens(check: CheckRun, service: RunningService, reader: httpx.Client) -> None:
    measured = read_measurements(service.client, f"/v1{CHECKS}/{check.id}")

    text = reader.get(f"{CHECKS}/{check.id}/measurements").text.partition('id="measurements"')[2]
    rows = text.partition("<tbody>")[2].partition("</tbody>")[0]
    opened = {reader.get(address).status_code for address in figures(rows)}
    assert rows.count("<tr>") == len(measured) == len(figures(rows))
    assert opened == {200}
    assert f"/v1{CHECKS}/{check.id}/measurements.csv" in text


def test_measurements_are_filtered_by_metric_and_attribute(check: CheckRun, service: RunningService, reader: httpx.Client) -> None:
    measured = read_measurements(service.client, f"/v1{CHECKS}/{check.id}")
    impacts = [figure for figure in measured if figure["metric"] == "disparate_impact" and figure["attribute"] == "sex"]

    page = reader.get(f"{CHECKS}/{check.id}/measurements", params={"metric": "disparate_impact", "attribute": "sex"}).text
    none = reader.get(f"{CHECKS}/{check.id}/measurements", params={"metric": "disparate_impact", "attribute": "nobody"}).text

    assert page.partition("<tbody>")[2].count("<tr>") == len(impacts) > 0
    assert 'value="disparate_impact" selected' in page
    assert "No measurement fits the filter." in none
    assert reader.get(f"{CHECKS}/{check.id}/measurements", params={"verdict": "x"}).status_code == 422


@pytest.mark.thorough
def test_a_figure_shows_all_that_it_rests_on(stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    result = stage.check(NOON)
    text = reader.get(f"{CHECKS}/{result.run.id}", params={"view": "as_logged"}).text
    address = re.search(r'href="([^"]*)" data-figure><strong>0.20</strong> <span>', text)
    assert address is not None
    assert address[1].endswith("/figure?metric=disparate_impact&amp;data=as_logged&amp;scope=group&amp;attribute=sex&amp;group=female")

    said = words(reader.get(html.unescape(address[1])).text)
    assert says(said, "favourable_rate(monitored) / favourable_rate(reference)")
    assert says(said, "female", "favourable 6")
    assert says(said, "male", "records 20")
    assert str(result.value("disparate_impact", "as_logged", "sex", "female")) in said
    assert str(result.run.id) in said
    assert "2026-03-02 12:00 to 13:00 UTC" in said
    assert said == snapshot


def test_a_figure_of_training_data_names_no_check_and_says_when_they_were_processed(
    check_after_training: CheckRun, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    text = reader.get(f"{CHECKS}/{check_after_training.id}", params={"view": "training"}).text
    address = figures(text.partition('id="views"')[2])[0]

    said = words(reader.get(address).text)
    assert "2026-03-02 12:00 UTC" in said
    assert said == snapshot


def test_the_mitigated_view_shows_both_data_sets_and_says_what_mitigation_leaves(
    check: CheckRun, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    said = words(reader.get(f"{CHECKS}/{check.id}", params={"view": "mitigated"}).text.partition('id="measurements"')[0])
    assert says(said, "30", "24", "24", "0")
    assert said == snapshot


@pytest.mark.thorough
def test_what_a_check_stored_in_a_mode_that_does_not_exist_any_more_is_shown(
    checked_stage: Scene, check: CheckRun, reader: httpx.Client
) -> None:
    in_parity = """UPDATE checks SET "window" = jsonb_set("window", '{mitigation,mode}', '"parity"')
        #- '{mitigation,attributes,sex,undecided}'"""
    to_goal = """UPDATE check_tables SET cells = jsonb_set(cells, '{mitigated}', '"parity to 0.9 from 50"') WHERE cells ? 'mitigated'"""
    with checked_stage.database.transaction() as session:
        session.execute(text(in_parity))
        session.execute(text(to_goal))

    said = words(reader.get(f"{CHECKS}/{check.id}", params={"view": "mitigated"}).text)
    view = reader.get(f"/v1{CHECKS}/{check.id}/views/mitigated").json()
    days = reader.get("/v1/deployments/a-model/measurements", params={"rollup": "day"})
    report = reader.get(f"/v1{CHECKS}/{check.id}/report.html")

    assert "Mitigation parity" in said
    assert says(said, "30", "24", "24", "0")
    assert (view["mitigation_mode"], view["attributes"][0]["mitigated"]["undecided"]) == ("parity", 0)
    assert (days.status_code, report.status_code) == (200, 200)


def test_the_window_of_a_view_is_told_in_full(stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    rows = applicants(20, 20, 5)
    rows[0] |= {"prediction": 7}
    rows[1] |= {"sex": "other"}
    stage.log(applicants(3, 4, 1, prefix="old"), NOON - 2 * HOUR)
    stage.log(rows, NOON + timedelta(minutes=1))
    stage.watch(monitor_of(SEX, min_records=45))

    page = reader.get(f"{CHECKS}/{stage.check(NOON).run.id}?view=openscale").text
    said = words(page.partition('id="measurements"')[0])
    assert says(said, "Records", "40")
    assert says(said, "Additional records", "5")
    assert says(said.replace("\n", " "), "2026-03-02 10:00 UTC", "2026-03-02 12:01 UTC")
    assert says(said, "Perturbed records, sex", "43")
    assert "prediction in neither outcome list 1 (male 1), sex in no group 1." in words(page)
    assert said == snapshot


def test_a_view_that_is_not_there_says_why_and_what_to_do(check: CheckRun, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    text = reader.get(f"{CHECKS}/{check.id}", params={"view": "training"}).text
    assert words(text.partition('id="measurements"')[0]) == snapshot


@pytest.mark.thorough
def test_a_check_that_was_carried_forward_says_so_and_links_to_the_one_that_counted(
    stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    first = stage.check(NOON, trigger=Trigger.SCHEDULE)
    second = stage.check(NOON + HOUR, trigger=Trigger.SCHEDULE)

    text = reader.get(f"{CHECKS}/{second.run.id}").text
    assert f'href="{CHECKS}/{first.run.id}">' in text
    assert words(text.partition('id="measurements"')[0]) == snapshot(name="check")
    assert words(reader.get(CHECKS).text) == snapshot(name="list")


@pytest.mark.nightly
def test_names_that_look_like_markup_are_shown_as_they_are(stage: Scene, reader: httpx.Client) -> None:
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("female", HOSTILE), reference=("male",))))
    rows = applicants(20, 30, 6)
    rows += [{**row, "sex": HOSTILE, "id": f"h{row['id']}"} for row in rows[20:35]]
    stage.log(rows, NOON)
    check = stage.check(NOON).run

    pages = [reader.get(f"{CHECKS}/{check.id}", params={"view": kind}).text for kind in KINDS]
    opened = [reader.get(address).text for address in figures(pages[1])]
    assert all("<script>alert" not in text for text in (*pages, *opened))
    assert any(f"of {HOSTILE} (sex)" in words(text) or f": {HOSTILE} (sex)" in words(text) for text in opened)
    assert f"{HOSTILE} monitored" in words(pages[1])


def test_a_group_without_records_is_not_computable_with_its_reason(stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("diverse",), reference=("male",))))
    stage.log(applicants(20, 20, 5), NOON)

    said = words(reader.get(f"{CHECKS}/{stage.check(NOON).run.id}?attribute=sex&group=diverse").text)
    assert says(said, "Disparate impact", "diverse")
    assert said == snapshot


def test_a_monitor_that_compares_nothing_leaves_a_page_that_says_so(
    stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage.watch(monitor_of(metrics=("accuracy",)))
    stage.log(applicants(20, 20, 5), NOON)

    said = words(reader.get(f"{CHECKS}/{stage.check(NOON).run.id}").text.partition('id="measurements"')[0])
    assert said == snapshot
    assert "female monitored 5 15 20" in said


def test_what_is_not_there_or_cannot_be_is_told_on_a_page(check: CheckRun, reader: httpx.Client, subtests: pytest.Subtests) -> None:
    for address, status in (
        (f"{CHECKS}/00000000-0000-0000-0000-000000000000", 404),
        (f"{CHECKS}/%00", 404),
        (f"{CHECKS}/<b>", 404),
        ("/deployments/no-such/checks", 404),
        (f"{CHECKS}?state=sleeping", 422),
        (f"{CHECKS}?cursor=!!", 422),
        ("CHECK?view=other", 422),
        ("CHECK?figure=000000000000", 422),
        ("CHECK/figure", 422),
        ("CHECK/figure?metric=disparate_impact&data=as_logged", 422),
        ("CHECK/figure?metric=disparate_impact&data=elsewhere&scope=group&attribute=sex", 422),
        ("CHECK/figure?metric=no_such&data=as_logged&scope=group&attribute=sex&group=female", 404),
        ("CHECK/figure?metric=disparate_impact&data=as_logged&scope=group&attribute=sex&group=<b>", 404),
        ("CHECK/figure?metric=favourable_rate&data=as_logged&scope=group&attribute=other&group=female", 404),
        ("CHECK/figure?metric=base_rate&data=training&scope=group&attribute=sex&group=female", 404),
        ("CHECK/figure?metric=accuracy&data=labelled&scope=group&attribute=sex&group=other", 404),
        (f"{CHECKS}/00000000-0000-0000-0000-000000000000/figure?metric=accuracy&data=labelled&scope=overall", 404),
    ):
        with subtests.test(address=address, status=status):
            answer = reader.get(re.sub("^CHECK", f"{CHECKS}/{check.id}", address))
            assert answer.status_code == status
            assert answer.headers["content-type"].startswith("text/html")
            assert "<b>" not in answer.text


def test_a_key_of_another_deployment_finds_no_check(
    checked_stage: Scene, check: CheckRun, service: RunningService, browser: httpx.Client
) -> None:
    other = {"id": "other", "name": "Other", "problem_type": "binary", "features": [{"name": "a", "type": "string"}]}
    service.client.post("/v1/deployments", json=other | {"outputs": {"prediction": "p"}, "model_revision": "1"})
    browser.post("/login", data={"key": service.key(Role.READ, checked_stage.deployment.no + 1)})

    assert browser.get(CHECKS).status_code == 404
    assert browser.get(f"{CHECKS}/{check.id}").status_code == 404
    assert browser.get(f"/deployments/other/checks/{check.id}").status_code == 404


def test_those_who_only_read_are_offered_no_changes(service: RunningService, stage: Scene, browser: httpx.Client) -> None:
    check = stage.check(NOON).run
    browser.post("/login", data={"key": service.key(Role.READ)})

    assert check.state is CheckState.INSUFFICIENT_DATA
    assert all("data-api" not in browser.get(address).text for address in (CHECKS, f"{CHECKS}/{check.id}"))


@pytest.mark.nightly
@pytest.mark.parametrize("query", ["", "?view=as_logged", "?view=training", "?view=mitigated"])
def test_a_page_takes_as_many_statements_for_many_checks_and_groups_as_for_one(
    checked_stage: Scene, check: CheckRun, reader: httpx.Client, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.get(CHECKS)  # what a connection needs once
    one = statements(reader, CHECKS, monkeypatch)
    many_values = tuple(f"group {no}" for no in range(12))
    checked_stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("female", *many_values), reference=("male",)), AGE))
    checked_stage.log(applicants(20, 30, 6, prefix="b"), NOON + HOUR)
    many = checked_stage.check(NOON + HOUR).run
    reader.get(f"{CHECKS}/{check.id}{query}")  # what is read once in a process

    assert statements(reader, CHECKS, monkeypatch) == one
    assert statements(reader, f"{CHECKS}/{check.id}{query}", monkeypatch) == statements(reader, f"{CHECKS}/{many.id}{query}", monkeypatch)


def statements(reader: httpx.Client, address: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many statements the service needs for a page."""
    with counted(monkeypatch) as sent:
        assert reader.get(address).status_code == 200
    return len(sent)
