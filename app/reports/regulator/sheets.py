"""Sheets of a report on a period, a row each; presets of sheets for rules, and what a deployment lacks."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Self

from ...base.errors import InvalidInput
from ...base.values import Range, frozen, frozen_by_name, name_value
from ...domain.deployment import Deployment
from ...domain.groups import GroupWords
from ...domain.monitor import Monitor
from ...retention.policy import RetentionPolicy, RetentionPreset
from ...statistics.selections.category_people import SCHEMES, CategoryMapping
from ...statistics.selections.selection_presets import PRESETS as RULE_PRESETS
from ...statistics.selections.selection_presets import ReportPreset
from ..document import Block, Json, Paragraph, Section
from . import check_sheets, indirect_bias, people_sheets
from .attribute_names import RACE, SEX, split_name
from .clauses import ToolKind
from .sheet_parts import SheetParts


@frozen
class SheetRow:
    """Functions of a sheet: `make` gives its data, unrounded, `write` the chapter of data without a `reason`.

    A sheet that `counts_people` has no tables where records are of different shares of the traffic. `scored`
    are the kinds of tools whose scores it needs.
    """

    title: str
    make: Callable[[SheetParts], Json]
    write: Callable[[Json], Iterator[Block]]
    is_caution: bool = False
    counts_people: bool = False
    scored: Collection[ToolKind] = ()

    def make_content(self, parts: SheetParts) -> Json:
        if self.counts_people and parts.no_counts is not None:
            return {"tables": [], "reason": parts.no_counts}
        return self.make(parts)

    def write_chapter(self, sheet: Json, *notes: Block) -> Section:
        if sheet.get("reason"):
            reason = Paragraph(f"There are no figures: {sheet['reason']}.", is_caution=self.is_caution)
            return Section(self.title, (*notes, reason))
        return Section(self.title, (*notes, *self.write(sheet)))


class PeriodSheet(StrEnum):
    """Sheets of a report on a period, in the order of its chapters: hazards, measures, evaluation,
    treatment.
    """

    ADVERSE_IMPACT = (
        "adverse_impact",
        SheetRow(
            "Adverse impact",
            people_sheets.make_impact,
            people_sheets.build_impact_row,
            is_caution=True,
            counts_people=True,
        ),
    )
    LL144 = (
        "ll144",
        SheetRow(
            "Local Law 144: impact ratios",
            people_sheets.make_audit,
            people_sheets.write_audit,
            is_caution=True,
            counts_people=True,
            scored=(ToolKind.SCORING,),
        ),
    )
    LENDING = (
        "lending",
        SheetRow(
            "Lending: rates and scores next to the reference",
            people_sheets.make_lending,
            people_sheets.write_lending,
            is_caution=True,
            counts_people=True,
            scored=tuple(ToolKind),
        ),
    )
    PROBABILISTIC = (
        "probabilistic",
        SheetRow(
            "Probabilistic categories",
            people_sheets.make_bounds,
            people_sheets.write_bounds,
            counts_people=True,
        ),
    )
    CONTROLS = (
        "controls",
        SheetRow(
            "Given the controls",
            people_sheets.make_controls,
            people_sheets.write_controls,
            counts_people=True,
        ),
    )
    INDIRECT_BIAS = (
        "indirect_bias",
        SheetRow(
            "Indirect bias: columns that reveal an attribute",
            indirect_bias.make_indirect_bias,
            indirect_bias.write_indirect_bias,
            is_caution=True,
        ),
    )
    EVIDENCE = (
        "evidence",
        SheetRow("Evidence over time", check_sheets.make_evidence, check_sheets.write_evidence),
    )
    ALERTS = (
        "alerts",
        SheetRow("Alerts, and who acknowledged what", check_sheets.make_alerts, check_sheets.write_alerts),
    )
    FLIPS = ("flips", SheetRow("Counterfactual flips", check_sheets.make_flips, check_sheets.write_flips))
    ALTERNATIVE = (
        "alternative",
        SheetRow(
            "Less discriminatory alternative: before and after mitigation",
            check_sheets.make_alternative,
            check_sheets.write_alternative,
        ),
    )

    row: SheetRow

    def __new__(cls, name: str, row: SheetRow) -> Self:
        sheet = str.__new__(cls, name)
        sheet._value_ = name
        sheet.row = row
        return sheet


class ReportKind(StrEnum):
    """Subject of a report: a check, a period, or a period with the sheets of a rule."""

    CHECK = "check"
    PERIOD = "period"
    REGULATOR = "regulator"


@frozen_by_name
class SheetSelection:
    """Order for sheets; no attributes mean all of the monitor.

    `categories` map values to a scheme, or name the columns of weights of the probabilistic sheet. Reports of
    other kinds have no sheets. `zone` has the days of the period. A person has the report sent to `channels`.
    """

    sheets: tuple[PeriodSheet, ...] = ()
    attributes: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    tool: ToolKind = ToolKind.SELECTING
    preset: ReportPreset | None = None
    categories: tuple[CategoryMapping, ...] = ()
    kind: ReportKind = ReportKind.REGULATOR
    check_id: str | None = None
    zone: str = "UTC"
    channels: tuple[str, ...] = ()


SHEETS_OF_EVERY_PRESET = (PeriodSheet.EVIDENCE, PeriodSheet.ALERTS)


@frozen_by_name
class SheetPreset:
    """Sheets of a rule on a log, and its needs.

    `needs_owner` asks for the purpose, too. Records must be kept `least_months`. `schemes` are those whose
    categories the rule names, by attribute. `elsewhere` lists what the rule also asks for, and no log holds.
    """

    title: str
    sheets: tuple[PeriodSheet, ...]
    needs_controls: bool = False
    needs_owner: bool = False
    least_months: int = 0
    schemes: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...]


@frozen
class MissingPart:
    what: str
    next_step: str
    empties_sheet: bool


ATTRIBUTE_NOUNS = {"sex": SEX, "race or ethnicity": RACE, "age": ("age",)}
"""Words of attribute names, by the attributes that rules name."""

PRESETS = {
    ReportPreset.LL144: SheetPreset(
        title="New York City Local Law 144",
        sheets=(PeriodSheet.LL144, *SHEETS_OF_EVERY_PRESET),
        schemes={"sex": "sex", "race or ethnicity": "eeo-1"},
        elsewhere=(
            "the independent auditor, and the date of the audit",
            "the date since which the tool is in use",
            "a justification of every category that is left out of the ratios",
        ),
    ),
    ReportPreset.UGESP: SheetPreset(
        title="Uniform Guidelines, four-fifths rule",
        sheets=(PeriodSheet.ADVERSE_IMPACT, PeriodSheet.CONTROLS, *SHEETS_OF_EVERY_PRESET),
        elsewhere=("the job", "the validity of the selection procedure, where there is adverse impact"),
    ),
    ReportPreset.LENDING: SheetPreset(
        title="Fair lending practice",
        sheets=(
            PeriodSheet.LENDING,
            PeriodSheet.PROBABILISTIC,
            PeriodSheet.CONTROLS,
            PeriodSheet.ALTERNATIVE,
            *SHEETS_OF_EVERY_PRESET,
        ),
        needs_controls=True,
        elsewhere=(
            "the business reason of each control",
            (
                "which law applies: Regulation B has no effects test since 2026-07-21; state law and the "
                "Fair Housing Act remain"
            ),
        ),
    ),
    ReportPreset.EU_AI_ACT: SheetPreset(
        title="EU AI Act, monitoring",
        sheets=(
            PeriodSheet.ADVERSE_IMPACT,
            *SHEETS_OF_EVERY_PRESET,
            PeriodSheet.FLIPS,
            PeriodSheet.ALTERNATIVE,
        ),
        needs_owner=True,
        least_months=RetentionPreset.EU.months,
        elsewhere=("the post-market monitoring plan", "reports of serious incidents to the authority"),
    ),
    ReportPreset.INSURANCE_CO: SheetPreset(
        title="Colorado, insurance",
        sheets=(
            PeriodSheet.LENDING,
            PeriodSheet.PROBABILISTIC,
            PeriodSheet.CONTROLS,
            PeriodSheet.INDIRECT_BIAS,
            PeriodSheet.ALTERNATIVE,
            *SHEETS_OF_EVERY_PRESET,
        ),
        needs_controls=True,
        needs_owner=True,
        elsewhere=("the governance and the risk management framework",),
    ),
}


def choose_sheets(names: Collection[str], preset: str | None) -> tuple[PeriodSheet, ...]:
    """Chooses the sheets of these names, else those of the preset, else all, as with `all`.

    Raises:
        InvalidInput: there is no such sheet or preset.
    """
    if preset is not None and preset not in list(ReportPreset):
        raise InvalidInput("preset", f"must be one of {', '.join(ReportPreset)}, found {preset!r:.100}")
    for name in names:
        if name != "all" and name not in list(PeriodSheet):
            raise InvalidInput(
                "sheets", f"must be all or one of {', '.join(PeriodSheet)}, found {name!r:.100}"
            )
    if not names and preset is not None:
        names = PRESETS[ReportPreset(preset)].sheets
    return tuple(sheet for sheet in PeriodSheet if not names or "all" in names or sheet in names)


def find_missing(
    preset: ReportPreset,
    deployment: Deployment,
    monitor: Monitor | None,
    controls: Collection[str],
    retention: RetentionPolicy,
    categories: Sequence[CategoryMapping] = (),
) -> Iterator[MissingPart]:
    """Attributes are recognised by their names, which may mislead."""
    needs = PRESETS[preset]
    if monitor is None:
        yield MissingPart(
            "a fairness monitor",
            "Set a monitor: it says which outcomes are favourable and which groups are compared.",
            True,
        )
        return
    watched_nouns = {
        noun
        for attribute in monitor.attributes
        if attribute.rule is None
        for noun in split_name(attribute.feature)
    }
    for name in RULE_PRESETS[preset].attributes:
        if watched_nouns.isdisjoint(ATTRIBUTE_NOUNS[name]):
            yield MissingPart(
                f"an attribute that is named like {name}",
                f"Add a column for {name} to the monitor's attributes. If the monitor watches such a column "
                "under another name, ignore this line: columns are recognised by their names alone.",
                False,
            )
    yield from find_unnamed_categories(needs, monitor, {category.attribute for category in categories})
    needs_scores = any(ToolKind.SELECTING in sheet.row.scored for sheet in needs.sheets)
    if needs_scores and deployment.outputs.probability is None:
        yield MissingPart(
            "a score",
            "Name the column of the probability in the deployment's outputs: gaps in scores stay "
            "empty without it.",
            True,
        )
    if needs.needs_controls and not controls and monitor.strata is None:
        yield MissingPart(
            "controls",
            "Choose columns that decisions may lawfully depend on as controls, or set the monitor's strata.",
            True,
        )
    if needs.needs_owner and deployment.owner is None:
        yield MissingPart("an owner of the model", "Name the owner in the deployment's settings.", False)
    if needs.needs_owner and deployment.purpose is None:
        yield MissingPart(
            "the purpose of the model",
            "State the purpose in the deployment's settings: the cover shows it.",
            False,
        )
    if retention.records_months is not None and retention.records_months < needs.least_months:
        yield MissingPart(
            f"records that are kept for {needs.least_months} months: they are erased after "
            f"{retention.records_months}",
            "Set a longer time in the deployment's retention.",
            False,
        )


def find_unnamed_categories(
    needs: SheetPreset, monitor: Monitor, mapped_attributes: Collection[str]
) -> Iterator[MissingPart]:
    """Yields attributes whose groups are not called as the rule calls them, unless they are mapped."""
    group_words = GroupWords.of(monitor)
    for name, scheme in needs.schemes.items():
        for attribute in monitor.attributes:
            if (
                attribute.rule is not None
                or attribute.feature in mapped_attributes
                or split_name(attribute.feature).isdisjoint(ATTRIBUTE_NOUNS[name])
            ):
                continue
            values = [value for value in attribute.listed if not isinstance(value, Range)]
            labels = dict.fromkeys(
                group_words.label(attribute.feature, name_value(value)) for value in values
            )
            scheme_names = {category.casefold() for category in SCHEMES[scheme]}
            unnamed = ", ".join(label for label in labels if label.casefold() not in scheme_names)
            if unnamed:
                yield MissingPart(
                    f"groups of {attribute.feature} named as the rule names its categories "
                    f"({', '.join(SCHEMES[scheme])}): the monitor calls them {unnamed}",
                    "Map their values to the categories where you make the report, or give the groups their "
                    "names.",
                    False,
                )
