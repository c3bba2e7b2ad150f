"""A sheet of a report on a period is a row and its functions: elsewhere only rules name one."""

import ast
from pathlib import Path

from app.reports.regulator.sheets import PeriodSheet
from tests.builders.sources import nodes_of

APP = Path(__file__).resolve().parents[2] / "app"

NAMES = {sheet.name for sheet in PeriodSheet}


def names_a_sheet(path: Path) -> bool:
    source = path.read_text(encoding="utf-8")
    return "PeriodSheet" in source and any(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "PeriodSheet" and node.attr in NAMES
        for node in nodes_of(source)
    )


def test_the_presets_of_rules_alone_name_sheets() -> None:
    naming = {path.relative_to(APP).as_posix() for path in APP.rglob("*.py") if names_a_sheet(path)}

    assert naming == {"reports/regulator/sheets.py"}


def test_a_sheet_has_functions_of_its_own_in_one_module() -> None:
    functions = [function for sheet in PeriodSheet for function in (sheet.row.make, sheet.row.write)]

    assert len(set(functions)) == 2 * len(PeriodSheet)
    assert all(sheet.row.make.__module__ == sheet.row.write.__module__ for sheet in PeriodSheet)
