"""The routes and the page of the report that a regulator keeps."""

import json
import re
from urllib.parse import quote_plus

import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.domain.check import Span
from app.reports.regulator.regulator_report import find_file_differences, read_report_file
from tests.builders.page_words import says
from tests.integration.reports.reported import Reported
from tests.scenes import HOUR, NOON

pytestmark = pytest.mark.usefixtures("reports_in_this_process")

PERIOD = {"since": NOON.isoformat(), "until": (NOON + 5 * HOUR).isoformat()}


@pytest.mark.nightly
def test_the_route_gives_each_form_of_one_report(reported: Reported) -> None:
    content = reported.text("/regulator-report.json", **PERIOD, preset="ugesp", control="income")
    report = read_report_file(content.encode())

    assert list(find_file_differences(report)) == []
    assert report.span == Span(start=NOON, end=NOON + 5 * HOUR)
    assert list(json.loads(content)["sheets"]) == ["adverse_impact", "controls", "evidence", "alerts"]
    assert "<script" not in reported.text("/regulator-report.html", **PERIOD)
    assert reported.text("/regulator-report.csv", **PERIOD).startswith("sheet,attribute,category,figure,value")
    assert reported.text("/regulator-report.pdf", **PERIOD).startswith("%PDF")


@pytest.mark.thorough
def test_files_of_two_rules_on_one_period_have_two_names(reported: Reported) -> None:
    def name(**query: str) -> str:
        address = "/v1/deployments/a-model/regulator-report.csv"
        return reported.service.client.get(address, params=PERIOD | query).headers["content-disposition"].partition("-model-")[2]

    names = [name(), name(preset="eu-ai-act"), name(preset="insurance-co")]

    assert [name.rpartition("-2")[0].rpartition("-2")[0] for name in names] == ["regulator", "eu-ai-act", "insurance-co"]


def test_a_wrong_parameter_is_named(reported: Reported, subtests: pytest.Subtests) -> None:
    for query, named in (({"control": "salary"}, "control"), ({"attribute": "income"}, "attribute"), ({"sheet": "x"}, "sheet")):
        with subtests.test(query=query, named=named):
            answer = reported.service.client.get("/v1/deployments/a-model/regulator-report.json", params=PERIOD | query)
            assert answer.status_code == 422
            assert named in answer.text


def test_categories_of_the_address_are_in_the_report_and_in_the_links_of_the_page(reported: Reported) -> None:
    mapping = json.dumps({"sex": {"scheme": "sex", "values": {"female": "Female"}}})
    sheet = json.loads(reported.text("/regulator-report.json", **PERIOD, sheet="adverse_impact", attribute="sex", categories=mapping))
    page = reported.service.client.get("/deployments/a-model/reports", params={"categories": mapping, "range": "week"}).text

    (table,) = sheet["sheets"]["adverse_impact"]["tables"]
    assert [row["category"] for row in table["rows"]] == ["Female"]
    assert table["unknown"] > 0
    assert f"categories={quote_plus(mapping)}" in page
    assert "have the choices above" in page
    (form,) = [one for one in page.split("<form")[1:] if 'id="categories"' in one]
    assert 'name="range" value="week"' in form
    assert form.count('name="categories"') == 1


def test_choices_on_the_page_are_in_its_files_and_what_is_missing_heeds_them(reported: Reported) -> None:
    chosen = {"control": "income", "attribute": "sex", "tool": "scoring"}
    page = reported.service.client.get("/deployments/a-model/reports", params=chosen).text
    wrong = reported.service.client.get("/deployments/a-model/reports", params={"control": "sex"}).text

    assert page.count("attribute=sex&amp;control=income&amp;tool=scoring") == 4 * 6
    assert "<strong>controls</strong>" not in page
    assert 'name="controls" data-as="json" value=\'["income"]\'' in page
    assert says(wrong, "without these choices", "control: sex is an attribute")
    assert "&amp;control=sex" not in wrong


def test_the_page_offers_no_range_that_it_would_cut(reported: Reported) -> None:
    """A link from a page that shows all the time there is leads to the last 30 days, and says so."""
    bare, of_all = (reported.service.client.get(f"/deployments/a-model/reports{query}").text for query in ("", "?range=all"))

    for page in (bare, of_all):
        bar = page.partition('class="range-presets"')[2].partition("</ul>")[0]
        assert re.findall(r'aria-current="true">([^<]+)<', bar) == ["30 d"]
        assert ">All<" not in bar


def test_categories_that_cannot_be_used_are_named(reported: Reported, subtests: pytest.Subtests) -> None:
    for mapping in ("{", "[]", '{"sex": {"scheme": "eeo-1", "values": {"female": "Female"}}}'):
        with subtests.test(mapping=mapping):
            answer = reported.service.client.get("/v1/deployments/a-model/regulator-report.json", params=PERIOD | {"categories": mapping})
            page = reported.service.client.get("/deployments/a-model/reports", params={"categories": mapping})

            assert (answer.status_code, answer.json()["errors"][0]["field"].split(".")[0]) == (422, "categories")
            assert page.status_code == 200
            assert "The files are without these choices" in page.text
            links = re.findall(r'href="([^"]*regulator-report\.[^"]*)"', page.text)
            assert links
            assert not any("categories" in link for link in links)


def test_a_control_that_is_no_column_is_refused_with_the_presets_too(reported: Reported) -> None:
    answer = reported.service.client.get("/v1/deployments/a-model/report-presets", params={"control": "false"})
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, ["control"])


def test_a_deployment_without_a_monitor_has_no_report(reported: Reported) -> None:
    reported.service.client.delete("/v1/deployments/a-model/fairness-monitor").raise_for_status()
    assert reported.service.client.get("/v1/deployments/a-model/regulator-report.json").status_code == 409
    assert "Set one" in reported.service.client.get("/deployments/a-model/reports").text


@pytest.mark.thorough
def test_what_a_preset_lacks_is_listed_before_the_report_is_made(reported: Reported, snapshot: SnapshotAssertion) -> None:
    presets = {one["preset"]: one for one in json.loads(reported.text("/report-presets"))["presets"]}
    page = reported.service.client.get("/deployments/a-model/reports").text

    (race,) = [gap["what"] for gap in presets["ll144"]["missing"]]
    assert says(race, "race")
    assert "controls" in [gap["what"] for gap in presets["lending"]["missing"]]
    assert "controls" not in [
        one["what"] for one in json.loads(reported.text("/report-presets", control="income"))["presets"][2]["missing"]
    ]
    assert {"an owner of the model", "the purpose of the model"} <= {gap["what"] for gap in presets["eu-ai-act"]["missing"]}
    reported.service.client.put("/v1/deployments/a-model/retention", json={"records_months": 3}).raise_for_status()
    (kept,) = [gap["what"] for gap in json.loads(reported.text("/report-presets"))["presets"][3]["missing"] if "kept" in gap["what"]]
    assert says(kept, "6", "3")
    assert kept == snapshot
    for preset in presets.values():
        assert preset["title"] in page
    assert race in page
    assert "under another name, ignore this" in page
    assert [preset["missing"] for preset in presets.values()] == snapshot
    assert "not legal advice" in page.casefold()


def test_a_file_that_is_no_report_is_refused() -> None:
    for content in (
        b"",
        b"[]",
        b'{"kind": "evenhand-regulator-report", "format": 9}',
        b'{"kind": "evenhand-regulator-report", "format": 1}',
    ):
        with pytest.raises(InvalidInput, match="file"):
            read_report_file(content)
