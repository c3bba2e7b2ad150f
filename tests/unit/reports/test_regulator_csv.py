"""The CSV of a regulator's report, whose categories are named by the data."""

import csv
import io

import pytest

from app.reports.regulator.regulator_report import write_csv


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-x", "@sum", "\t=1", "\r=1"])
def test_a_category_is_never_a_formula_and_numbers_stay_numbers(name: str) -> None:
    row = {"category": name, "applicants": 3, "z": -1.5}
    members = {"kind": "k", "format": 1, "deployment": {"id": "d"}, "period": {"start": "s", "end": "e"}, "seal": "s", "chain_head": "h"}
    report = members | {"chain": [], "population": {}, "sheets": {"adverse_impact": {"tables": [{"attribute": name, "rows": [row]}]}}}

    _, *found = csv.reader(io.StringIO(write_csv(report).decode(), newline=""))
    rows = [row for row in found if row[0] == "adverse_impact"]

    assert rows == [
        ["adverse_impact", f"'{name}", f"'{name}", "applicants", "3"],
        ["adverse_impact", f"'{name}", f"'{name}", "z", "-1.5"],
    ]
