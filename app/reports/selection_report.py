"""Report on the selections of a file, for people."""

from datetime import datetime

from .. import VERSION
from ..library.selections import SelectionReport
from ..statistics.selections.selection_presets import NOTICE, SheetName
from .document import Block, Bullets, Document, Paragraph, ReportStamp, Section, build_caution
from .regulator.people_sheets import tabulate_audit
from .regulator.sheets import PeriodSheet


def write_selection_report(report: SelectionReport, file: str, *, made_at: datetime) -> Document:
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
        Section("What was counted", (Bullets((f"File: {file}; {basis}.", *lines)), build_caution(NOTICE)))
    ]
    if report.audit is not None:
        is_scoring = report.score is not None
        ratios = [
            tabulate_audit(
                table.describe({}), report.audit.assessed, report.audit.least_share, is_scoring=is_scoring
            )
            for table in report.audit.tables
        ]
        sections.append(Section("Impact ratios", ratios))
    for name, content in report.sheets_json().items():
        if name is not SheetName.LL144:
            sections.append(
                PeriodSheet[name.name].row.write_chapter(dict(content), *_name_references(report, name))
            )
    attributes = ", ".join(report.attributes) or "probabilities of categories"
    introduction = f"This report looks at {attributes}. It does not have:"
    if report.preset.attributes:
        introduction = (
            f"The rule looks at {' and '.join(report.preset.attributes)}; "
            f"this report looks at {attributes}. It does not have:"
        )
    sections.append(
        Section("What is missing for the rule", (Paragraph(introduction), Bullets(report.preset.not_in_file)))
    )
    return Document(
        title=report.preset.title,
        subtitle=f"{report.preset.source} ({report.preset.state})",
        made=ReportStamp(at=made_at, by=f"evenhand {VERSION}"),
        annex=sections,
    )


def _name_references(report: SelectionReport, name: SheetName) -> tuple[Block, ...]:
    without_choice = [attribute for attribute in report.attributes if attribute not in report.chosen]
    if not without_choice or name not in {SheetName.LENDING, SheetName.CONTROLS}:
        return ()
    text = (
        f"No reference of {', '.join(without_choice)} was chosen: it is the category with the highest rate "
        "among those with at least 2 % of the people."
    )
    return (Paragraph(text),)
