"""Presets of a regulator's report as bodies."""

from pydantic import Field

from ...reports.regulator.presets import Missing, ReportPreset, SheetPreset
from ...reports.regulator.wanted import PeriodSheet
from .base import Out


class MissingPartOut(Out):
    """One thing that a report lacks."""

    what: str
    next_step: str = Field(description="What to do about it.")
    empties_sheet: bool = Field(description="Whether a sheet has no figures without it.")

    @classmethod
    def of(cls, one: Missing) -> "MissingPartOut":
        return cls(what=one.what, next_step=one.next_step, empties_sheet=one.empties_sheet)


class ReportPresetOut(Out):
    """One rule: its sheets, what the deployment lacks for them, and what must accompany the report from elsewhere."""

    preset: ReportPreset
    title: str
    sheets: list[PeriodSheet]
    missing: list[MissingPartOut]
    elsewhere: list[str] = Field(description="What the rule also asks for, and no log holds.")

    @classmethod
    def of(cls, name: ReportPreset, preset: SheetPreset, missing: list[Missing]) -> "ReportPresetOut":
        parts = [MissingPartOut.of(one) for one in missing]
        return cls(preset=name, title=preset.title, sheets=list(preset.sheets), missing=parts, elsewhere=list(preset.elsewhere))


class ReportPresetsOut(Out):
    """All presets."""

    presets: list[ReportPresetOut]
    notice: str
