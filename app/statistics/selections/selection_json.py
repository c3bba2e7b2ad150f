"""Sheets of a report on selections as JSON, without rounding."""

from typing import Any, TypeAlias

from ...base.frozen import frozen
from .four_fifths import ImpactRow, ImpactTable
from .local_law_144 import AuditSheet
from .selection_categories import Category, CategoryTable
from .selection_presets import SheetName

Row: TypeAlias = dict[str, Any]


@frozen
class ImpactSheet:
    """Tables of the attributes and their intersection. `unknown` people miss at least one of them."""

    tables: tuple[ImpactTable, ...]
    unknown: int


Sheet: TypeAlias = AuditSheet | ImpactSheet


def name_sheet(sheet: Sheet) -> SheetName:
    return SheetName.LL144 if isinstance(sheet, AuditSheet) else SheetName.ADVERSE_IMPACT


def as_json(sheet: Sheet) -> dict[str, Any]:
    if isinstance(sheet, AuditSheet):
        audits = [
            {
                "attribute": audit_table.table.comparison.label,
                "rows": [
                    _counts(row.category) | {"impact_ratio": row.impact_ratio, "excluded": row.is_excluded} for row in audit_table.rows
                ],
            }
            for audit_table in sheet.tables
        ]
        return {"tables": audits, "unknown": sheet.unknown}
    tables = [
        {
            "attribute": impact_table.table.comparison.label,
            "unknown": impact_table.table.unknown,
            "compared_with": None if impact_table.compared_with is None else impact_table.compared_with.label,
            "rows": [_impact_row(row) for row in impact_table.rows],
        }
        for impact_table in sheet.tables
    ]
    return {"tables": tables, "unknown": sheet.unknown, "reason": None}


def compare_with_reference(written: dict[str, Any], table: CategoryTable, reference: Category | None) -> None:
    """Adds to each row the ratio to a chosen reference; None without one, or of the reference."""
    written["reference"] = None if reference is None else reference.label
    for category, row in zip(table.categories, written["rows"], strict=True):
        against = None if reference is None else ImpactRow(category, reference)
        ends = None if against is None else against.interval
        row["ratio_to_reference"] = None if against is None else against.ratio
        row["ratio_to_reference_low"] = None if ends is None else ends.lower
        row["ratio_to_reference_high"] = None if ends is None else ends.upper


def _counts(category: Category) -> Row:
    return {"category": category.label, "applicants": category.applicants, "selected": category.selected, "rate": category.rate}


def _impact_row(row: ImpactRow) -> Row:
    odds = row.odds_ratio
    return _counts(row.category) | {
        "impact_ratio": row.ratio,
        "impact_ratio_low": None if row.interval is None else row.interval.lower,
        "impact_ratio_high": None if row.interval is None else row.interval.upper,
        "impact_ratio_reason": row.ratio_reason,
        "z": row.z,
        "z_reason": row.z_reason,
        "fisher_p": row.fisher_p,
        "p_value": row.p_value,
        "corrected_p": row.corrected_p,
        "odds_ratio": None if odds is None else odds.value,
        "odds_ratio_low": None if odds is None else odds.lower,
        "odds_ratio_high": None if odds is None else odds.upper,
        "odds_ratio_reason": None if odds is None else odds.reason,
        "shortfall_to_four_fifths": row.shortfall_to_four_fifths,
        "shortfall_to_parity": row.shortfall_to_parity,
        "flags": [str(flag) for flag in row.flags],
    }
