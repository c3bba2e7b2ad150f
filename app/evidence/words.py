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
from ..statistics.e_values.state_words import DAY, MINUTE, EvidenceState, FigureLabel, capitalise
from ..statistics.sentences.figure_sentences import write_minus
from .figure_state import find_hour_start
from .present_state import ComparisonState, DeploymentEvidence
from .queries.eras import Era

NO_MONITOR = (
    "No evidence is collected: the deployment has no fairness monitor, whose limits evidence is collected on."
)

DECLARE_PERSONS = (
    "Say whose records they are, under Configure or with the monitor: evidence.person names the column of a "
    "person's id, evidence.each_record_another_person declares that no two records are of one person. "
    "Evidence then counts in full from the next hour on."
)

NO_NEW_EVIDENCE = (
    "No new evidence for 7 days: neither that it is still beyond its limit, nor that it is back inside."
)
TO_BE_RECOMPUTED = "A past hour has changed; a worker is about to compute this again."

FROM_FIRST_HOUR = (
    "No hour before it was counted with this monitor and model revision, so it may have been so before."
)

NEARLY_FIRST_HOUR = (
    "The first hour that was counted with this monitor and model revision is nearly as "
    "likely a start, so it may have been so before."
)

_DATA_WORDS = {
    DataSet.AS_LOGGED: "as logged",
    DataSet.COUNTERFACTUAL: "counterfactual",
    DataSet.LABELLED: "on labelled records",
}
_LABELS_BY_GRAVITY = (
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
"""The gravest first. Unlike in `verdicts.GRAVEST`, figures without a judgement come before fair ones.

Over time they are undecided so far, as in `state_words.VERDICTS`; in a finished check the judged figures
speak.
"""

_MAX_WRITTEN_LOGARITHM = 30.0
"""Logarithm of the largest evidence that is written out."""


def name_figure(state: ComparisonState) -> str:
    data = _DATA_WORDS[state.data]
    if state.group is None:
        subject = f"by {state.attribute} ({data})"
    elif state.group == POOLED_GROUP:
        subject = f"of the monitored groups of {state.attribute} together ({data})"
    else:
        subject = f"of {state.group} ({state.attribute}, {data})"
    return f"{CATALOGUE[state.metric].title} {subject}"


def say_limit(state: ComparisonState) -> str:
    return (
        f"{'at least' if state.direction is UnfairSide.BELOW else 'at most'} "
        f"{write_minus(f'{state.limit:g}')}"
    )


def say_comparison(state: ComparisonState) -> str:
    return " ".join([f"{name_figure(state)}: {state.statement.sentence}", *list_figure_notes(state)])


def say_state(state: ComparisonState) -> str:
    statement = state.statement
    interval = ""
    if statement.interval is not None:
        low, high = (None if end is None else write_minus(f"{end:.3g}") for end in statement.interval)
        interval = (
            f" 95 % interval, {statement.interval_kind}: {low or 'no lower end'} to {high or 'no upper end'}."
        )
    return f"{statement.state}. {statement.sentence}{interval}"


def list_figure_notes(state: ComparisonState) -> list[str]:
    notes = []
    if state.vanished is not None:
        notes.append(f"{capitalise(state.vanished)}.")
    if state.log_evidence_now is not None and state.log_threshold is not None:
        now, needed = map(_say_factor, (state.log_evidence_now, state.log_threshold))
        notes.append(f"The evidence would now be {now} of {needed}.")
    if state.found_at is not None and state.alarm_at is not None:
        number = state.found_corrections
        cause = (
            f"{number:,} correction{'' if number == 1 else 's'}"
            if number
            else f"hours before {state.found_at:{MINUTE}} were counted again"
        )
        alarm_at = f"{state.alarm_at:{DAY if state.is_daily else MINUTE}}"
        notes.append(f"Found after {cause}; in these records the alarm falls on {alarm_at}.")
    return (
        notes + ([NO_NEW_EVIDENCE] if state.is_quiet else []) + ([TO_BE_RECOMPUTED] if state.is_stale else [])
    )


def _say_factor(logarithm: float) -> str:
    if logarithm < _MAX_WRITTEN_LOGARITHM:
        return f"{math.exp(logarithm):,.0f}"
    return f"e^{logarithm:.0f}"


def say_some_group(evidence: DeploymentEvidence) -> str | None:
    """Says which figures hold most of the evidence that some group is unfair; None without an open alarm of
    it.
    """
    alarm = evidence.era.open_alarm
    if alarm is None:
        return None
    leading = (
        f"{group} ({attribute}, {_DATA_WORDS[DataSet(data)]}, {CATALOGUE[metric].title.lower()} {direction}: "
        f"{_say_factor(log)})"
        for (data, attribute, group, metric, direction), log in alarm.leading
    )
    return state_words.say_some_group(alarm.comparisons, leading)


def note_first_hour(state: ComparisonState) -> str | None:
    """Says that an unfair comparison may be older than is known; None where that is excluded."""
    if not state.reaches_first_hour:
        return None
    return FROM_FIRST_HOUR if state.is_from_first_hour else NEARLY_FIRST_HOUR


def sum_up(comparisons: Sequence[ComparisonState]) -> str:
    figures = list_figures(comparisons)
    if not figures:
        return "The monitor has no limit that evidence can be collected on."
    counts = Counter(figure.statement.state for figure in figures)
    phrases = [f"{count:,} {label.lower()}" for label, count in counts.items()]
    uncounted = sum(figure.figure_id is None for figure in figures)
    share = "none of them with" if uncounted == len(figures) else f"{uncounted:,} of them without"
    clause = f", {share} a counted hour" if uncounted else ""
    noun = "figure" if len(figures) == 1 else "figures"
    return f"{len(figures):,} {noun}{clause}: {', '.join(phrases)}."


def describe_evidence(evidence: DeploymentEvidence) -> list[str]:
    return [sum_up(evidence.comparisons), *list_remarks(evidence)]


def rank_gravity(comparison: ComparisonState) -> int:
    return _LABELS_BY_GRAVITY.index(comparison.statement.state)


def list_figures(comparisons: Sequence[ComparisonState]) -> list[ComparisonState]:
    """The gravest figure is first."""
    by_figure: dict[FigureKey, list[ComparisonState]] = defaultdict(list)
    for comparison in comparisons:
        by_figure[comparison.key].append(comparison)
    return sorted(map(find_leading, by_figure.values()), key=rank_gravity)


def find_leading(limits: Sequence[ComparisonState]) -> ComparisonState:
    """Of a figure's limits, the one with an open alarm, else the one whose evidence is first in
    EvidenceState.
    """
    states = list(EvidenceState)
    return min(limits, key=lambda limit: (limit.alarm_at is None, states.index(limit.evidence)))


def list_remarks(evidence: DeploymentEvidence) -> Iterator[str]:
    """Up to when hours are counted, and what does not count."""
    yield from _list_progress(evidence)
    yield from _list_missing_hours(evidence.era)
    yield from _list_left_out(evidence)
    yield from _list_starts(evidence)
    yield from _list_counted_persons(evidence)
    if evidence.corrected is not None:
        yield evidence.corrected
    some_group = say_some_group(evidence)
    if some_group is not None:
        yield some_group


def _list_progress(evidence: DeploymentEvidence) -> Iterator[str]:
    era = evidence.era
    if era.counted_until is None:
        yield "No hour has been counted yet; a worker counts each hour after its end."
    else:
        yield f"Hours before {era.counted_until:{MINUTE}} UTC are counted."
    if any(comparison.is_from_first_hour for comparison in evidence.comparisons):
        yield (
            "What is unfair since the first hour that was counted with this monitor and model revision may "
            "have been so before."
        )
    if era.problem is not None:
        yield f"No further hour is counted: {era.problem.rstrip('.')}."


def _list_missing_hours(era: Era) -> Iterator[str]:
    for missed in era.missed:
        hours = "1 hour" if missed.hours == 1 else f"{missed.hours:,} hours"
        if missed is era.waits:
            yield f"Counterfactual figures wait for the model since {missed.since:{MINUTE}} UTC: {hours}."
        else:
            reason = f"revision {missed.revision} no longer answers"
            yield f"Counterfactual figures of {hours} are missing: {reason}."


def _list_left_out(evidence: DeploymentEvidence) -> Iterator[str]:
    era = evidence.era
    for data, counted in evidence.records.items():
        suffix = "" if data is DataSet.AS_LOGGED else f", {_DATA_WORDS[data]}"
        yield from (f"{records.attribute}{suffix}: {line}" for records in counted for line in records.lines)
    if era.left_out_from is not None:
        yield (
            f"These are the records of hours from {era.left_out_from:{MINUTE}} UTC on; before, only those "
            "that count were counted."
        )
    for label, problem in evidence.problems.items():
        yield f"Of {label}, not every hour is counted: {problem}."


def _list_starts(evidence: DeploymentEvidence) -> Iterator[str]:
    era = evidence.era
    if era.starts_at is not None:
        revision = evidence.model_revision
        yield f"Of model revision {revision}, hours from {era.starts_at:{MINUTE}} UTC on count."
    by_start: dict[datetime, dict[str, None]] = defaultdict(dict)
    for comparison in evidence.comparisons:
        if comparison.starts_at is not None and comparison.starts_at != era.starts_at:
            by_start[comparison.starts_at][comparison.attribute] = None
    for starts_at, labels in sorted(by_start.items()):
        hours = f"hours from {starts_at:{MINUTE}} UTC on count"
        yield f"Of {', '.join(labels)}, {hours}: the monitor was changed then."
    for attribute in evidence.monitor.attributes:
        if attribute.found_by is not None:
            yield f"{attribute.feature} was {attribute.found_by.words}; only records after that search count."


def _list_counted_persons(evidence: DeploymentEvidence) -> Iterator[str]:
    era = evidence.era
    settings = evidence.monitor.evidence
    if settings.person is not None:
        number = era.persons[-1][0]
        only = f"From {find_hour_start(number):{MINUTE}} UTC on, only" if number else "Only"
        yield f"{only} the first record of each person counts; {settings.person} says whose record it is."
    if era.late_labels:
        arrived, verb = ("1 label", "does") if era.late_labels == 1 else (f"{era.late_labels:,} labels", "do")
        horizon = f"{settings.label_horizon_hours:,} hours after the record"
        yield f"{arrived} arrived more than {horizon} and {verb} not count."
    if era.counted_until is not None:
        yield evidence.guarantee
        if settings.divisor > 1:
            yield DECLARE_PERSONS
