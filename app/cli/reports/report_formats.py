"""Formats of reports on selections."""

import csv
import io
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ...base.clock import utc_now
from ...base.spreadsheets import harmless
from ...base.strict_json import JsonObject
from ...base.values import read_number
from ...library.selections import SelectionReport
from ...statistics.selections.selection_presets import SheetName


class Format(StrEnum):
    HTML = "html"
    PDF = "pdf"
    CSV = "csv"
    JSON = "json"


_COUNTS = ("sheet", "attribute", "category", "applicants", "selected", "rate")
COLUMNS = {
    SheetName.LL144: (*_COUNTS, "impact_ratio", "excluded"),
    SheetName.ADVERSE_IMPACT: (*_COUNTS, "impact_ratio"),
    SheetName.LENDING: (*_COUNTS, "air"),
    SheetName.PROBABILISTIC: _COUNTS[:3],
    SheetName.CONTROLS: _COUNTS[:3],
}


def render_report(report: SelectionReport, file: str, form: Format) -> bytes:
    if form is Format.JSON:
        return (json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    if form is Format.CSV:
        return render_csv(report).encode()
    # Imported here: the writers of HTML and PDF take a second to import.
    from ...reports.document import as_pdf  # noqa: PLC0415 - above
    from ...reports.html_file import as_html  # noqa: PLC0415 - above
    from ...reports.selection_report import selection_document  # noqa: PLC0415 - above

    document = selection_document(report, file, made_at=utc_now().replace(microsecond=0))
    return as_pdf(document) if form is Format.PDF else as_html(document).encode()


def render_csv(report: SelectionReport) -> str:
    names = dict[str, None]()
    rows = list[JsonObject]()
    for name, sheet in report.sheets_json().items():
        names |= dict.fromkeys(COLUMNS[name])
        for table in sheet["tables"]:
            rows += [
                {"sheet": name.value, "attribute": table["attribute"]} | _flatten(row)
                for row in table["rows"]
            ]
    for counted in report.records:
        counts = {"counted": counted.counted} | {
            reason["text"]: reason["count"] for reason in counted.to_json()["left_out"]
        }
        rows += [
            {"sheet": "records", "attribute": counted.attribute, "category": text, "applicants": count}
            for text, count in counts.items()
        ]
    names |= dict.fromkeys(name for row in rows for name in row)
    written = io.StringIO()
    writer = csv.DictWriter(written, list(names))
    writer.writeheader()
    for row in rows:
        for column, value in row.items():
            if isinstance(value, bool):
                row[column] = "true" if value else "false"
            # Names of categories come from the file, and a spreadsheet must not run them.
            elif isinstance(value, str) and read_number(value) is None:
                row[column] = harmless(value)
        writer.writerow(row)
    return written.getvalue()


def _flatten(row: Mapping[str, Any], before: str = "") -> JsonObject:
    flat = JsonObject()
    for name, value in row.items():
        path = f"{before}.{name}" if before else name
        if isinstance(value, Mapping):
            flat |= _flatten(value, path)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for element in value:
                flat |= _flatten(
                    {key: cell for key, cell in element.items() if key != "quantile"},
                    f"{path}.{element['quantile']:g}",
                )
        else:
            flat[path] = " ".join(value) if isinstance(value, list) else value
    return flat
