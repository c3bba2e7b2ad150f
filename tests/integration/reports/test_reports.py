import csv
import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from app.access.principals import Role
from app.database.tables import AlertFigureRow, AlertRow
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import applicants, monitor_of
from tests.builders.check_results import read_results
from tests.builders.page_words import says
from tests.integration.reports.reported import HOSTILE, Reported
from tests.scenes import HOUR, NOON

pytestmark = pytest.mark.usefixtures("reports_in_this_process")

VOID = {"meta", "br", "hr", "img", "input", "link", "path", "rect", "line"}
ANNEX = {"annex": "true"}
PERIOD = {"since": NOON.isoformat(), "until": (NOON + 5 * HOUR).isoformat()}


class Outline(HTMLParser):
    """What an HTML file consists of; fails where an element is not closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.mark.nightly
def test_a_report_is_one_html_file_that_loads_nothing_and_names_its_parts(reported: Reported) -> None:
    text = reported.text(f"{reported.address}/report.html", **ANNEX)

    found = Outline(text).found
    tags = [tag for tag, _ in found]
    assert not {"script", "link", "iframe", "object", "img", "base", "form"} & set(tags)
    loading = [value for _, given in found for name, value in given.items() if name in {"src", "href", "xlink:href", "action"}]
    assert all(value and value.startswith("#") for value in loading)
    assert "@import" not in text
    assert not re.search(r"url\(\s*['\"]?(?!#)", text)
    assert tags.count("h1") == 1
    assert [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)][:2] == [1, 2]
    assert dict(found[0][1])["lang"] == "en"
    assert tags.count("caption") == tags.count("table") > 5
    assert all(given.get("scope") in {"col", "row"} for tag, given in found if tag == "th")
    charts = [given for tag, given in found if tag == "svg"]
    assert len(charts) > 5
    # A picture next to its figures is skipped by screen readers; a chart is read as an image.
    assert all(given.get("aria-hidden") == "true" or (given["role"] == "img" and given["aria-label"]) for given in charts)
    ids = [given["id"] for _, given in found if "id" in given]
    assert len(ids) == len(set(ids))


def test_a_strange_name_stands_in_a_report_as_it_is(reported: Reported) -> None:
    text = reported.text(f"{reported.address}/report.html")

    assert "<b>#eval" not in text
    assert "&lt;b&gt;#eval(&#34;1&#34;)&lt;/b&gt; $x$ @y \\ *z* _q_ =1+1 <bdi>العربية</bdi> 東京 😀" in text


@pytest.mark.nightly
def test_the_figures_of_a_report_are_those_of_the_api(reported: Reported) -> None:
    text = reported.text(f"{reported.address}/report.html", **ANNEX)
    details = read_results(reported.service.client, f"/v1/deployments/a-model{reported.address}")

    worst = [figure for figure in details["measurements"] if figure["metric"] == "disparate_impact" and figure["worst_of"] is not None]
    told = [one for one in worst if one["data"] in {"as_logged", "counterfactual"}]
    assert len(told) == 5
    for figure in told:
        assert f"<td>{figure['value']:.4f}</td><td>{figure['lower']:.4f} to {figure['upper']:.4f}</td><td>{figure['n']:,}</td>" in text
        assert figure["sentence"] in text
    rates = [figure for figure in details["measurements"] if figure["metric"] == "favourable_rate" and figure["data"] == "as_logged"]
    for rate in rates:
        assert f"<td>{100 * rate['value']:.2f} %</td>" in text
    for part in ("What was logged", "What the model was trained on", "What mitigation would change", "Over time", "Alerts"):
        assert f">{part}<" in text
    assert "removes direct bias only" in text
    assert "no evidence of fair outcomes" in text
    assert "A side of age has several values" in text
    assert "A side of sex has" not in text
    assert details["id"] in text


def test_the_same_check_gives_the_same_report(reported: Reported) -> None:
    first, second = (reported.text(f"{reported.address}/report.html") for _ in range(2))

    assert re.sub(r"Made on [^<]*", "", first) == re.sub(r"Made on [^<]*", "", second)


@pytest.mark.nightly
def test_a_check_that_was_carried_forward_says_so(reported: Reported) -> None:
    text = reported.text(f"/checks/{reported.runs[3].id}/report.html", **ANNEX)

    told = f"the figures are those of check {reported.runs[2].id}, carried forward"
    assert told in text[: text.index("Verdicts of this check")]
    assert told in text[text.index(">In short</h2>") : text.rindex("Verdicts of this check")]


def test_a_check_without_figures_has_a_report_that_says_why(reported: Reported) -> None:
    empty = reported.stage.check(NOON - 100 * HOUR)

    text = reported.text(f"/checks/{empty.run.id}/report.html")

    assert says(text, "no figure of this check", "too few records")


@pytest.mark.parametrize("path", ["/report", pytest.param("{address}/report", marks=pytest.mark.thorough)])
def test_a_report_is_a_tagged_pdf_with_a_title_and_a_language(reported: Reported, path: str) -> None:
    answer = reported.service.client.get(
        f"/v1/deployments/a-model{path.format(address=reported.address)}.pdf", params=PERIOD if path == "/report" else {}
    )

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.content.startswith(b"%PDF-1.")
    assert answer.content.rstrip().endswith(b"%%EOF")
    for entry in (b"/MarkInfo", b"/StructTreeRoot", b"/Lang", b"/Title"):
        assert entry in answer.content


@pytest.mark.nightly
def test_a_period_is_told_with_its_verdicts_its_series_and_its_newest_check(reported: Reported) -> None:
    short, text = reported.text("/report.html", **PERIOD), reported.text("/report.html", **PERIOD, **ANNEX)

    Outline(short)
    Outline(text)
    # The fourth check carried the figures of the third forward: that is no fourth hour.
    assert "3 of 5 that have ended were checked" in short
    assert "All 3 hours of this period" in short
    assert "<dd>4 succeeded</dd>" in short
    women, men = 3 * 50, 3 * 60
    assert f'<th scope="row">female (sex) *</th><td>{women}</td><td>69</td><td>46.00 %</td>' in short
    assert f'<th scope="row">reference of sex</th><td>{men}</td><td>{men}</td><td>100.00 %</td>' in short
    assert "Checks that ended: 4 succeeded." in text
    assert "The newest check" in text
    assert reported.runs[3].id in text


def test_a_period_in_which_nothing_could_be_judged_is_not_called_fair(reported: Reported) -> None:
    long_ago = NOON - 50 * HOUR
    reported.stage.log(applicants(6, 6, 1, prefix="few-"), long_ago)
    reported.stage.check(long_ago)

    text = reported.text("/report.html", since=long_ago.isoformat(), until=(long_ago + 2 * HOUR).isoformat())

    assert says(text, "Too few records to tell", "6")
    assert "confirmed fair" not in text


@pytest.mark.nightly
def test_the_worst_of_a_period_lies_furthest_beyond_the_limits_on_whichever_side(reported: Reported) -> None:
    long_ago = NOON - 50 * HOUR
    men = MonitoredAttribute(feature="sex", monitored=("male",), reference=("female",), upper_threshold=1.25)
    reported.stage.watch(monitor_of(men))
    for hour, rich in enumerate((40, 20)):
        reported.stage.log(applicants(50, 50, rich, prefix=f"old-{hour}-"), long_ago + hour * HOUR)
        reported.stage.check(long_ago + hour * HOUR)

    text = reported.text("/report.html", since=long_ago.isoformat(), until=(long_ago + 3 * HOUR).isoformat(), **ANNEX)

    # 1.25 and 2.5 of equally many records: 100 of 100 men against 60 of 100 women.
    assert says(text, "male (sex)", "Outside over the whole period")
    assert "<td>1.67</td>" in text


@pytest.mark.nightly
def test_an_empty_period_says_that_nothing_is_there(reported: Reported) -> None:
    for more in ({}, ANNEX):
        text = reported.text("/report.html", since="2020-01-01T00:00:00Z", until="2020-02-01T00:00:00Z", **more)
        assert "No check of this time succeeded." in text
        assert says(text, "No whole hour of this time has stored counts")


def test_a_calendar_period_of_a_zone_says_both_ends(reported: Reported) -> None:
    text = reported.text("/report.html", period="month", day="2026-03-31", zone="Europe/Berlin")

    assert says(text, "2026-03-01 00:00 to 2026-04-01 00:00 in Europe/Berlin (2026-02-28 23:00:00 UTC to 2026-03-31 22:00:00 UTC)")
    assert says(text, "3 of 743 that have ended were checked")
    assert says(text, "Days outside, of judged")
    in_india = reported.text("/report.html", period="week", day="2026-03-02", zone="Asia/Kolkata")
    assert says(in_india, "its hours begin at minute 30")


def test_a_period_that_cannot_be_reported_is_refused(reported: Reported, subtests: pytest.Subtests) -> None:
    for query, named, words in (
        ({"zone": "CEST"}, "zone", "such as Europe/Berlin, found 'CEST'"),
        ({"period": "day", "day": "2011-12-30", "zone": "Pacific/Apia"}, "day", "2011-12-30 does not exist in Pacific/Apia"),
        ({"period": "quarter", "day": "2999-05-05"}, "day", "begins on 2999-04-01 00:00"),
        ({"period": "year", "day": "9999-05-05"}, "day", "outside the years"),
        ({"period": "week", "since": "2026-03-01T00:00:00Z"}, "period", "give one of them"),
        ({"since": "2020-01-01T00:00:00Z"}, "since", "20,000 hours"),
    ):
        with subtests.test(query=query, named=named, words=words):
            answer = reported.service.client.get("/v1/deployments/a-model/report.html", params=query)

            assert answer.status_code == 422
            (problem,) = answer.json()["errors"]
            assert problem["field"] == named
            assert words in problem["message"]


def test_a_period_that_ends_before_it_begins_is_refused(reported: Reported) -> None:
    answer = reported.service.client.get("/v1/deployments/a-model/report.html", params={"since": PERIOD["until"], "until": PERIOD["since"]})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "since"


def test_whoever_may_only_log_gets_no_report(reported: Reported) -> None:
    asked = {"headers": reported.service.as_(Role.INGEST)}

    for path in ("/report.pdf", f"{reported.address}/report.html", "/charts/volume.svg", "/measurements.csv"):
        assert reported.service.client.get(f"/v1/deployments/a-model{path}", **asked).status_code == 403


@pytest.mark.thorough
def test_the_measurements_of_a_check_and_of_a_period_are_the_same_as_in_json(reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.records.csv_streams.MAX_PIECE_ROWS", 90)
    of_check = _rows(reported.text(f"{reported.address}/measurements.csv"))
    of_period = _rows(reported.text("/measurements.csv", **PERIOD))
    details = read_results(reported.service.client, f"/v1/deployments/a-model{reported.address}")

    assert len(of_check) == len(details["measurements"])
    for row, figure in zip(of_check, details["measurements"], strict=True):
        assert row["value"] == ("" if figure["value"] is None else repr(figure["value"]))
        assert row["sentence"] == figure["sentence"]
    assert [row for row in of_period if row["check_id"] == details["id"]] == of_check
    assert len(of_period) > 4 * 90
    assert {row["check_id"] for row in of_period} == {result.run.id for result in reported.checks}


@pytest.mark.nightly
def test_an_alert_that_was_open_is_told_of_and_one_of_another_time_is_not(reported: Reported) -> None:
    for name, opened, resolved in (("Women", NOON + 2 * HOUR, None), ("Long ago", NOON - 90 * HOUR, NOON - 80 * HOUR)):
        with reported.service.database.transaction() as session:
            of_both = {"attribute": "sex", "group": "female", "subject": name, "opened_at": opened}
            resolution = None if resolved is None else "recovered"
            alert = AlertRow(
                id=f"id of {name}",
                kind="unfair",
                deployment_no=reported.stage.deployment.no,
                resolved_at=resolved,
                resolution=resolution,
                **of_both,
            )
            session.add(alert)
            session.flush()
            session.add(
                AlertFigureRow(
                    alert_no=alert.no,
                    rule_id="unfair",
                    kind="verdict",
                    rule_name=name,
                    metric="disparate_impact",
                    data="as_logged",
                    facts={"sentence": f"{name}: <i>a ratio of 0.40</i>"},
                    last_seen_at=opened,
                    ended_at=resolved,
                    resolution=resolution,
                    **of_both,
                )
            )

    short, long = reported.text("/report.html", **PERIOD), reported.text("/report.html", **PERIOD, **ANNEX)

    for text in (short, long):
        assert "Women: &lt;i&gt;a ratio of 0.40&lt;/i&gt;" in text
        assert "Long ago" not in text
    assert short.count('d="M-5 1H5L0 10z"') == 1
    assert "Triangle: alert opened." in re.sub("</text><text[^>]*>", " ", long)


def _rows(text: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_name_in_these_tests_is_the_one_that_is_stored(reported: Reported) -> None:
    assert reported.service.client.get("/v1/deployments/a-model").json()["name"] == HOSTILE
