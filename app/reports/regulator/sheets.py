"""Sheets of a report on a period: a row each."""

from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from typing import Self

from ...base.values import frozen
from ..document import Block, Json, Paragraph, Section
from . import check_sheets, indirect_bias, people_sheets
from .clauses import ToolKind
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
            people_sheets.impact_sheet,
            people_sheets.impact_blocks,
            is_caution=True,
            counts_people=True,
        ),
    )
    LL144 = (
        "ll144",
        SheetRow(
            "Local Law 144: impact ratios",
            "impact ratios",
            people_sheets.audit_sheet,
            people_sheets.audit_blocks,
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
            people_sheets.make_lending,
            people_sheets.lending_blocks,
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
            people_sheets.make_bounds,
            people_sheets.bounds_blocks,
            counts_people=True,
        ),
    )
    CONTROLS = (
        "controls",
        SheetRow(
            "Given the controls",
            "controls",
            people_sheets.make_controls,
            people_sheets.controls_blocks,
            counts_people=True,
        ),
    )
    INDIRECT_BIAS = (
        "indirect_bias",
        SheetRow(
            "Indirect bias: columns that reveal an attribute",
            "indirect bias",
            indirect_bias.indirect_sheet,
            indirect_bias.indirect_blocks,
            is_caution=True,
        ),
    )
    EVIDENCE = (
        "evidence",
        SheetRow("Evidence over time", "evidence", check_sheets.evidence_sheet, check_sheets.evidence_blocks),
    )
    ALERTS = (
        "alerts",
        SheetRow(
            "Alerts, and who acknowledged what", "alerts", check_sheets.alert_sheet, check_sheets.alert_blocks
        ),
    )
    FLIPS = (
        "flips",
        SheetRow("Counterfactual flips", "flips", check_sheets.flip_sheet, check_sheets.flip_blocks),
    )
    ALTERNATIVE = (
        "alternative",
        SheetRow(
            "Less discriminatory alternative: before and after mitigation",
            "less discriminatory alternative",
            check_sheets.alternative_sheet,
            check_sheets.alternative_blocks,
        ),
    )

    row: SheetRow

    def __new__(cls, name: str, row: SheetRow) -> Self:
        sheet = str.__new__(cls, name)
        sheet._value_ = name
        sheet.row = row
        return sheet
