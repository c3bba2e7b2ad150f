"""The two pages of a report, the data that it is made from, and its trace."""

import csv
import hashlib
import html
import io
import json
import re

import pytest

from app.charts.forest_headline import word_forest
from app.domain.check import Span
from app.reports.document import ReportStamp
from app.reports.regulator.regulator_report import ReportOrder
from app.reports.regulator.sheets import ReportKind, SheetSelection
from app.reports.report_processes import Form, make_report
from tests.builders.check_results import read_results
from tests.builders.forests import read_forest
from tests.builders.page_words import says
from tests.builders.pdf_files import page_count
from tests.integration.reports.reported import Reported
from tests.scenes import HOUR, NOON

pytestmark = pytest.mark.usefixtures("reports_in_this_process")

PERIOD = {"since": NOON.isoformat(), "until": (NOON + 5 * HOUR).isoformat()}


def addresses_of(reported: Reported) -> dict[str, dict[str, str]]:
    """The report on a check and the one on a period, with their queries."""
    return {f"{reported.address}/report": {}, "/report": PERIOD}


@pytest.mark.nightly
def test_a_report_has_two_pages_and_more_with_the_annex(reported: Reported) -> None:
    for path, query in addresses_of(reported).items():
        short, long = (
            reported.service.client.get(f"/v1/deployments/a-model{path}.pdf", params={**query, **more}).content
            for more in ({}, {"annex": "true"})
        )

        assert page_count(short) == 2
        assert page_count(long) > 4


def test_the_first_page_says_the_headline_of_the_deployments_page_and_shows_every_group(reported: Reported) -> None:
    with reported.service.database.transaction() as session:
        forest = read_forest(session, reported.stage.deployment.no, now=NOON + 4 * HOUR)
    text = reported.text(f"/checks/{reported.runs[3].id}/report.html")

    headline = word_forest(forest)
    assert "records of female × 30-45 and" in headline.windows[0]
    note = f'<p class="meta">{headline.note[:1].upper()}{headline.note[1:]}.</p>'
    assert f"<p>{headline.text}</p>\n<p>{' '.join(headline.windows)}</p>\n{note}" in html.unescape(text)
    assert [row.name for row in forest.rows] == re.findall('<th scope="row">([^<]*) <span class="attribute">', text)
    assert {"female", "30-45", "female × 30-45"} <= {row.name for row in forest.rows}
    assert text.count('<td class="plot"><svg ') == len(forest.rows)
    for line in ("Owner of the model", "Reviewed by", "Signature"):
        assert line in text


@pytest.mark.nightly
def test_the_hash_in_a_report_is_that_of_its_data_in_every_form_with_and_without_annex(reported: Reported) -> None:
    for path, query in addresses_of(reported).items():
        data = reported.service.client.get(f"/v1/deployments/a-model{path}.json", params=query)
        again = reported.service.client.get(f"/v1/deployments/a-model{path}.json", params={**query, "annex": "true"})
        short, long = (reported.text(f"{path}.html", **query, **more) for more in ({}, {"annex": "true"}))

        assert data.headers["content-type"] == "application/json"
        assert data.content == again.content
        digest = hashlib.sha256(data.content).hexdigest()
        assert f"<dd>{digest}</dd>" in short
        assert f"<dd>{digest}</dd>" in long
        parsed = json.loads(data.content)
        assert json.dumps(parsed, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == data.content
        assert parsed["deployment"]["id"] == "a-model"
        assert len(parsed["checks"]) == (3 if path.startswith("/checks") else 4)


def test_the_data_name_both_ends_of_a_range(reported: Reported) -> None:
    monitor = json.loads(reported.text("/report.json", **PERIOD))["monitor"]

    assert monitor["attributes"][1]["monitored"] == [{"hi": 45, "lo": 30}]


def test_the_data_change_with_an_alert_that_is_acknowledged_and_hold_no_secret(reported: Reported) -> None:
    before = reported.text("/report.json", **PERIOD)
    reported.service.client.patch("/v1/deployments/a-model", json={"name": "Another name", "owner": "Loans & <b>co</b>"}).raise_for_status()
    assert says(reported.text("/report.html", **PERIOD), "Owner of the model", "Loans &amp; &lt;b&gt;co&lt;/b&gt;<")
    after = reported.text("/report.json", **PERIOD)

    assert before != after
    assert "127.0.0.1" not in before
    assert "lease" not in before


def test_the_trace_has_every_measurement_with_its_formula_and_counts(reported: Reported) -> None:
    rows = list(csv.DictReader(io.StringIO(reported.text(f"{reported.address}/trace.csv"))))
    details = read_results(reported.service.client, f"/v1/deployments/a-model{reported.address}")

    assert [row["value"] for row in rows] == [
        "" if figure["value"] is None else repr(figure["value"]) for figure in details["measurements"]
    ]
    assert all(row["formula"] for row in rows)
    (impact,) = [row for row in rows if (row["metric"], row["data"], row["group"]) == ("disparate_impact", "as_logged", "female")]
    assert "female: favourable" in impact["counts"]


@pytest.mark.nightly
@pytest.mark.parametrize("form", ["html", "pdf", "json"])
def test_a_report_is_the_same_in_two_runs_byte_by_byte(reported: Reported, form: Form) -> None:
    made = ReportStamp(at=NOON, by="test")
    check = SheetSelection(kind=ReportKind.CHECK, check_id=reported.runs[2].id)
    for wanted in (check, SheetSelection(kind=ReportKind.PERIOD)):
        span = Span(start=NOON, end=NOON + 5 * HOUR)
        order = ReportOrder(deployment=reported.stage.deployment, span=span, wanted=wanted, made=made, has_annex=True)
        url = reported.service.database.url

        assert make_report(url, order, form) == make_report(url, order, form)


def test_an_unknown_value_of_the_annex_is_refused(reported: Reported) -> None:
    answer = reported.service.client.get("/v1/deployments/a-model/report.html", params={"annex": "perhaps"})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "annex"
