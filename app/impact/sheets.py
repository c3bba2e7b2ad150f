"""Sheets of a report on selections as JSON and as rows of a table: the same figures in both, without rounding."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from .categories import Category
from .four_fifths import ImpactRow, ImpactTable
from .local_law_144 import AuditSheet
from .presets import SheetName

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ImpactSheet:
    """Tables of the attributes and of their intersection. `unknown` counts assessed people who are missing in at least one of them."""

    tables: tuple[ImpactTable, ...]
    unknown: int


Sheet: TypeAlias = AuditSheet | ImpactSheet


def name_of(sheet: Sheet) -> SheetName:
    """Returns the name of the sheet."""
    return SheetName.LL144 if isinstance(sheet, AuditSheet) else SheetName.ADVERSE_IMPACT


def as_json(sheet: Sheet) -> dict[str, Any]:
    """Returns the sheet as JSON: its tables, and how many people are in an unknown category."""
    if isinstance(sheet, AuditSheet):
        audits = [
            {
                "attribute": one.table.comparison.label,
                "rows": [_counts(row.category) | {"impact_ratio": row.impact_ratio, "excluded": row.is_excluded} for row in one.rows],
            }
            for one in sheet.tables
        ]
        return {"tables": audits, "unknown": sheet.unknown}
    tables = [
        {
            "attribute": one.table.comparison.label,
            "compared_with": None if one.compared_with is None else one.compared_with.label,
            "rows": [_impact_row(row) for row in one.rows],
        }
        for one in sheet.tables
    ]
    return {"tables": tables, "unknown": sheet.unknown}


def as_rows(sheet: Sheet) -> Iterator[Row]:
    """Yields the rows of all tables, each with the name of the sheet and of the attribute; the last says how many are unknown."""
    for table in as_json(sheet)["tables"]:
        for row in table["rows"]:
            flat = {name: " ".join(value) if isinstance(value, list) else value for name, value in row.items()}
            yield {"sheet": name_of(sheet).value, "attribute": table["attribute"]} | flat
    yield {"sheet": name_of(sheet).value, "attribute": "", "category": "unknown", "applicants": sheet.unknown}


def _counts(one: Category) -> Row:
    return {"category": one.label, "applicants": one.applicants, "selected": one.selected, "rate": one.rate}


def _impact_row(row: ImpactRow) -> Row:
    odds = row.odds_ratio
    return _counts(row.category) | {
        "impact_ratio": row.ratio,
        "impact_ratio_low": None if row.interval is None else row.interval.lower,
        "impact_ratio_high": None if row.interval is None else row.interval.upper,
        "z": row.z,
        "fisher_p": row.fisher_p,
        "odds_ratio": None if odds is None else odds.value,
        "odds_ratio_low": None if odds is None else odds.lower,
        "odds_ratio_high": None if odds is None else odds.upper,
        "odds_ratio_reason": None if odds is None else odds.reason,
        "shortfall_to_four_fifths": row.shortfall_to_four_fifths,
        "shortfall_to_parity": row.shortfall_to_parity,
        "flags": [str(flag) for flag in row.flags],
    }
