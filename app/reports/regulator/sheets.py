"""Sheets of a report on a period: a row each."""

from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from typing import Self

from ...base.frozen import frozen
from ..document import Block, Json, Paragraph, Section
from .check_sheets import (
    alert_blocks,
    alert_sheet,
    alternative_blocks,
    alternative_sheet,
    evidence_blocks,
    evidence_sheet,
    flip_blocks,
    flip_sheet,
)
from .clauses import ToolKind
from .indirect_bias import indirect_blocks, indirect_sheet
from .people_sheets import (
    audit_blocks,
    audit_sheet,
    bounds_blocks,
    controls_blocks,
    impact_blocks,
    impact_sheet,
    lending_blocks,
    make_bounds,
    make_controls,
    make_lending,
)
from .sheet_parts import SheetParts


@frozen
class SheetRow:
    """A sheet: `make` gives its data, unrounded, and `write` the chapter of data that has no `reason`.

    `name` is for the clause map. A sheet that `counts_people` has no tables where records are of different
    shares of the traffic. `scored` are the kinds of tools whose scores it needs.
    """

    title: str
    name: str
    make: Callable[[SheetParts], Json]
    write: Callable[[Json], Iterator[Block]]
    absent: str = "There are no figures"
    is_caution: bool = False
    counts_people: bool = False
    scored: Collection[ToolKind] = ()

    def content(self, parts: SheetParts) -> Json:
        if self.counts_people and parts.no_counts is not None:
            return {"tables": [], "reason": parts.no_counts}
        return self.make(parts)

    def chapter(self, sheet: Json, *notes: Block) -> Section:
        if sheet.get("reason"):
            absent = Paragraph(f"{self.absent}: {sheet['reason']}.", is_caution=self.is_caution)
            return Section(self.title, (*notes, absent))
        return Section(self.title, (*notes, *self.write(sheet)))


class PeriodSheet(StrEnum):
    """Sheets of a report on a period, in the order of its chapters: hazards, measures, evaluation,
    treatment.
    """

    ADVERSE_IMPACT = (
        "adverse_impact",
        SheetRow(
            "Adverse impact",
            "adverse impact",
            impact_sheet,
            impact_blocks,
            is_caution=True,
            counts_people=True,
        ),
    )
    LL144 = (
        "ll144",
        SheetRow(
            "Local Law 144: impact ratios",
            "impact ratios",
            audit_sheet,
            audit_blocks,
            absent="There is no sheet",
            is_caution=True,
            counts_people=True,
            scored=(ToolKind.SCORING,),
        ),
    )
    LENDING = (
        "lending",
        SheetRow(
            "Lending: rates and scores next to the reference",
            "lending",
            make_lending,
            lending_blocks,
            is_caution=True,
            counts_people=True,
            scored=tuple(ToolKind),
        ),
    )
    PROBABILISTIC = (
        "probabilistic",
        SheetRow(
            "Probabilistic categories",
            "probabilistic categories",
            make_bounds,
            bounds_blocks,
            counts_people=True,
        ),
    )
    CONTROLS = (
        "controls",
        SheetRow("Given the controls", "controls", make_controls, controls_blocks, counts_people=True),
    )
    INDIRECT_BIAS = (
        "indirect_bias",
        SheetRow(
            "Indirect bias: columns that reveal an attribute",
            "indirect bias",
            indirect_sheet,
            indirect_blocks,
            is_caution=True,
        ),
    )
    EVIDENCE = ("evidence", SheetRow("Evidence over time", "evidence", evidence_sheet, evidence_blocks))
    ALERTS = ("alerts", SheetRow("Alerts, and who acknowledged what", "alerts", alert_sheet, alert_blocks))
    FLIPS = "flips", SheetRow("Counterfactual flips", "flips", flip_sheet, flip_blocks)
    ALTERNATIVE = (
        "alternative",
        SheetRow(
            "Less discriminatory alternative: before and after mitigation",
            "less discriminatory alternative",
            alternative_sheet,
            alternative_blocks,
        ),
    )

    row: SheetRow

    def __new__(cls, name: str, row: SheetRow) -> Self:
        sheet = str.__new__(cls, name)
        sheet._value_ = name
        sheet.row = row
        return sheet
