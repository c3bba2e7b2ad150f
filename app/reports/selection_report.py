"""Report on the selections of a file, for people."""

from datetime import datetime

from .. import VERSION
from ..library.selections import SelectionReport
from ..statistics.selections.four_fifths import AuditSheet, list_empty_categories
from ..statistics.selections.selection_presets import NOTICE, SheetName
from .document import Block, Bullets, Document, Made, Paragraph, Section, caution
from .regulator.people_sheets import tabulate_audit
from .regulator.sheets import PeriodSheet


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
    sections = [Section("What was counted", (Bullets((f"File: {file}; {basis}.", *lines)), caution(NOTICE)))]
    sheets = report.sheets_json()
    for audit in report.sheets:
        if isinstance(audit, AuditSheet):
            written = sheets[SheetName.LL144]["tables"]
            tables = []
            for audited, table in zip(audit.tables, written, strict=True):
                best = audited.most_selected
                members = {
                    **table,
                    "most_selected": best and best.label,
                    "without_people": list_empty_categories(audited.table, {}),
                }
                tables.append(
                    tabulate_audit(
                        members, audit.assessed, audit.least_share, is_scoring=report.score is not None
                    )
                )
            sections.append(Section("Impact ratios", tables))
    for name, content in sheets.items():
        if name is not SheetName.LL144:
            sections.append(
                PeriodSheet[name.name].row.chapter(dict(content), *_name_references(report, name))
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
