from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.charts.series import series_chart
from app.reports.document import Bullets, Document, Figure, Made, Paragraph, Section, Table
from app.reports.html import as_html
from app.reports.pdf import as_pdf
from tests.builders.chart_data import HOSTILE, point, series

MADE = Made(at=datetime(2026, 3, 2, 12, tzinfo=UTC), by="user:Zoë")
REPOSITORY = Path(__file__).parents[3]


def document(name: str) -> Document:
    """A report in which everything bears that name."""
    chart = Figure(name, lambda theme: series_chart(series((name, [point(0, 0.5), point(1, 0.6)]), attribute=name), theme=theme))
    table = Table(name, (name, name), ((name, name), (name, name)), name)
    wide = Table(name, (name,) * 9, ((name,) * 9,), None)
    return Document(
        title=name or "report",
        subtitle=name,
        made=MADE,
        sections=(Section(name, (Paragraph(name), Paragraph(name, is_caution=True), Bullets((name,)), table, wide, chart, chart)),),
    )


@pytest.mark.parametrize(
    "name", [*HOSTILE, '#eval("1")', '#read("/etc/passwd")', "@label <l> *b* `r` // c", "\\u{0}", "]", "${{", "{{ 7*7 }}"]
)
def test_no_text_is_taken_for_markup_or_code(name: str) -> None:
    report = document(name)

    html, pdf = as_html(report), as_pdf(report)

    assert "<script" not in html
    assert html.count("<svg ") == 2
    assert pdf.startswith(b"%PDF-1.")
    assert b"/StructTreeRoot" in pdf


def test_a_report_keeps_to_the_standard_for_accessible_pdf_where_its_characters_have_a_font() -> None:
    assert b"pdfuaid" in as_pdf(document("Zoë's model: sex × age, 0.8 → 0.9"))


def test_the_same_document_gives_the_same_files() -> None:
    assert as_html(document("one")) == as_html(document("one"))
    assert as_pdf(document("one")) == as_pdf(document("one"))


def test_charts_in_one_file_do_not_share_ids() -> None:
    html = as_html(document("one"))

    assert 'id="f1-clip1"' in html
    assert 'id="f2-clip1"' in html
    assert 'id="clip' not in html


def test_templates_are_in_the_folder_that_is_packed() -> None:
    assert {file.name for file in (REPOSITORY / "app" / "reports" / "templates").iterdir()} == {"report.html", "report.typ"}
