"""Causes of a gap: each row of the golden values, and laws of the rules."""

import json
from typing import Any

import msgspec

from app.evidence.causes import CauseFigures, GapCause, recognise_causes
from tests.golden import golden


def golden_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(golden("A9_accountability.json").read_text(encoding="utf-8"))["causes"]
    return rows


def figures_of(inputs: dict[str, Any]) -> CauseFigures:
    return msgspec.convert(inputs, CauseFigures)


def test_each_golden_row_has_its_causes() -> None:
    rows = golden_rows()
    found = {row["case"]: [cause.value for cause in recognise_causes(figures_of(row["inputs"]))] for row in rows}

    assert found == {row["case"]: row["shown"] for row in rows}
    assert {cause for causes in found.values() for cause in causes} == set(GapCause)
