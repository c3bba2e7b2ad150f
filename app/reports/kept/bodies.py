"""Kept reports, their schedules and presets as bodies."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AliasPath, Field

from ...alerts.rules.bodies import ChannelId
from ...base.errors import InvalidInput
from ...charts.time_ranges import MAX_ZONE_CHARACTERS, read_zone
from ...statistics.selections.category_people import MAX_MAPPINGS, MAX_VALUES, CategoryMapping
from ...statistics.selections.selection_presets import ReportPreset
from ...web.body import FromText, In, NextPageCursor, Out, PageOut, example
from ...web.route_declarations import Timestamp
from ..regulator.clauses import ToolKind
from ..regulator.sheets import PeriodSheet, ReportKind, SheetSelection, choose_sheets
from .queries import KeptReport, KeptReportState
from .schedules import ReportRhythm, ReportSchedule, ScheduleContent, find_first_due

MAX_NAMES = 20
_WANTED = {
    "kind": "regulator",
    "zone": "Europe/Berlin",
    "preset": "ugesp",
    "sheets": [],
    "attributes": ["sex"],
    "controls": ["income"],
    "tool": "selecting",
    "categories": {},
}
_SCHEDULE = {
    "name": "Four-fifths rule, quarterly",
    "rhythm": "quarterly",
    **_WANTED,
    "channels": [],
    "enabled": True,
}
_REPORT = {
    "id": "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e",
    "schedule_id": "quarterly",
    "from": "2026-06-30T22:00:00Z",
    "to": "2026-09-30T22:00:00Z",
    **_WANTED,
    "check_id": None,
    "channels": [],
    "sheets": ["adverse_impact", "controls", "evidence", "alerts"],
    "state": "ready",
    "reason": None,
    "seal": "0f343b0931126a20f133d67c2b018a3b1d6d3a2f6b7a4c3e9d2f6a1b8c4e7d05",
    "chain_head": "8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92",
    "created_by": "schedule",
    "created_at": "2026-10-01T06:00:09Z",
    "finished_at": "2026-10-01T06:00:14Z",
}
_Name = Annotated[str, Field(min_length=1, max_length=200)]


class CategoriesIn(In):
    """Categories of an attribute: `values` gives that of each value, or `weights` that of each column of
    probabilities; one of the two.
    """

    model_config = example(
        {"scheme": "eeo-1", "values": {"W": "White", "B": "Black or African American"}, "weights": {}}
    )

    scheme: Literal["sex", "eeo-1", "bisg"] | None = None
    """Scheme that has the categories; null: any names."""

    values: dict[str, str] = Field(default={}, max_length=MAX_VALUES)
    """Category by value. A value that is not named is unknown, and is counted."""

    weights: dict[str, str] = Field(default={}, max_length=MAX_VALUES)
    """Category by column that holds the probability that a person is of it."""

    reference: str | None = None
    """Category with weights that the others are compared with; null: ranges of the rates only."""


class SheetSelectionIn(In):
    """Content of a report. Members that are left out get their default."""

    kind: FromText[ReportKind] = ReportKind.REGULATOR
    """A `check`, a `period`, or for a `regulator` a period with the sheets of a rule; only the last has the
    members from `preset` to `categories`."""

    zone: str = Field(default="UTC", max_length=MAX_ZONE_CHARACTERS)
    """Time zone of the period's days, by its name."""

    preset: FromText[ReportPreset] | None = None
    """Rule whose sheets are made; without one, all sheets."""

    sheets: list[FromText[PeriodSheet]] = Field(default=[], max_length=MAX_NAMES)
    """Sheets to make, instead of those of the preset."""

    attributes: list[_Name] = Field(default=[], max_length=MAX_NAMES)
    """Watched attributes; without one, all."""

    controls: list[_Name] = Field(default=[], max_length=MAX_NAMES)
    """Columns that decisions may depend on; without one, the monitor's strata."""

    tool: FromText[ToolKind] = ToolKind.SELECTING
    """Kind of tool, for the sheet of Local Law 144."""

    categories: dict[_Name, CategoriesIn] = Field(default={}, max_length=MAX_MAPPINGS)
    """Categories by attribute, or by the title of a table of weights."""

    def to_wanted(self, *channels: str) -> SheetSelection:
        categories = [
            CategoryMapping(attribute=name, **category.model_dump())
            for name, category in self.categories.items()
        ]
        is_regulator = self.kind is ReportKind.REGULATOR
        return self.read_as(
            SheetSelection,
            sheets=choose_sheets(self.sheets, self.preset) if is_regulator else (),
            categories=categories,
            zone=read_zone(self.zone).key,
            channels=channels,
        )


class ReportScheduleIn(SheetSelectionIn):
    """A schedule: one report of each calendar period of its zone."""

    model_config = example(_SCHEDULE)

    name: str = Field(min_length=1, max_length=200)
    """For people."""

    rhythm: FromText[ReportRhythm]
    """Calendar periods of the zone, each of which gets a report."""

    channels: list[ChannelId] = Field(default=[], max_length=MAX_NAMES)
    """Alert channels that each report is sent to; mails carry the PDF."""

    enabled: bool = True

    def to_content(self) -> ScheduleContent:
        if self.kind is ReportKind.CHECK:
            raise InvalidInput("kind", "must be period or regulator: a schedule has a report of each period")
        return self.read_as(ScheduleContent, wanted=self.to_wanted(), channels=sorted(set(self.channels)))


