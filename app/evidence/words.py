"""Sentences about evidence, the same everywhere."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from ..domain.check import DataSet, FigureKey
from ..domain.monitor import POOLED_GROUP
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values import state_words
from ..statistics.e_values.nulls import UnfairSide
from ..statistics.e_values.state_words import DAY, MINUTE, EvidenceState, FigureLabel
from ..statistics.sentences.figure_sentences import write_minus
from .figure_state import find_hour_start
from .present_state import ComparisonState, DeploymentEvidence

NO_MONITOR = (
    "No evidence is collected: the deployment has no fairness monitor, whose limits evidence is collected on."
)

TELL_PERSONS = (
    "Say whose records they are, under Configure or with the monitor: evidence.person names the column of a "
    "person's id, evidence.each_record_another_person declares that no two records are of one person. "
    "Evidence then counts in full from the next hour on."
)

QUIET = "No new evidence for 7 days: neither that it is still beyond its limit, nor that it is back inside."
STALE = "A past hour has changed; a worker is about to compute this again."

FROM_FIRST_HOUR = (
    "No hour before it was counted with this monitor and model revision, so it may have been so before."
)

NEARLY_FIRST_HOUR = (
    "The first hour that was counted with this monitor and model revision is nearly as "
    "likely a start, so it may have been so before."
)

_DATA = {
    DataSet.AS_LOGGED: "as logged",
    DataSet.COUNTERFACTUAL: "counterfactual",
    DataSet.LABELLED: "on labelled records",
}
_GRAVEST = (
    FigureLabel.UNFAIR,
    FigureLabel.UNDER_REVIEW,
    FigureLabel.SUSPECTED,
    FigureLabel.UNDECIDED,
    FigureLabel.RESTARTED,
    FigureLabel.CLOSED,
    FigureLabel.RESOLVED,
    FigureLabel.TOO_FEW,
    FigureLabel.NOT_COMPUTABLE,
    FigureLabel.FAIR,
    FigureLabel.CONFIRMED_FAIR,
)


def name_figure(state: ComparisonState) -> str:
    of = (
        f"by {state.attribute} ({_DATA[state.data]})"
        if state.group is None
        else f"of the monitored groups of {state.attribute} together ({_DATA[state.data]})"
        if state.group == POOLED_GROUP
        else f"of {state.group} ({state.attribute}, {_DATA[state.data]})"
    )
    return f"{CATALOGUE[state.metric].title} {of}"


def say_limit(state: ComparisonState) -> str:
    return (
        f"{'at least' if state.direction is UnfairSide.BELOW else 'at most'} "
        f"{write_minus(f'{state.limit:g}')}"
    )


def say_comparison(state: ComparisonState) -> str:
    return " ".join([f"{name_figure(state)}: {state.statement.sentence}", *list_notes(state)])


def say_state(state: ComparisonState) -> str:
    statement = state.statement
    ends = ""
    if statement.interval is not None:
        low, high = (None if end is None else write_minus(f"{end:.3g}") for end in statement.interval)
        ends = (
            f" 95 % interval, {statement.interval_kind}: {low or 'no lower end'} to {high or 'no upper end'}."
        )
    return f"{statement.state}. {statement.sentence}{ends}"


def list_notes(state: ComparisonState) -> list[str]:
    notes = []
    if state.vanished is not None:
        notes.append(f"{state.vanished[:1].upper()}{state.vanished[1:]}.")
    if state.log_evidence_now is not None and state.log_threshold is not None:
        now, needed = map(_say_factor, (state.log_evidence_now, state.log_threshold))
        notes.append(f"The evidence would now be {now} of {needed}.")
    if state.found_at is not None and state.alarm_at is not None:
        number = state.found_corrections
        cause = (
            f"{number:,} correction{'' if number == 1 else 's'}"
            if number
            else f"hours before {state.found_at:%Y-%m-%d %H:%M} were counted again"
        )
        alarm_at = f"{state.alarm_at:{DAY if state.is_daily else MINUTE}}"
        notes.append(f"Found after {cause}; in these records the alarm falls on {alarm_at}.")
    return notes + ([QUIET] if state.is_quiet else []) + ([STALE] if state.is_stale else [])


def _say_factor(logarithm: float) -> str:
    return f"{math.exp(min(logarithm, _LARGEST)):,.0f}" if logarithm < _LARGEST else f"e^{logarithm:.0f}"


_LARGEST = 30.0
"""Logarithm of the largest evidence that is written out."""


def say_some_group(evidence: DeploymentEvidence) -> str | None:
    """Where most evidence is, without a claim; None without such an alarm."""
    alarm = evidence.era.open_alarm
    if alarm is None:
        return None
    leading = (
        f"{group} ({attribute}, {_DATA[DataSet(data)]}, {CATALOGUE[metric].title.lower()} {direction}: "
        f"{_say_factor(log)})"
        for (data, attribute, group, metric, direction), log in alarm.leading
    )
    return state_words.say_some_group(alarm.comparisons, leading)


def note_first_hour(state: ComparisonState) -> str | None:
    """An unfair comparison may be older than is known."""
    if not state.reaches_first_hour:
        return None
    return FROM_FIRST_HOUR if state.is_from_first_hour else NEARLY_FIRST_HOUR


def sum_up(comparisons: Sequence[ComparisonState]) -> str:
    figures = list_figures(comparisons)
    if not figures:
        return "The monitor has no limit that evidence can be collected on."
    counts = Counter(figure.statement.state for figure in figures)
    phrases = [f"{count:,} {label.lower()}" for label, count in counts.items()]
    without = sum(figure.figure_id is None for figure in figures)
    few = "none of them with" if without == len(figures) else f"{without:,} of them without"
    uncounted = f", {few} a counted hour" if without else ""
    noun = "figure" if len(figures) == 1 else "figures"
    return f"{len(figures):,} {noun}{uncounted}: {', '.join(phrases)}."


def describe_evidence(evidence: DeploymentEvidence) -> list[str]:
    return [sum_up(evidence.comparisons), *list_remarks(evidence)]


def rank_gravity(comparison: ComparisonState) -> int:
    """0 for the gravest."""
    return _GRAVEST.index(comparison.statement.state)


def list_figures(comparisons: Sequence[ComparisonState]) -> list[ComparisonState]:
    sides: dict[FigureKey, list[ComparisonState]] = defaultdict(list)
    for comparison in comparisons:
        sides[comparison.key].append(comparison)
    return sorted(map(find_leading, sides.values()), key=rank_gravity)


def find_leading(sides: Sequence[ComparisonState]) -> ComparisonState:
    """The limit with an open alarm, else the first by its evidence."""
    order = list(EvidenceState)
    return min(sides, key=lambda side: (side.alarm_at is None, order.index(side.evidence)))


def list_remarks(evidence: DeploymentEvidence) -> Iterator[str]:
    era = evidence.era
    settings = evidence.monitor.evidence
    if era.counted_until is None:
        yield "No hour has been counted yet; a worker counts each hour after its end."
    else:
        yield f"Hours before {era.counted_until:%Y-%m-%d %H:%M} UTC are counted."
    if any(comparison.is_from_first_hour for comparison in evidence.comparisons):
        yield "What is unfair since the first hour that was counted with this monitor and model revision may have been so before."
    if era.problem is not None:
        yield f"No further hour is counted: {era.problem.rstrip('.')}."
    for missed in era.missed:
        hours = "1 hour" if missed.hours == 1 else f"{missed.hours:,} hours"
        if missed is era.waits:
            away = f"{missed.since:%Y-%m-%d %H:%M}"
            yield f"Counterfactual figures wait for the model since {away} UTC: {hours}."
        else:
            reason = f"revision {missed.revision} no longer answers"
            yield f"Counterfactual figures of {hours} are missing: {reason}."
    for data, counted in evidence.records.items():
        suffix = "" if data is DataSet.AS_LOGGED else f", {_DATA[data]}"
        yield from (f"{records.attribute}{suffix}: {line}" for records in counted for line in records.lines)
    if era.left_out_from is not None:
        yield f"These are the records of hours from {era.left_out_from:%Y-%m-%d %H:%M} UTC on; before, only those that count were counted."
    for label, problem in evidence.problems.items():
        yield f"Of {label}, not every hour is counted: {problem}."
    if era.starts_at is not None:
        yield f"Of model revision {evidence.model_revision}, hours from {era.starts_at:%Y-%m-%d %H:%M} UTC on count."
    later: dict[datetime, dict[str, None]] = defaultdict(dict)
    for comparison in evidence.comparisons:
        if comparison.starts_at is not None and comparison.starts_at != era.starts_at:
            later[comparison.starts_at][comparison.attribute] = None
    for starts_at, labels in sorted(later.items()):
        yield f"Of {', '.join(labels)}, hours from {starts_at:%Y-%m-%d %H:%M} UTC on count: the monitor was changed then."
    for attribute in evidence.monitor.attributes:
        if attribute.found_by is not None:
            yield f"{attribute.feature} was {attribute.found_by.words}; only records after that search count."
    if settings.person is not None:
        number = era.persons[-1][0]
        only = f"From {find_hour_start(number):%Y-%m-%d %H:%M} UTC on, only" if number else "Only"
        yield f"{only} the first record of each person counts; {settings.person} says whose record it is."
    if era.late_labels:
        arrived, verb = ("1 label", "does") if era.late_labels == 1 else (f"{era.late_labels:,} labels", "do")
        yield f"{arrived} arrived more than {settings.label_horizon_hours:,} hours after the record and {verb} not count."
    if era.counted_until is not None:
        yield evidence.guarantee
        if settings.divisor > 1:
            yield TELL_PERSONS
    if evidence.corrected is not None:
        yield evidence.corrected
    if (some_group := say_some_group(evidence)) is not None:
        yield some_group
