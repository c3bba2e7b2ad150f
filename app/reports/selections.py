"""Report on the selections of a file: sheets of a preset as a document for people. Figures are those of the JSON, rounded."""

from datetime import datetime

from .. import VERSION
from ..frames.selection_report import SelectionReport
from ..impact.four_fifths import FOUR_FIFTHS, Flag, ImpactTable
from ..impact.local_law_144 import AuditSheet, AuditTable
from ..impact.presets import NOTICE
from ..impact.weighted import weighted_json
from .document import Block, Bullets, Document, Made, Paragraph, ReportTable, Section
from .numbers import ABSENT, count, interval, number, share
from .weighted_tables import weighted_tables

FLAGS = {
    Flag.BELOW_FOUR_FIFTHS: "below four fifths",
    Flag.SIGNIFICANT: "significant",
    Flag.TOO_FEW: "under 2 % of the people",
    Flag.FLIPS_WITH_TWO: "two more selections would lift it to four fifths",
}


def selection_document(report: SelectionReport, file: str, *, made_at: datetime) -> Document:
    """Returns the report as a document. `file` is the name of the file that was counted."""
    selection, attributes = report.selection, " or ".join(report.attributes)
    answer = "decision" if report.score is None else "score"
    basis = "a favourable decision counts as selected"
    if report.score is not None:
        basis = f"everybody with a score above {selection.median:,.10g}, the median of all scores, counts as selected; a tie does not"
    lines = (
        f"File: {file}. People with a {answer}: {selection.assessed:,}; {basis}.",
        f"People without a {answer}, who are in no table: {selection.not_assessed:,}.",
        f"People with an unknown category, an empty {attributes}: {selection.unknown:,}. A table leaves out those whose value it needs.",
    )
    sections = [Section("What was counted", (Bullets(lines), Paragraph(NOTICE, is_caution=True)))]
    for sheet in report.sheets:
        if isinstance(sheet, AuditSheet):
            tables = tuple(_audit_table(one, sheet.least_share, is_score=report.score is not None) for one in sheet.tables)
            sections.append(Section("Impact ratios", tables))
        else:
            sections.append(Section("Adverse impact", tuple(block for one in sheet.tables for block in _impact_tables(one))))
    if report.weighted:
        sections.append(Section("Probabilistic categories", tuple(weighted_tables(weighted_json(report.weighted)))))
    asked = f"The rule looks at {' and '.join(report.preset.attributes)}; this report, at {', '.join(report.attributes)}. It also asks for:"
    sections.append(Section("What else the rule asks for", (Paragraph(asked), Bullets(report.preset.not_in_file))))
    return Document(
        title=report.preset.title,
        subtitle=f"{report.preset.source} ({report.preset.state})",
        made=Made(at=made_at, by=f"evenhand {VERSION}"),
        annex=tuple(sections),
    )


def _audit_table(audit: AuditTable, least_share: float, *, is_score: bool) -> ReportTable:
    rate = "Scoring rate" if is_score else "Selection rate"
    rows = tuple(
        (
            row.category.label,
            count(row.category.applicants),
            count(row.category.selected),
            share(row.category.rate),
            "left out" if row.is_excluded else number(row.impact_ratio),
        )
        for row in audit.rows
    )
    note = f"People with an unknown category, who are not in this table: {audit.table.unknown:,}."
    if audit.most_selected is not None:
        note += f" Ratios are taken to {audit.most_selected.label}, the most selected of the included categories."
    if any(row.is_excluded for row in audit.rows):
        note += f" Categories with less than {100 * least_share:g} % of the people are left out of the ratios; say why."
    columns = (audit.table.comparison.label, "People", "Above the median" if is_score else "Selected", rate, "Impact ratio")
    return ReportTable(f"By {audit.table.comparison.label}", columns, rows, note)


def _impact_tables(impact: ImpactTable) -> tuple[Block, ...]:
    label = impact.table.comparison.label
    if impact.compared_with is None:
        return (Paragraph(f"{label}: every category has less than 2 % of the people, so there is none to compare with."),)
    rates = tuple(
        (
            row.category.label,
            count(row.category.applicants),
            count(row.category.selected),
            share(row.category.rate),
            number(row.ratio),
            ABSENT if row.interval is None else interval(row.interval.lower, row.interval.upper),
            ", ".join(FLAGS[flag] for flag in row.flags) or ABSENT,
        )
        for row in impact.rows
    )
    note = (
        f"Ratios are taken to {impact.compared_with.label}, the category with the highest rate among those with at least 2 % of the people;"
        f" the guidelines look at ratios below {FOUR_FIFTHS:g}. Significant: p < 0.05, by Fisher's exact test where there are few people,"
        f" else by two standard deviations. People with an unknown category, who are not in this table: {impact.table.unknown:,}."
    )
    columns = (label, "People", "Selected", "Rate", "Ratio", "95 % interval", "Remarks")
    tests = tuple(
        (
            row.category.label,
            number(row.z),
            ABSENT if row.fisher_p is None else f"{row.fisher_p:.4g}",
            ABSENT if row.odds_ratio is None else number(row.odds_ratio.value),
            ABSENT if row.odds_ratio is None or row.odds_ratio.lower is None else interval(row.odds_ratio.lower, row.odds_ratio.upper),
            ABSENT if row.shortfall_to_four_fifths is None else f"{row.shortfall_to_four_fifths:,}",
            number(row.shortfall_to_parity),
        )
        for row in impact.rows
        if row.category != impact.compared_with
    )
    heads = (label, "z", "Fisher p", "Odds ratio", "95 % interval", "Short of 0.8", "Short of equal rates")
    return (ReportTable(f"By {label}", columns, rates, note, is_last_wide=True), ReportTable(f"Tests by {label}", heads, tests))
