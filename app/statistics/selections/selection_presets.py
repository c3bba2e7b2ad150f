"""Presets: sheets that a rule asks for, as read in November 2026; not legal advice."""

from enum import StrEnum

from ...base.values import frozen_by_name

NOTICE = (
    "This report says what was counted, and by which rule. It is not legal advice, and does not say "
    "that a rule is complied with."
)


class SheetName(StrEnum):
    LL144 = "ll144"
    ADVERSE_IMPACT = "adverse_impact"
    LENDING = "lending"
    PROBABILISTIC = "probabilistic"
    CONTROLS = "controls"


class ReportPreset(StrEnum):
    """Rules that a report on a deployment can be made for."""

    LL144 = "ll144"
    UGESP = "ugesp"
    LENDING = "lending"
    EU_AI_ACT = "eu-ai-act"
    INSURANCE_CO = "insurance-co"


@frozen_by_name
class Preset:
    """Source, dated state, sheets, and what must accompany them that no file of decisions holds."""

    title: str
    source: str
    state: str
    sheets: tuple[SheetName, ...]
    attributes: tuple[str, ...]
    not_in_file: tuple[str, ...]


_FROM_A_LOG = (
    "evidence over time, alerts and mitigation before and after, which `evenhand report "
    "--deployment` makes from a log"
)
_OF_RACE = "the source of each probability, if categories are not known"

PRESETS = {
    ReportPreset.LL144: Preset(
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
    ReportPreset.UGESP: Preset(
        title="Adverse impact tables by the Uniform Guidelines",
        source="29 CFR 1607.4 D",
        state="in force, its rescission announced; as read in November 2026",
        sheets=(SheetName.ADVERSE_IMPACT,),
        attributes=("sex", "race or ethnicity"),
        not_in_file=(
            "the job, and the period of the selections",
            "the validity of the selection procedure, where there is impact",
        ),
    ),
    ReportPreset.LENDING: Preset(
        title="Fair lending tables",
        source="fair lending practice",
        state="as read in November 2026",
        sheets=(SheetName.LENDING, SheetName.PROBABILISTIC, SheetName.CONTROLS),
        attributes=("sex", "race or ethnicity", "age"),
        not_in_file=(
            "the business reason of each control",
            "the period of the decisions",
            _OF_RACE,
            _FROM_A_LOG,
        ),
    ),
    ReportPreset.EU_AI_ACT: Preset(
        title="Measures of bias for the EU AI Act",
        source="Regulation (EU) 2024/1689, Art. 10, 12, 15, 19, 26, 72, 73",
        state="for Annex III from 2027-12-02; as read in November 2026",
        sheets=(SheetName.ADVERSE_IMPACT,),
        attributes=(),
        not_in_file=(
            "the post-market monitoring plan",
            "logs that are kept for at least six months",
            "flips of counterfactual copies, which need the model",
            _FROM_A_LOG,
        ),
    ),
    ReportPreset.INSURANCE_CO: Preset(
        title="Tables for insurance in Colorado",
        source="Regulation 10-1-1",
        state="in force; as read in November 2026",
        sheets=(SheetName.LENDING, SheetName.PROBABILISTIC, SheetName.CONTROLS),
        attributes=("race or ethnicity",),
        not_in_file=(
            "the governance and the risk management framework",
            "the period of the decisions",
            _OF_RACE,
            _FROM_A_LOG,
        ),
    ),
}
