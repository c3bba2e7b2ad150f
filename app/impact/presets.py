"""Presets: the sheets that a rule asks for, and what they need. State of the rules as read in November 2026; not legal advice."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

NOTICE: Final = (
    "This report says what was counted, and by which rule. It is not legal advice, and does not say that a rule is complied with."
)


class SheetName(StrEnum):
    """Sheets of a report on selections."""

    LL144 = "ll144"
    ADVERSE_IMPACT = "adverse_impact"


class PresetName(StrEnum):
    """Rules that a report can be made for."""

    LL144 = "ll144"
    UGESP = "ugesp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One rule: its source, its state with a date, its sheets, and what must accompany them that no file of decisions holds."""

    title: str
    source: str
    state: str
    sheets: tuple[SheetName, ...]
    attributes: tuple[str, ...]
    not_in_file: tuple[str, ...]


PRESETS: Mapping[PresetName, Preset] = MappingProxyType(
    {
        PresetName.LL144: Preset(
            title="Bias audit tables for New York City's Local Law 144",
            source="6 RCNY 5-300 to 5-304",
            state="in force; as read in November 2026",
            sheets=(SheetName.LL144,),
            attributes=("sex", "race or ethnicity"),
            not_in_file=(
                "the date of the audit, at most one year before the tool is used",
                "the source and the period of the data",
                "the date since which the tool is in use",
                "a justification of every category that was left out of the ratios",
                "the independent auditor who makes the audit",
            ),
        ),
        PresetName.UGESP: Preset(
            title="Adverse impact tables by the Uniform Guidelines",
            source="29 CFR 1607.4 D",
            state="in force, its rescission announced; as read in November 2026",
            sheets=(SheetName.ADVERSE_IMPACT,),
            attributes=("sex", "race or ethnicity"),
            not_in_file=("the job, and the period of the selections", "the validity of the selection procedure, where there is impact"),
        ),
    }
)
