"""Sheets of a report on selections as JSON, without rounding."""

from ...base.values import frozen
from .category_people import Category, CategoryTable, Json
from .four_fifths import AuditSheet, ImpactRow, ImpactTable, OddsRatio


@frozen
class ImpactSheet:
    tables: tuple[ImpactTable, ...]
    unknown: int


Sheet = AuditSheet | ImpactSheet


def as_json(sheet: Sheet) -> Json:
    if isinstance(sheet, AuditSheet):
        audits = [
            {
                "attribute": audit_table.table.comparison.label,
                "rows": [
                    row.category.to_json() | {"impact_ratio": row.impact_ratio, "excluded": row.is_excluded}
                    for row in audit_table.rows
                ],
            }
            for audit_table in sheet.tables
        ]
        return {"tables": audits, "unknown": sheet.unknown}
    tables = [
        {
            "attribute": impact_table.table.comparison.label,
            "unknown": impact_table.table.unknown,
            "compared_with": impact_table.compared_with.label if impact_table.compared_with else None,
            "rows": [_impact_row(row) for row in impact_table.rows],
        }
        for impact_table in sheet.tables
    ]
    return {"tables": tables, "unknown": sheet.unknown, "reason": None}


def compare_with_reference(written: Json, table: CategoryTable, reference: Category | None) -> None:
    """Adds to each row the ratio to it; None without one, or of the reference."""
    written["reference"] = reference.label if reference else None
    for category, row in zip(table.categories, written["rows"], strict=True):
        against = ImpactRow(category, reference)
        low, high = against.ends
        row |= {
            "ratio_to_reference": against.ratio,
            "ratio_to_reference_low": low,
            "ratio_to_reference_high": high,
        }


def _impact_row(row: ImpactRow) -> Json:
    odds, (low, high) = row.odds_ratio or OddsRatio(), row.ends
    return row.category.to_json() | {
        "impact_ratio": row.ratio,
        "impact_ratio_low": low,
        "impact_ratio_high": high,
        "impact_ratio_reason": row.ratio_reason,
        "z": row.z,
        "z_reason": row.z_reason,
        "fisher_p": row.fisher_p,
        "p_value": row.p_value,
        "corrected_p": row.corrected_p,
        "odds_ratio": odds.value,
        "odds_ratio_low": odds.lower,
        "odds_ratio_high": odds.upper,
        "odds_ratio_reason": odds.reason,
        "shortfall_to_four_fifths": row.shortfall_to_four_fifths,
        "shortfall_to_parity": row.shortfall_to_parity,
        "flags": [str(flag) for flag in row.flags],
    }
