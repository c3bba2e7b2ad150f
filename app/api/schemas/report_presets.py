"""Presets of a regulator's report as bodies."""

from pydantic import Field

from ...reports.regulator.presets import Missing, ReportPreset, SheetPreset
from ...reports.regulator.wanted import PeriodSheet
from .base import Out


class MissingPartOut(Out):
    """One thing that a report lacks."""

    what: str
    next_step: str = Field(description="What to do about it.")
    empties_sheet: bool
    """Whether a sheet has no figures without it."""


class ReportPresetOut(Out):
    """One rule: its sheets, what the deployment lacks for them, and what must accompany the report from elsewhere."""

    preset: ReportPreset
    title: str
    sheets: list[PeriodSheet]
    missing: list[MissingPartOut]
    elsewhere: list[str] = Field(description="What the rule also asks for, and no log holds.")

    @classmethod
    def of(cls, name: ReportPreset, preset: SheetPreset, missing: list[Missing]) -> "ReportPresetOut":
        return cls.from_object(preset, preset=name, missing=missing)


class ReportPresetsOut(Out):
    """All presets."""

    presets: list[ReportPresetOut]
    notice: str
