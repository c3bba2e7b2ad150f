import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from app.charts.pictures.period_charts import ReportRowMarks, build_axis, draw_row, draw_row_axis, draw_series_chart
from app.charts.pictures.ratio_pictures import RatioMark, draw_ratio_axis, draw_ratio_row
from app.charts.pictures.timeline_picture import (
    build_level_axis,
    draw_panel,
    draw_stretches,
)
from app.domain.check import Span
from app.reports.document import (
    Attachment,
    Bullets,
    Document,
    Fact,
    FirstPage,
    GroupRow,
    Paragraph,
    ReportChart,
    ReportedAlert,
    ReportStamp,
    ReportTable,
    SecondPage,
    Section,
    TimeRow,
    write_pdf,
)
from app.reports.html_file import write_html
from app.reports.sections.second_page import LIMITS_IN_SHORT, METHOD
from tests.builders.chart_data import HOSTILE, HOUR, START, point, series
from tests.builders.pdf_files import page_texts
from tests.builders.timelines import panel_of

MADE = ReportStamp(at=datetime(2026, 3, 2, 12, tzinfo=UTC), by="user:Zoë")
REPOSITORY = Path(__file__).parents[3]


def first_page(name: str, *, rows: int = 2) -> FirstPage:
    """A first page with that name everywhere."""
    mark = RatioMark(value=0.26, lower=0.15, upper=0.46, verdict="unfair")
    row = GroupRow(
        attribute=name,
        group=name,
        records="12 / 34",
        picture=draw_ratio_row([mark, replace(mark, is_hollow=True)], (0.8, 1.25)),
        logged="0.26 (0.15–0.46)",
        counterfactual="–",
        verdict="unfair",
        since="unfair since 2026-03-01",
    )
    return FirstPage(
        about="This check, of 2026-03-02 12:00 to 13:00 UTC",
        verdict="unfair",
        headline=name,
        cautions=(name,),
        notes=(name,),
        facts=(Fact(name="Model", value=name),),
        axis=draw_ratio_axis(),
        groups=(row,) * rows,
        since=(name,),
    )


def printed() -> str:
    """A picture over time with every kind of mark."""
    span = Span(start=START, end=START + 10 * HOUR)
    axis = build_axis(span)
    panel = panel_of(0.5, 0.7, None, 9.0)
    picture = draw_panel(panel, "disparate_impact", axis, build_level_axis("disparate_impact", [panel]))
    moment = START + HOUR
    gaps = draw_stretches([START], HOUR, axis, height=3)
    return draw_row(picture, axis, ReportRowMarks(outside=[span], changes=[moment], alerts=[moment], gaps=gaps))


def second_page(name: str, *, rows: int = 2) -> SecondPage:
    """A second page with that name everywhere."""
    time = TimeRow(name=name, picture=printed(), summary="1 check")
    alert = ReportedAlert(opened="2026-03-02 12:00:00 UTC", about=name, sentence=name, acknowledged=name, resolved="not yet")
    return SecondPage(
        time_notes=(name,),
        axis=draw_row_axis(build_axis(Span(start=START, end=START + 10 * HOUR)), ZoneInfo("UTC")),
        times=(time,) * 2,
        alert_notes=("2 alerts",),
        alerts=(alert,) * rows,
        method=METHOD,
        limits=LIMITS_IN_SHORT,
        origin=(Fact(name="Software", value=name),),
    )


def document(name: str) -> Document:
    """A report in which everything bears that name."""
    chart = ReportChart(name, lambda look: draw_series_chart(series((name, [point(0, 0.5), point(1, 0.6)]), attribute=name), look))
    table = ReportTable(name, (name, name), ((name, name), (name, name)), name)
    wide = ReportTable(name, (name,) * 9, ((name,) * 9,), None)
    return Document(
        title=name or "report",
        subtitle=name,
        made=MADE,
        first=first_page(name),
        second=second_page(name),
        annex=(Section(name, (Paragraph(name), Paragraph(name, is_caution=True), Bullets((name,)), table, wide, chart, chart)),),
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [*HOSTILE, '#eval("1")', '#read("/etc/passwd")', "@label <l> *b* `r` // c", "\\u{0}", "]", "${{", "{{ 7*7 }}"]
)
def test_no_text_is_taken_for_markup_or_code(name: str) -> None:
    report = document(name)

    html, pdf = write_html(report), write_pdf(report)

    assert "<script" not in html
    assert html.count('<svg role="img"') == html.count("<figure>") == 2
    assert pdf.startswith(b"%PDF-1.")
    assert b"/StructTreeRoot" in pdf


def test_a_report_keeps_to_the_standard_for_accessible_pdf_where_its_characters_have_a_font() -> None:
    assert b"pdfuaid" in write_pdf(document("Zoë's model: sex × age, 0.8 → 0.9"))


@pytest.mark.nightly
def test_the_same_document_gives_the_same_files() -> None:
    assert write_html(document("one")) == write_html(document("one"))
    assert write_pdf(document("one")) == write_pdf(document("one"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["women", "W" * 200, "Frauen mit sehr langem Namen " * 7, "😀" * 60, "العربية " * 25])
@pytest.mark.parametrize("rows", [1, 3, 20, 100])
def test_two_pages_hold_any_number_of_rows_of_any_name(name: str, rows: int) -> None:
    report = replace(document("one"), title=name, first=first_page(name, rows=rows), second=second_page(name, rows=rows), annex=())

    pdf = write_pdf(report)

    assert re.findall(rb"/Type\s*/Pages[^>]*?/Count (\d+)", pdf) == [b"2"]
    assert b"pdfuaid" in pdf


def test_figures_that_are_no_ratios_and_no_groups_at_all_are_two_pages_too() -> None:
    plain = replace(first_page("one"), axis="", groups=(replace(first_page("one").groups[0], picture=""),))
    for first in (plain, replace(plain, groups=())):
        report = replace(document("one"), first=first, second=second_page("one", rows=0), annex=())

        assert re.findall(rb"/Type\s*/Pages[^>]*?/Count (\d+)", write_pdf(report)) == [b"2"]
        assert '<td class="plot">' not in write_html(report)


def test_a_character_without_a_font_is_shown_by_its_name_and_the_standard_is_kept() -> None:
    assert b"pdfuaid" in write_pdf(document("\U0001faa9 東京"))


@pytest.mark.parametrize("name", ["https://models.example.org/credit/v3/score?region=north-east&limit=20", "ada.lovelace@risk.example.org"])
def test_names_and_addresses_are_copied_and_found_as_they_are(name: str) -> None:
    pages = page_texts(write_pdf(document(f"Asked at {name} by Ada")))

    assert not any(character in "".join(pages) for character in "\u200b\u200c\u00ad\u2060\ufeff")
    assert all(name in page for page in pages)
    # In a narrow cell it breaks, and nothing is added.
    assert "".join(pages).replace("\n", "").count(name) >= 45


def test_a_pdf_carries_its_attachments() -> None:
    attached = Attachment(name="trace.csv", media_type="text/csv", description="Every figure", content="a,b\r\nЖ,2\r\n".encode())
    pdf = write_pdf(replace(document("one"), attachments=(attached,)))

    assert b"/EmbeddedFile" in pdf
    assert b"trace.csv" in pdf
    assert b"pdfuaid" in pdf


def test_templates_are_in_the_folder_that_is_packed() -> None:
    assert {file.name for file in (REPOSITORY / "app" / "reports" / "templates").iterdir()} == {"report.html", "report.typ"}
