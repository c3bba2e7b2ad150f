"""`evenhand report` of a CSV file, in any format; of a deployment it calls `deployment_report`."""

import csv
import io
import json
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Exit, Option, Typer

from ...base.clock import utc_now
from ...base.errors import InvalidInput
from ...base.spreadsheets import write_cell
from ...base.strict_json import JsonObject
from ...base.values import read_number
from ...library.selections import SelectionReport, report_selections
from ...reports.regulator.clauses import ToolKind
from ...statistics.selections.category_people import CategoryMapping, parse_mappings
from ...statistics.selections.four_fifths import MIN_SHARE_OF_PEOPLE
from ...statistics.selections.selection_presets import ReportPreset, SheetName
from ..library.metrics_files import (
    CellDeclarations,
    Encoding,
    Favourable,
    MissingTexts,
    Numbers,
    Text,
    Texts,
    Unfavourable,
    check_target,
    find_twin_values,
    merge_listings,
    parse_side,
    parse_values,
    print_notes,
    read_cells,
    refuse_errors,
    write_bytes,
)


class ReportFormat(StrEnum):
    """ReportFormat of the report on a file or a deployment."""

    HTML = "html"
    PDF = "pdf"
    CSV = "csv"
    JSON = "json"


_COUNT_COLUMNS = ("sheet", "attribute", "category", "applicants", "selected", "rate")
SHEET_COLUMNS = {
    SheetName.LL144: (*_COUNT_COLUMNS, "impact_ratio", "excluded"),
    SheetName.ADVERSE_IMPACT: (*_COUNT_COLUMNS, "impact_ratio"),
    SheetName.LENDING: (*_COUNT_COLUMNS, "air"),
    SheetName.PROBABILISTIC: _COUNT_COLUMNS[:3],
    SheetName.CONTROLS: _COUNT_COLUMNS[:3],
}


