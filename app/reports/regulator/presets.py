"""Presets of a regulator's report, what a caller chooses, and what a deployment lacks for them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Self

import msgspec

from ...base.errors import InvalidInput
from ...base.values import Range, frozen, frozen_by_name, name_value
from ...domain.deployment import Deployment
from ...domain.groups import GroupWords
from ...domain.monitor import Monitor
from ...retention.policy import RetentionPolicy, RetentionPreset
from ...statistics.selections.category_people import SCHEMES, CategoryMapping
from .attribute_names import RACE, SEX, split_name
from .clauses import ToolKind
from .sheets import PeriodSheet


@frozen_by_name
class SheetsWanted:
    """No attributes mean all of the monitor.

    `categories` map values to a scheme, or name the columns of weights of the probabilistic sheet.
    """

    sheets: tuple[PeriodSheet, ...]
    attributes: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    tool: ToolKind = ToolKind.SELECTING
    preset: str | None = None
    categories: tuple[CategoryMapping, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the content for storage; equal contents are equal there."""
        # Through JSON: a stored list would not equal a tuple.
        content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return content

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return msgspec.convert(stored, cls)


ALWAYS = (PeriodSheet.EVIDENCE, PeriodSheet.ALERTS)


class ReportPreset(StrEnum):
    """Rules that a report on a deployment can be made for."""

    LL144 = "ll144"
    UGESP = "ugesp"
    LENDING = "lending"
    EU_AI_ACT = "eu-ai-act"
    INSURANCE_CO = "insurance-co"


@frozen_by_name
class SheetPreset:
    """Sheets of a rule, and its needs. `attributes` are words of attribute names.

    `needs_owner` asks for the purpose, too. Records must be kept `least_months`. `schemes` are those whose
    categories the rule names.
    """

    title: str
    sheets: tuple[PeriodSheet, ...]
    attributes: Mapping[str, tuple[str, ...]]
    needs_controls: bool = False
    needs_owner: bool = False
    least_months: int = 0
    schemes: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...]


@frozen
class Missing:
    what: str
    next_step: str
    empties_sheet: bool


_PEOPLE = {"sex": SEX, "race or ethnicity": RACE}

PRESETS = {
    ReportPreset.LL144: SheetPreset(
        title="New York City Local Law 144",
        sheets=(PeriodSheet.LL144, *ALWAYS),
        attributes=_PEOPLE,
        schemes={"sex": "sex", "race or ethnicity": "eeo-1"},
        elsewhere=(
            "the independent auditor, and the date of the audit",
            "the date since which the tool is in use",
            "a justification of every category that is left out of the ratios",
        ),
    ),
    ReportPreset.UGESP: SheetPreset(
        title="Uniform Guidelines, four-fifths rule",
        sheets=(PeriodSheet.ADVERSE_IMPACT, PeriodSheet.CONTROLS, *ALWAYS),
        attributes=_PEOPLE,
        elsewhere=("the job", "the validity of the selection procedure, where there is adverse impact"),
    ),
    ReportPreset.LENDING: SheetPreset(
        title="Fair lending practice",
        sheets=(
            PeriodSheet.LENDING,
            PeriodSheet.PROBABILISTIC,
            PeriodSheet.CONTROLS,
            PeriodSheet.ALTERNATIVE,
            *ALWAYS,
        ),
        attributes={"sex": SEX, "race or ethnicity": RACE, "age": ("age",)},
        needs_controls=True,
        elsewhere=(
            "the business reason of each control",
            (
                "which law applies: Regulation B has no effects test since 2026-07-21; state law and the Fair "
                "Housing Act remain"
            ),
        ),
    ),
    ReportPreset.EU_AI_ACT: SheetPreset(
        title="EU AI Act, monitoring",
        sheets=(PeriodSheet.ADVERSE_IMPACT, *ALWAYS, PeriodSheet.FLIPS, PeriodSheet.ALTERNATIVE),
        attributes={},
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
            *ALWAYS,
        ),
        attributes={"race or ethnicity": RACE},
        needs_controls=True,
        needs_owner=True,
        elsewhere=("the governance and the risk management framework",),
    ),
}


def choose_sheets(names: Collection[str], preset: str | None) -> tuple[PeriodSheet, ...]:
    """Sheets of these names, else those of the preset, else all, as with `all`.

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
) -> Iterator[Missing]:
    """Yields what the deployment lacks. Attributes are recognised by their names, which may mislead."""
    needs = PRESETS[preset]
    if monitor is None:
        yield Missing(
            "a fairness monitor",
            "Set a monitor: it says which outcomes are favourable and which groups are compared.",
            True,
        )
        return
    watched = {
        noun
        for attribute in monitor.attributes
        if attribute.rule is None
        for noun in split_name(attribute.feature)
    }
    for name, nouns in needs.attributes.items():
        if watched.isdisjoint(nouns):
            yield Missing(
                f"an attribute that is named like {name}",
                f"Add a column for {name} to the monitor's attributes. If the monitor watches such a column "
                "under another name, ignore this line: columns are recognised by their names alone.",
                False,
            )
    yield from find_unnamed_categories(needs, monitor, {category.attribute for category in categories})
    needs_scores = any(ToolKind.SELECTING in sheet.row.scored for sheet in needs.sheets)
    if needs_scores and deployment.outputs.probability is None:
        yield Missing(
            "a score",
            "Name the column of the probability in the deployment's outputs: gaps in scores stay "
            "empty without it.",
            True,
        )
    if needs.needs_controls and not controls and monitor.strata is None:
        yield Missing(
            "controls",
            "Choose columns that decisions may lawfully depend on as controls, or set the monitor's strata.",
            True,
        )
    if needs.needs_owner and deployment.owner is None:
        yield Missing("an owner of the model", "Name the owner in the deployment's settings.", False)
    if needs.needs_owner and deployment.purpose is None:
        yield Missing(
            "the purpose of the model",
            "State the purpose in the deployment's settings: the cover shows it.",
            False,
        )
    if retention.records_months is not None and retention.records_months < needs.least_months:
        yield Missing(
            f"records that are kept for {needs.least_months} months: they are erased after "
            f"{retention.records_months}",
            "Set a longer time in the deployment's retention.",
            False,
        )


def find_unnamed_categories(
    needs: SheetPreset, monitor: Monitor, mapped: Collection[str]
) -> Iterator[Missing]:
    """Yields groups not called as the rule calls its categories, but for `mapped` attributes."""
    display = GroupWords.of(monitor)
    for name, scheme in needs.schemes.items():
        for attribute in monitor.attributes:
            if (
                attribute.rule is not None
                or attribute.feature in mapped
                or split_name(attribute.feature).isdisjoint(needs.attributes[name])
            ):
                continue
            values = [value for value in attribute.listed if not isinstance(value, Range)]
            shown = dict.fromkeys(display.label(attribute.feature, name_value(value)) for value in values)
            scheme_names = {category.casefold() for category in SCHEMES[scheme]}
            unnamed = ", ".join(label for label in shown if label.casefold() not in scheme_names)
            if unnamed:
                yield Missing(
                    f"groups of {attribute.feature} named as the rule names its categories "
                    f"({', '.join(SCHEMES[scheme])}): the monitor calls them {unnamed}",
                    "Map their values to the categories where you make the report, or give the groups their "
                    "names.",
                    False,
                )
