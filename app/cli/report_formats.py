"""Formats of reports on selections."""

import csv
import io
import json
from dataclasses import asdict
from enum import StrEnum

from ..clock import utc_now
from ..domain.spreadsheets import harmless
from ..domain.values import number_of
from ..frames.selection_report import PROBABILISTIC, SelectionReport
from ..impact.sheets import as_rows


class Format(StrEnum):
    """Formats of a report."""

    HTML = "html"
    PDF = "pdf"
    CSV = "csv"
    JSON = "json"


def render_report(report: SelectionReport, file: str, form: Format) -> bytes:
    """Returns the report in that format. `file` is the name of the file that was counted."""
    if form is Format.JSON:
        return (json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    if form is Format.CSV:
        return render_csv(report).encode()
    # Imported here: the writers of HTML and PDF take a second to import.
    from ..reports.html import as_html  # noqa: PLC0415 - above
    from ..reports.pdf import as_pdf  # noqa: PLC0415 - above
    from ..reports.selections import selection_document  # noqa: PLC0415 - above

    document = selection_document(report, file, made_at=utc_now().replace(microsecond=0))
    return as_pdf(document) if form is Format.PDF else as_html(document).encode()


def render_csv(report: SelectionReport) -> str:
    """Returns the rows of all sheets as one CSV with a header; what a sheet does not have is empty."""
    rows = [row for sheet in report.sheets for row in as_rows(sheet)]
    rows += [{"sheet": PROBABILISTIC, "attribute": table.attribute} | asdict(row) for table in report.weighted for row in table.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    written = io.StringIO()
    writer = csv.DictWriter(written, names)
    writer.writeheader()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, bool):
                row[name] = "true" if value else "false"
            # Names of categories come from the file, and a spreadsheet must not run them.
            elif isinstance(value, str) and number_of(value) is None:
                row[name] = harmless(value)
        writer.writerow(row)
    return written.getvalue()