class CategoriesOut(Out):
    """Categories of an attribute, by value or by column of weights."""

    scheme: str | None
    values: dict[str, str]
    weights: dict[str, str]
    reference: str | None


def _list_sheet_members(wanted: SheetSelection) -> dict[str, object]:
    return asdict(wanted) | {"categories": {mapping.attribute: mapping for mapping in wanted.categories}}


class ReportScheduleOut(Out):
    """A schedule as it is stored."""

    model_config = example(
        {
            "id": "quarterly",
            **_SCHEDULE,
            "sheets": _REPORT["sheets"],
            "version": 1,
            "next_period_ends_at": "2027-01-01T00:00:00Z",
            "created_at": "2026-07-02T09:00:00Z",
            "updated_at": "2026-07-02T09:00:00Z",
        }
    )

    id: str
    name: str
    rhythm: ReportRhythm
    kind: ReportKind
    zone: str
    preset: ReportPreset | None
    sheets: list[PeriodSheet]
    attributes: list[str]
    controls: list[str]
    tool: ToolKind
    categories: dict[str, CategoriesOut]
    channels: list[str]
    enabled: bool
    version: int
    next_period_ends_at: datetime | None
    """The end of the running period; its report is made six hours later. Null while the schedule is off."""

    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, schedule: ReportSchedule, now: datetime) -> "ReportScheduleOut":
        members = _list_sheet_members(schedule.content.wanted) | asdict(schedule.content)
        return cls.from_object(schedule, **members, next_period_ends_at=find_first_due(schedule, now))


class ReportSchedulePage(PageOut):
    """Schedules of a deployment, oldest first."""

    report_schedules: list[ReportScheduleOut]
    next_cursor: NextPageCursor


class KeptReportIn(SheetSelectionIn):
    """An order for a report that is made in the background and kept."""

    model_config = example(
        {
            "since": "2026-07-01T00:00:00Z",
            "until": "2026-10-01T00:00:00Z",
            "preset": "ugesp",
            "controls": ["income"],
        }
    )

    since: Timestamp | None = None
    """Start of the period; of a check it is left out. ISO 8601 with an offset."""

    until: Timestamp | None = None
    """Its end, exclusive, which is not in the future."""

    check_id: str | None = None
    """The check, of the kind `check`."""

    channels: list[ChannelId] = Field(default=[], max_length=MAX_NAMES)
    """Alert channels that the report is sent to once it is ready; mails carry the PDF."""

    def to_wanted(self, *channels: str) -> SheetSelection:
        is_check = self.kind is ReportKind.CHECK
        if is_check != (self.check_id is not None):
            problem = "names the check of the report" if is_check else "is for reports of the kind check"
            raise InvalidInput("check_id", problem)
        return super().to_wanted(*channels, *sorted(set(self.channels)))


class KeptReportOut(Out):
    """A kept report and its state. Once it is `ready` it never changes."""

    model_config = example(_REPORT)

    id: str
    schedule_id: str | None
    """Schedule that made it; null where a person asked for it."""

    from_: datetime = Field(validation_alias=AliasPath("span", "start"), serialization_alias="from")
    to: datetime = Field(validation_alias=AliasPath("span", "end"))
    """Its end, exclusive."""

    kind: ReportKind
    check_id: str | None
    zone: str
    channels: list[str]
    """Channels that a person has it sent to; a schedule has its own."""

    preset: ReportPreset | None
    sheets: list[PeriodSheet]
    attributes: list[str]
    controls: list[str]
    tool: ToolKind
    categories: dict[str, CategoriesOut]
    state: KeptReportState
    reason: str | None
    """Why it failed."""

    seal: str | None
    """SHA-256 of its data, which `evenhand report verify` computes again; of a check or a period, of the
    JSON.
    """

    chain_head: str | None
    """The last link of its hash chain, of one for a regulator."""

    created_by: str
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, report: KeptReport) -> "KeptReportOut":
        return cls.from_object(report, **_list_sheet_members(report.wanted))


class KeptReportPage(PageOut):
    """Kept reports of a deployment, newest first."""

    reports: list[KeptReportOut]
    next_cursor: NextPageCursor


class MissingPartOut(Out):
    """One thing that a report lacks."""

    what: str
    next_step: str
    """The step to take."""

    empties_sheet: bool
    """Whether a sheet has no figures without it."""


class ReportPresetOut(Out):
    """One rule: its sheets, what the deployment lacks for them, and what must accompany the report from
    elsewhere.
    """

    preset: ReportPreset
    title: str
    sheets: list[PeriodSheet]
    missing: list[MissingPartOut]
    elsewhere: list[str]
    """Things that the rule also asks for, and no log holds."""


class ReportPresetsOut(Out):
    """All presets."""

    presets: list[ReportPresetOut]
    notice: str
