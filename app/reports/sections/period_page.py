"""First page of a report on a period: one row a group, and the parts of the period, which are never added up.

The gravest row is the headline.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from ...base.clock import HOUR
from ...base.values import frozen
from ...charts.series import rename_evidence
from ...checks.days.corrected_hours import MAX_RECOUNTED_HOURS
from ...checks.days.period import PartComparison, PeriodPart, PeriodSums
from ...checks.views.headlines import DATA_NAMES
from ...domain.check import DataSet
from ...domain.groups import GroupWords
from ...evidence.past_states import NO_EVIDENCE, PastState
from ...statistics.catalogue import CATALOGUE
from ...statistics.e_values.state_words import State
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Limits, Undefined, Value
from ...statistics.measures.period_figures import (
    MIN_LOG_DISTANCE,
    RATIO,
    HeadFacts,
    PeriodEstimate,
    PeriodFigure,
    PeriodHead,
)
from ...statistics.measures.worst_group import widen_for_choice
from ...statistics.sentences.figure_sentences import write_minus
from ..document import (
    ABSENT,
    Block,
    FirstPage,
    Paragraph,
    ReportTable,
    Section,
    format_interval,
    format_measured_value,
    write_count,
    write_ends,
    write_share,
    write_time,
)
from ..report_source import ReportSource
from .configuration_sections import list_cautions, list_facts
from .evidence_section import say_since

MAX_ROWS = 11
"""Groups on the first page, the gravest; the others follow the second page."""

_FURTHEST_MARK = "*"

HEAD_WORDS = {
    PeriodHead.UNFAIR: "unfair",
    PeriodHead.WAS_UNFAIR: "was unfair",
    PeriodHead.OUTSIDE_WITHOUT_ALARM: "outside without an alarm",
    PeriodHead.TOO_FEW: "too few records",
    PeriodHead.NOTHING_FOUND: "nothing found",
    PeriodHead.CONFIRMED_FAIR: "confirmed fair",
    PeriodHead.NOT_COMPUTABLE: "not computable",
}

SUMS_NOTE = (
    "Rates and ratios are of the sums of all checked hours of the period, each hour once, never means of "
    f"hourly figures. {_FURTHEST_MARK} furthest out of its attribute: its interval allows for the choice. "
    "Fewer: favourable outcomes that the group lacks at the reference's rate. Limits are the present ones."
)


@frozen
class PeriodRow:
    """Figure of a group over a part of the period, with the evidence on it at the end."""

    part_comparison: PartComparison
    figure: PeriodFigure
    facts: HeadFacts
    past_state: PastState

    @property
    def attribute(self) -> str:
        return self.part_comparison.comparison.label

    @property
    def head(self) -> PeriodHead:
        return self.facts.head


def judge_part(part: PeriodPart, source: ReportSource) -> list[PeriodRow]:
    """The gravest first; intervals allow for the choice of the headline."""
    rows = [
        (part_comparison, figure)
        for part_comparison in part.comparisons
        for figure in part_comparison.figures
    ]
    measured = [figure for _, figure in rows if figure.ratio is not None]
    chosen_from = sum(figure.smallest >= MINIMUM_GROUP_SIZE for figure in measured) or len(measured)
    judged_rows = []
    for part_comparison, figure in rows:
        past_state = source.states.get((part_comparison.comparison.label, figure.group), NO_EVIDENCE)
        ratio = figure.ratio
        if ratio is not None and chosen_from > 1:
            ratio = widen_for_choice(CATALOGUE[RATIO], ratio, chosen_from)
        facts = HeadFacts(
            limits=part_comparison.limits,
            state=past_state.state,
            hours_outside=past_state.count_hours(source.hours),
            ratio=ratio,
            smallest=figure.smallest,
        )
        judged_rows.append(PeriodRow(part_comparison, figure, facts, past_state))
    return sorted(judged_rows, key=lambda row: row.facts.gravity)


_NAMES_OF_STALE = {
    DataSet.AS_LOGGED: "in figures as logged",
    DataSet.COUNTERFACTUAL: "in counterfactual figures",
    DataSet.LABELLED: "in figures of labels",
}


def say_head(row: PeriodRow, period: PeriodSums, end: str) -> str:
    figure = row.figure
    facts = row.facts
    past_state = row.past_state
    hours = f"{facts.hours_outside:,} of {period.hours:,} hours"
    match row.head:
        case PeriodHead.UNFAIR:
            return f"Unfair {end}, since {_format_moment(past_state.since, period.zone)}; {hours} outside"
        case PeriodHead.WAS_UNFAIR:
            spans = "; ".join(
                f"{_format_moment(incident.since, period.zone)}–{_format_moment(incident.until, period.zone)}"
                for incident in past_state.incidents
            )
            state = "confirmed fair" if facts.state is State.SHOWN_FAIR else "undecided"
            return f"Was unfair for {hours} ({spans}); {end} {state}"
        case PeriodHead.NOT_COMPUTABLE:
            return f"Not computable: {figure.number.reason}" if isinstance(figure.number, Undefined) else ""
        case PeriodHead.OUTSIDE_WITHOUT_ALARM:
            value, ends = _write_ratio(facts.ratio, facts.limits)
            return (
                f"Outside over the whole period ({value}, {ends}), without an alarm within the yearly budget"
            )
        case PeriodHead.TOO_FEW if facts.smallest < MINIMUM_GROUP_SIZE:
            return f"Too few records to tell: {facts.smallest:,}"
        case PeriodHead.TOO_FEW:
            return "Outside, but so few records may differ by chance"
        case PeriodHead.CONFIRMED_FAIR:
            return f"Confirmed fair since {_format_moment(past_state.since, period.zone)}; no hour outside"
        case _ if facts.limits == (None, None):
            return "No limit is set, so nothing is judged"
        case _:
            return "Nothing found, not confirmed: ratio inside the limits"


def write_period_page(source: ReportSource, period: PeriodSums) -> FirstPage:
    part = period.parts[0]
    names = source.forest.words
    rows = judge_part(part, source)
    end = f"at the end of {_format_moment(source.hours.end, period.zone)}"
    gravest = rows[0] if rows else None
    headline = "No group was compared in this period."
    note = ""
    group = None
    if gravest is not None:
        attribute = gravest.attribute
        group = names.label(attribute, gravest.figure.group)
        headline = f"{group} ({attribute}): {say_head(gravest, period, end)}."
        other_heads = Counter(row.head for row in rows[1:])
        counts = [f"{other_heads[head]:,} {words}" for head, words in HEAD_WORDS.items() if other_heads[head]]
        others = f"; the others: {', '.join(counts)}" if counts else ""
        note = f"Of {len(rows):,} groups this is the gravest{others}."
    return FirstPage(
        about=f"All {len(part.hours):,} hours of this period that were checked with {_name_part(part)}",
        verdict="no verdict" if gravest is None else HEAD_WORDS[gravest.head],
        headline=headline,
        cautions=tuple(list_cautions(source)),
        notes=tuple(list_period_notes(source, period, rows)),
        facts=tuple(list_facts(source)),
        table=tabulate_part(rows[:MAX_ROWS], period, names),
        owner=source.deployment.owner,
        attribute=None if gravest is None else gravest.attribute,
        group=group,
        note=note,
        since=tuple(say_since(rename_evidence(names, source.evidence), limit=2)),
    )


def fits_on_first_page(period: PeriodSums) -> bool:
    rows = sum(len(part_comparison.figures) for part_comparison in period.parts[0].comparisons)
    return len(period.parts) == 1 and rows <= MAX_ROWS


def list_period_notes(source: ReportSource, period: PeriodSums, rows: Sequence[PeriodRow]) -> Iterator[str]:
    names = source.forest.words
    if period.span.end < source.span.end:
        yield f"The period is not over: so far, until {_format_moment(period.span.end, period.zone)}."
    if len(period.parts) > 1:
        total = sum(part.records for part in period.parts)
        parts = "; ".join(
            f"{_name_part(part)}: {len(part.hours):,} hours, "
            f"{write_share(part.records / total if total else None)} of the records"
            for part in period.parts
        )
        yield (
            f"Parts are kept apart, the newest first, and never added up: {parts}. The others follow page 2."
        )
    if rows:
        part_comparison = rows[0].part_comparison
        yield f"{part_comparison.comparison.label}: {part_comparison.records.text}"
    counted_until = None if source.evidence is None else source.evidence.era.counted_until
    if counted_until is None or counted_until < source.hours.end:
        hours = "no hour"
        if counted_until is not None:
            hours = f"hours until {_format_moment(counted_until, period.zone)}"
        yield f"Evidence, and so alarms, has counted {hours} of the present model revision."
    if period.stale:
        counts = ", ".join(
            f"{count:,} {_NAMES_OF_STALE[data]}" for data, count in sorted(period.stale.items())
        )
        yield (
            f"Corrected values that count as the checks of their hours read them: {counts}. The tables of "
            "these hours do not come out of the stored records again: records were erased or added since, "
            f"monitor or columns changed, or more than {MAX_RECOUNTED_HOURS:,} hours have corrections. Ask "
            "for checks of these hours."
        )
    for row in rows:
        name = names.label(row.attribute, row.figure.group)
        within, ratio = row.figure.within, row.figure.ratio
        if (
            within is not None
            and ratio is not None
            and ratio.value > 0
            and abs(math.log(within.value / ratio.value)) > MIN_LOG_DISTANCE
        ):
            value, ends = _write_ratio(within, row.part_comparison.limits)
            yield (
                f"{name}: within {period.unit} the ratio is {value} ({ends}): part of the period's figure "
                "comes from when people applied."
            )
        for alarm in row.past_state.later:
            yield (
                f"{name}: an alarm of {_format_moment(alarm.alarm_at, period.zone)}, after this period, "
                f"says: since {_format_moment(alarm.since, period.zone)}."
            )
    compared = {(row.attribute, row.figure.group) for row in rows}
    elsewhere = [
        names.label(*key)
        for key, past_state in source.states.items()
        if key not in compared and past_state.count_hours(source.hours)
    ]
    if elsewhere:
        yield f"Also outside in this period, by evidence: {', '.join(elsewhere)}."


def tabulate_part(rows: Sequence[PeriodRow], period: PeriodSums, names: GroupWords) -> ReportTable:
    cells = []
    references = {}
    for row in rows:
        figure = row.figure
        attribute = row.attribute
        is_furthest = bool(figure.chosen_from)
        ratio = figure.chosen if is_furthest and figure.chosen is not None else figure.ratio
        value, ends = _write_ratio(ratio, row.part_comparison.limits)
        units = figure.units
        cells.append(
            (
                (
                    f"{names.label(attribute, figure.group)} "
                    f"({attribute}){f' {_FURTHEST_MARK}' if is_furthest else ''}"
                ),
                _count_side(figure.monitored.n, figure.monitored.decisions),
                f"{figure.monitored.favourable:,}",
                write_share(figure.monitored.rate),
                write_share(figure.reference.rate),
                value,
                ends,
                _say_fewer(figure),
                (
                    f"{units.outside:,} of {units.judged:,} ({units.clearly:,} clearly; {units.few:,} few, "
                    f"{units.empty:,} empty)"
                ),
                _say_state(row, period.zone),
            )
        )
        references[attribute] = (
            f"reference of {attribute}",
            _count_side(figure.reference.n, figure.reference.decisions),
            f"{figure.reference.favourable:,}",
            write_share(figure.reference.rate),
            *(ABSENT,) * 6,
        )
    columns = ("Group", "n", "Favourable", "Rate", "Reference", "Ratio", "95 %", "Fewer")
    unit = period.unit.capitalize()
    return ReportTable(
        "Each group compared with its reference, gravest first",
        (*columns, f"{unit} outside, of judged", "State"),
        [*cells, *references.values()],
        SUMS_NOTE,
    )


def write_period_sections(source: ReportSource, period: PeriodSums) -> Iterator[Section]:
    names = source.forest.words
    for part in period.parts:
        rows = judge_part(part, source)
        first, last = part.hours[0], part.hours[-1] + HOUR
        blocks = [
            Paragraph(
                f"{len(part.hours):,} hours from {_format_moment(first, period.zone)} to "
                f"{_format_moment(last, period.zone)}, {part.records:,} records."
            ),
            *(
                Paragraph(f"{part_comparison.comparison.label}: {line}")
                for part_comparison in part.comparisons
                for line in part_comparison.records.lines
            ),
            tabulate_part(rows, period, names),
            *_tabulate_further(part, period, names),
        ]
        yield Section(f"The period, {_name_part(part)}", blocks)


def _tabulate_further(part: PeriodPart, period: PeriodSums, names: GroupWords) -> Iterator[Block]:
    rows = []
    for part_comparison in part.comparisons:
        attribute = part_comparison.comparison.label
        for figure in part_comparison.further:
            labelled = (
                part_comparison.labelled.get(figure.group or "") if figure.data is DataSet.LABELLED else None
            )
            rows.append(
                (
                    f"{names.label(attribute, figure.group or '')} ({attribute})",
                    CATALOGUE[figure.metric].title,
                    DATA_NAMES.get(figure.data, "of the labelled"),
                    format_measured_value(figure),
                    format_interval(figure),
                    ABSENT if labelled is None else f"{labelled[0]:,} of {labelled[1]:,}",
                )
            )
    if not rows:
        yield Paragraph("No checked hour of this part has counterfactual figures or labels.")
        return
    note = (
        "Labels count by the hour of their record, if they arrived before "
        f"{write_time(period.labels_until)}; "
        "those of later days are missing. Corrections count that were made before it. Figures that read "
        "records have none of a period: ask for a check of the range."
    )
    if period.unplaced:
        note += (
            f" Those that arrived in {period.unplaced:,} hours are missing: their records' hours are unknown."
        )
    columns = ("Group", "Figure", "Records", "Value", "95 %", "Labelled of scored")
    yield ReportTable("Further figures of this part", columns, rows, note)


def _say_state(row: PeriodRow, zone: ZoneInfo) -> str:
    words = HEAD_WORDS[row.head]
    if row.past_state.since is None or row.head not in (PeriodHead.UNFAIR, PeriodHead.CONFIRMED_FAIR):
        return words
    return f"{words} since {_format_moment(row.past_state.since, zone)}"


def _say_fewer(figure: PeriodFigure) -> str:
    fewer = figure.fewer
    if fewer is None:
        return ABSENT
    if fewer.lower is None or fewer.upper is None:
        return f"about {write_minus(write_count(round(fewer.value)))}"
    value, lower, upper = (
        write_minus(write_count(round(number))) for number in (fewer.value, fewer.lower, fewer.upper)
    )
    return f"{value} ({lower} to {upper})"


def _count_side(n: int, decisions: float | None) -> str:
    return f"{n:,}" if decisions is None else f"{n:,}, for about {decisions:,.0f} decisions"


def _write_ratio(ratio: Value | PeriodEstimate | None, limits: Limits) -> tuple[str, str]:
    if ratio is None:
        return ABSENT, ABSENT
    return write_ends(ratio.value, ratio.lower, ratio.upper, (*limits, 1.0))


def _name_part(part: PeriodPart) -> str:
    return f"model revision {part.key.model_revision}, monitor version {part.key.monitor_version}"


def _format_moment(at: datetime | None, zone: ZoneInfo) -> str:
    return "the end" if at is None else f"{at.astimezone(zone):%Y-%m-%d %H:%M}"
