"""Report on the selections of a file, for people."""

from datetime import datetime

from .. import VERSION
from ..library.selections import SelectionReport
from ..statistics.selections.local_law_144 import AuditSheet, AuditTable, list_without_people
from ..statistics.selections.selection_presets import NOTICE, SheetName
from .document import Block, Bullets, Document, Made, Paragraph, ReportTable, Section, count, number, share
from .regulator.chapters import SHEETS, describe_best, describe_left_out, list_empty_rows


def selection_document(report: SelectionReport, file: str, *, made_at: datetime) -> Document:
    """`file` is the name of the counted file."""
    median = report.selection.answers.median
    basis = "a favourable decision counts as selected"
    if report.score is not None:
        basis = (
            f"everybody with a score above {median:,.10g}, the median of all scores, counts as "
            "selected; a tie does not"
        )
    lines = [
        f"{records.attribute}: {line}" if records.attribute else line
        for records in report.records
        for line in records.lines
    ]
    sections = [
        Section(
            "What was counted",
            (Bullets((f"File: {file}; {basis}.", *lines)), Paragraph(NOTICE, is_caution=True)),
        )
    ]
    for sheet in report.sheets:
        if isinstance(sheet, AuditSheet):
            tables = tuple(
                _audit_table(table, sheet, is_score=report.score is not None) for table in sheet.tables
            )
            sections.append(Section("Impact ratios", tables))
    for name, members in report.sheets_json().items():
        if name is not SheetName.LL144:
            chapter = SHEETS[name.value]
            sections.append(
                Section(chapter.title, (*_name_references(report, name), *chapter.blocks(dict(members))))
            )
    looks_at = (
        f"The rule looks at {' and '.join(report.preset.attributes)}; this"
        if report.preset.attributes
        else "This"
    )
    introduction = (
        f"{looks_at} report looks at "
        f"{', '.join(report.attributes) or 'probabilities of categories'}. It does not have:"
    )
    sections.append(
        Section("What is missing for the rule", (Paragraph(introduction), Bullets(report.preset.not_in_file)))
    )
    return Document(
        title=report.preset.title,
        subtitle=f"{report.preset.source} ({report.preset.state})",
        made=Made(at=made_at, by=f"evenhand {VERSION}"),
        annex=sections,
    )


def _name_references(report: SelectionReport, name: SheetName) -> tuple[Block, ...]:
    names = [attribute for attribute in report.attributes if attribute not in report.chosen]
    if not names or name not in {SheetName.LENDING, SheetName.CONTROLS}:
        return ()
    text = (
        f"No reference of {', '.join(names)} was chosen: it is the category with the highest rate among "
        "those with at least 2 % of the"
    )
    return (Paragraph(f"{text} people."),)


def _audit_table(audit: AuditTable, sheet: AuditSheet, *, is_score: bool) -> ReportTable:
    rate = "Scoring rate" if is_score else "Selection rate"
    rows: tuple[tuple[str, ...], ...] = tuple(
        (
            row.category.label,
            count(row.category.applicants),
            count(row.category.selected),
            share(row.category.rate),
            "left out" if row.is_excluded else number(row.impact_ratio),
        )
        for row in audit.rows
    )
    rows += list_empty_rows(list_without_people(audit.table, {}))
    most_selected = None if audit.most_selected is None else audit.most_selected.label
    note = describe_best(
        most_selected, [row.impact_ratio for row in audit.rows], least_share=sheet.least_share
    )
    if any(row.is_excluded for row in audit.rows):
        note += f" {describe_left_out(sheet.assessed, least_share=sheet.least_share)}"
    columns = (
        audit.table.comparison.label,
        "People",
        "Above the median" if is_score else "Selected",
        rate,
        "Impact ratio",
    )
    return ReportTable(f"By {audit.table.comparison.label}", columns, rows, note.strip())