def render_report(report: SelectionReport, file: str, form: ReportFormat) -> bytes:
    if form is ReportFormat.JSON:
        return (json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    if form is ReportFormat.CSV:
        return render_csv(report).encode()
    # Imported here: the writers of HTML and PDF take a second to import.
    from ...reports.document import write_pdf  # noqa: PLC0415 - above
    from ...reports.html_file import write_html  # noqa: PLC0415 - above
    from ...reports.selection_report import write_selection_report  # noqa: PLC0415 - above

    document = write_selection_report(report, file, made_at=utc_now().replace(microsecond=0))
    return write_pdf(document) if form is ReportFormat.PDF else write_html(document).encode()


def render_csv(report: SelectionReport) -> str:
    names = dict[str, None]()
    rows = list[JsonObject]()
    for name, sheet in report.sheets_json().items():
        names |= dict.fromkeys(SHEET_COLUMNS[name])
        for table in sheet["tables"]:
            rows += [
                {"sheet": name.value, "attribute": table["attribute"]} | _flatten(row)
                for row in table["rows"]
            ]
    for records in report.records:
        counts = {"counted": records.counted} | {
            reason["text"]: reason["count"] for reason in records.to_json()["left_out"]
        }
        rows += [
            {"sheet": "records", "attribute": records.attribute, "category": text, "applicants": count}
            for text, count in counts.items()
        ]
    names |= dict.fromkeys(name for row in rows for name in row)
    output = io.StringIO()
    writer = csv.DictWriter(output, list(names))
    writer.writeheader()
    for row in rows:
        for column, value in row.items():
            # Names of categories come from the file, and a spreadsheet must not run them.
            if not isinstance(value, str) or read_number(value) is None:
                row[column] = write_cell(value)
        writer.writerow(row)
    return output.getvalue()


def _flatten(row: Mapping[str, Any], path_before: str = "") -> JsonObject:
    flat = JsonObject()
    for name, value in row.items():
        path = f"{path_before}.{name}" if path_before else name
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


command = Typer(add_completion=False)

CsvFile = Annotated[
    Path | None,
    Option(
        "--from-csv",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        readable=True,
        help="A CSV file with a header.",
    ),
]
CategoriesFile = Annotated[
    Path | None,
    Option(
        exists=True,
        dir_okay=False,
        readable=True,
        help="JSON file that maps values, or weights, to categories.",
    ),
]
PRESET_HELP = "Rule whose sheets are made: ll144, ugesp, lending, eu-ai-act or insurance-co."
SCORE_HELP = (
    "Column of the scores of a tool that scores; above the median is selected. Of lending and "
    "insurance-co also next to --prediction."
)
REFERENCE_HELP = (
    "Category of a file that others are compared with; with several attributes, NAME=CATEGORY. By default "
    "the one with the highest rate. Repeatable."
)


@command.callback(invoke_without_command=True)
def report(
    context: Context,
    *,
    file: CsvFile = None,
    deployment: Annotated[
        Text, Option(help="Id of a deployment whose log is reported on, instead of a file.")
    ] = None,
    attribute: Annotated[
        Texts,
        Option(
            help="Column of categories. Of two or three, their intersection has a table, too. Of a "
            "deployment: all watched."
        ),
    ] = None,
    preset: Annotated[Text, Option(help=PRESET_HELP)] = None,
    start: Annotated[
        Text, Option("--from", help="Start of the period of a deployment, such as 2026-01-01T00:00Z.")
    ] = None,
    end: Annotated[Text, Option("--to", help="End of the period, exclusive.")] = None,
    sheets: Annotated[
        Texts, Option(help="Sheet of a deployment's report, or all. Repeatable; by default of the preset.")
    ] = None,
    control: Annotated[Texts, Option(help="Column that decisions may depend on. Repeatable.")] = None,
    reference: Annotated[Texts, Option(help=REFERENCE_HELP)] = None,
    tool: Annotated[
        ToolKind, Option(help="Kind of tool, for the sheet of ll144 of a deployment.")
    ] = ToolKind.SELECTING,
    prediction: Annotated[Text, Option(help="Column of the decisions of a tool that selects.")] = None,
    score: Annotated[Text, Option(help=SCORE_HELP)] = None,
    favourable: Favourable = None,
    unfavourable: Unfavourable = None,
    number: Numbers = None,
    missing: MissingTexts = None,
    encoding: Encoding = "utf-8",
    least_share: Annotated[
        float, Option(help="Categories with a smaller share are left out of the ratios of ll144.")
    ] = MIN_SHARE_OF_PEOPLE,
    categories: CategoriesFile = None,
    form: Annotated[ReportFormat, Option("--format", help="ReportFormat of the report.")] = ReportFormat.HTML,
    output: Annotated[Path | None, Option(help="File to write to; by default the report is printed.")] = None,
) -> None:
    """Make the tables that a rule on selections asks for. Empty cells of an attribute are an unknown
    category. Not legal advice.
    """
    if context.invoked_subcommand is not None:
        return
    with refuse_errors():
        if (file is None) == (deployment is None):
            raise InvalidInput("from_csv", "must name a file, or --deployment a deployment; one of the two")
        if not output and form is ReportFormat.PDF and sys.stdout.isatty():
            raise InvalidInput("output", "must name a file for a PDF, which a terminal cannot show")
        if output and file:
            check_target(output, file)
        mappings = read_mappings(categories) if categories else ()
        if deployment is not None:
            # Imported here: a report of a file needs no database.
            from ...reports.regulator.sheets import SheetSelection, choose_sheets  # noqa: PLC0415 - above
            from .deployment_report import read_period, report_deployment  # noqa: PLC0415 - above

            selection = SheetSelection(
                sheets=choose_sheets(sheets or (), preset),
                attributes=tuple(attribute or ()),
                controls=tuple(control or ()),
                tool=tool,
                preset=None if preset is None else ReportPreset(preset),
                categories=mappings,
            )
            content = report_deployment(deployment, read_period(start, end), selection, form)
        elif file:
            if preset not in list(ReportPreset):
                problem = "it is left out" if preset is None else f"found {preset!r:.100}"
                raise InvalidInput("preset", f"must be one of {', '.join(ReportPreset)}; {problem}")
            attribute = attribute or []
            control = control or []
            favourable = favourable or ["1"]
            weights = [name for mapping in mappings for name in mapping.weights]
            listed_values = merge_listings({prediction: [*favourable, *(unfavourable or [])]})
            frame, notes = read_cells(
                file,
                {
                    "attribute": attribute,
                    "prediction": [prediction],
                    "score": [score],
                    "control": control,
                    "categories": weights,
                },
                CellDeclarations([*(number or []), score, *weights], missing or [], listed_values, encoding),
            )
            mapped_names = [mapping.attribute for mapping in mappings]
            print_notes(
                [*notes, *find_twin_values(frame, [name for name in attribute if name not in mapped_names])]
            )
            if frame.empty:
                raise InvalidInput(
                    "file", f"{file.name} has a header and no line below it, so there is nobody to count"
                )
            titles = [mapping.attribute for mapping in mappings if mapping.weights]
            selection_report = report_selections(
                frame,
                preset=str(preset),
                attribute=attribute,
                prediction=prediction,
                score=score,
                favourable=parse_values(frame, (prediction,), favourable),
                unfavourable=parse_values(frame, (prediction,), unfavourable or []) or None,
                least_share=least_share,
                categories=mappings,
                reference=parse_side(frame, [*attribute, *titles], reference, "reference"),
                control=control,
            )
            content = render_report(selection_report, file.name, form)
        if output:
            write_bytes(content, output)
        else:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()


def read_mappings(file: Path) -> tuple[CategoryMapping, ...]:
    try:
        return parse_mappings(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("categories", f"{file.name} cannot be read: {error}") from error


@command.command()
def verify(
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="Report of a deployment, in any format.",
        ),
    ],
    offline: Annotated[  # noqa: FBT002 - typer's way to declare a flag
        bool, Option("--offline", help="Look at the file alone, without the database.")
    ] = False,
) -> None:
    """Verify a deployment's report: the file by its seal, and its checks and configuration by the
    database. Status 1 if one differs.
    """
    from .deployment_report import verify_report  # noqa: PLC0415 - a report of a file needs no database

    with refuse_errors():
        is_unchanged = verify_report(file, is_offline=offline)
    raise Exit(0 if is_unchanged else 1)
