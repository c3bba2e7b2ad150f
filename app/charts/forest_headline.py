"""Headline of a forest in one sentence: who, by how much, how sure, since when."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain

from ..base.values import frozen
from ..checks.views.explain_figure import describe_measurement
from ..domain.check import SIDES, DataSet, Measurement
from ..domain.groups import GroupWords
from ..evidence.words import rank_gravity, say_state
from ..statistics.catalogue import CATALOGUE
from ..statistics.catalogue.metric import RateComparison
from ..statistics.e_values.state_words import capitalise
from ..statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Limits, Value, Verdict
from ..statistics.measures.worst_group import (
    Disadvantaged,
    find_disadvantaged,
    invert_ratio,
    is_ratio,
    mirror_limits,
    widen_for_choice,
)
from ..statistics.sentences.figure_sentences import count_digits, format_figure, say_how_often, say_of_100
from .forest import STRIP_CHECKS, Forest, ForestFigure, ForestRow, StripPoint, find_rate

NO_FIGURES = "No check has measured anything yet"

_MIN_DIGITS = 2
_FAVOURABLE = "favourable"
"""Rate whose ratio says how often a group gets the favourable outcome."""

SHARED_RECORDS = "Checks share records: hours with few are topped up with earlier ones."
"""Said where verdicts of several checks are counted: they are no independent measurements."""

CHOICE_OF_ATTRIBUTE = "The verdict allows for the choice among the groups of its attribute"

_FROM_BEFORE = "it may have been so before: no earlier hour was counted with this monitor and model revision"


@frozen
class ForestHeadline:
    """Headline about a row, or None. `rest` completes `lead`; `age` says that figures are old.

    `interval` leads, `own` is the figure's own; `note` explains the first and may be empty. `windows` say of
    how many records the figure is, and its state over many hours. Each of the `parts` begins with a word of
    ours, never with a name, so that it can be capitalised.
    """

    lead: str
    rest: str = ""
    interval: str = ""
    own: str = ""
    note: str = ""
    windows: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    age: tuple[str, ...] = ()
    row: ForestRow | None = None

    @property
    def verdict(self) -> Verdict | None:
        return None if self.row is None else self.row.verdict

    @property
    def text(self) -> str:
        return " · ".join((self.lead, *([self.interval] if self.interval else []), *self.parts))


@frozen
class Clause:
    """Figure without a full stop, and its 95 % interval, empty where the clause has it or there is none.

    `own_interval` is the figure's own; all numbers have equally many decimals. `note` says which interval
    was chosen.
    """

    text: str
    interval: str = ""
    own_interval: str = ""
    note: str = ""


def word_forest(forest: Forest) -> ForestHeadline:
    """Words the gravest row; the sentence is true also where nothing is judged, and without a row."""
    if forest.check is None:
        return ForestHeadline(NO_FIGURES)
    age = tuple(_say_age(forest))
    title = CATALOGUE[forest.metric].title if forest.metric in CATALOGUE else forest.metric
    if not forest.rows:
        return ForestHeadline(
            f"The check did not measure the {title.lower()} of any group", parts=age, age=age
        )
    row = forest.rows[0]
    measurement = row.leading.measurement
    if measurement.value is None:
        lead = f"{title} of {row.name} cannot be computed: {measurement.reason or 'no reason is known'}"
        return ForestHeadline(lead, parts=age, age=age, row=row)
    if row.verdict is Verdict.INSUFFICIENT_DATA:
        sizes = (
            f"records of {row.name}: {row.n}, of {row.reference_name}: {row.n_reference}; fewer than "
            f"{MINIMUM_GROUP_SIZE} on a side"
        )
        return ForestHeadline("No comparison has a verdict", parts=(sizes, *age), age=age, row=row)

    clause = allow_for_choice(forest, row)
    if row.leading.statement is not None:
        statement = row.leading.statement
        # The fact comes first in most sentences.
        is_first = bool(statement.fact) and statement.sentence.startswith(statement.fact)
        lead = statement.fact if is_first else statement.sentence
        check_note = f"The newest check alone: {clause.text} ({clause.interval or clause.own_interval})"
        remarks = (check_note, clause.note, *map(capitalise, _say_shortfall(forest, row)))
        return ForestHeadline(
            lead,
            rest=statement.sentence.removeprefix(lead),
            note=". ".join(remark for remark in remarks if remark),
            parts=age,
            age=age,
            row=row,
        )
    remarks = (*say_history(forest, row), *age)
    windows = tuple(say_windows(forest, row))
    if row.verdict is Verdict.UNFAIR and share_records(row.leading.strip):
        windows = (*windows, SHARED_RECORDS)
    # A row is as grave as its gravest figure, so no other comparison is outside its limits.
    if row.verdict is Verdict.FAIR:
        unjudged = sum(comparison.verdict is not Verdict.FAIR for comparison in forest.rows)
        opening = (
            "No comparison with a verdict is outside its limits"
            if unjudged
            else "Every comparison is inside its limits"
        )
        lead = f"{opening}. Nearest to a limit: {clause.text}"
    elif row.verdict is Verdict.UNDECIDED:
        lead = f"No comparison is outside its limits, but this one may be: {clause.text}"
    else:
        lead = capitalise(clause.text)
    return ForestHeadline(
        lead,
        interval=clause.interval,
        own=clause.own_interval or clause.interval,
        note=clause.note,
        windows=windows,
        parts=remarks,
        age=age,
        row=row,
    )


def allow_for_choice(forest: Forest, row: ForestRow) -> Clause:
    """Words the leading figure of a row; its interval allows for the choice among the forest's figures."""
    figure = row.leading
    stored = row.leading.measurement
    clause = word_figure(row, figure, forest.words)
    if forest.compared <= 1 or stored.value is None:
        return clause
    choice_note = (
        f"this one of {forest.compared} figures was picked as the worst, and by chance the worst of "
        "several looks worse than it is"
    )
    value_alone = Value(stored.value, stored.lower, stored.upper, str(stored.interval_method), stored.n)
    widened = widen_for_choice(CATALOGUE[stored.metric], value_alone, forest.compared)
    wide_clause = word_figure(row, figure, forest.words, ends=(widened.lower, widened.upper))
    if clause.interval:
        return replace(
            wide_clause,
            note=f"95 % interval, made wider because {choice_note}; "
            f"the figure by itself: {wide_clause.own_interval}. {CHOICE_OF_ATTRIBUTE}",
        )
    # The sentence of such a figure has its own interval.
    interval = format_figure(stored.value, widened.lower, widened.upper).interval
    return replace(
        clause,
        note=f"{choice_note}: with that allowed for, the 95 % interval is {interval}. {CHOICE_OF_ATTRIBUTE}",
    )


def word_figure(
    row: ForestRow, figure: ForestFigure, names: GroupWords, *, ends: Limits | None = None
) -> Clause:
    """Words a figure from the side at a disadvantage; only ratios of favourable outcomes are inverted.

    `ends` replace the figure's own interval, which is `own_interval` then.
    """
    stored = figure.measurement
    metric = CATALOGUE[figure.measurement.metric]
    is_favoured = (
        is_ratio(metric) and isinstance(metric.measure, RateComparison) and metric.measure.rate == _FAVOURABLE
    )
    is_counterfactual = stored.data is DataSet.COUNTERFACTUAL
    # Copies of an attribute that the model does not see are not the same records.
    if stored.value is None or not is_favoured or (is_counterfactual and row.is_unseen):
        return Clause(describe_measurement(names.rename(stored)).rstrip("."))
    value = stored.value
    groups = (row.group, row.reference)
    intervals = [(stored.lower, stored.upper), *([] if ends is None else [ends])]
    marks = [mark for mark in (*figure.limits, *mirror_limits(metric, figure.limits)) if mark is not None]
    inverted = []
    if _find_disadvantaged(figure) is Disadvantaged.REFERENCE:
        ratios = [invert_ratio(value, *bounds) for bounds in intervals]
        inverted = [ratio for ratio in ratios if ratio is not None]
    if inverted:
        value = inverted[0].value
        groups = (row.reference, row.group)
        intervals = [(ratio.lower, ratio.upper) for ratio in inverted]
        marks = [1 / mark for mark in marks if mark > 0]
    numbers = [number for number in (value, *chain(*intervals)) if number is not None]
    digits = max(count_digits(number, (0.0, 1.0, *marks), _MIN_DIGITS) for number in numbers)
    texts = [
        f"ratio {value:.{digits}f} ({lower or 0:.{digits}f}"
        f"{' and more' if upper is None else f'–{upper:.{digits}f}'})"
        for lower, upper in intervals
    ]
    interval = texts[-1]
    own_interval = "" if ends is None else texts[0]
    often = say_how_often(value)
    counts = _say_rates(stored, value, is_inverted=bool(inverted))
    if is_counterfactual:
        first, second = (names.role(row.attribute, group) for group in groups)
        text = (
            f"scored as {first}, the same records {names.favourable} {often} when scored as {second}{counts}"
        )
    else:
        first, second = (names.subject(row.attribute, group) for group in groups)
        text = f"{first} {names.favourable} {often} {second}{counts}"
    return Clause(text, interval=interval, own_interval=own_interval)


def _find_disadvantaged(figure: ForestFigure) -> Disadvantaged | None:
    """Finds the side at a disadvantage by the check's value, also where the figure is of all hours."""
    measurement = figure.measurement
    return find_disadvantaged(
        CATALOGUE[measurement.metric], measurement.value, figure.limits, measurement.verdict
    )


def _say_rates(measurement: Measurement, ratio: float, *, is_inverted: bool) -> str:
    """Says both rates, of the side at a disadvantage first; empty unless the stored counts make the ratio."""
    sides = map(measurement.details.counts_of, SIDES)
    rates = [find_rate(counts.get(_FAVOURABLE), counts.get("n")) for counts in sides]
    rate, reference = reversed(rates) if is_inverted else rates
    if rate is None or not reference or not math.isclose(rate / reference, ratio):
        return ""
    return f" {say_of_100(rate, reference)}"


def say_windows(forest: Forest, row: ForestRow) -> Iterator[str]:
    """Says of how many records the check's figure is, and the state over many hours."""
    if forest.check is not None and row.n is not None and row.n_reference is not None:
        at = forest.check.measured_at.astimezone(UTC)
        scored = (
            ", each scored as both"
            if row.leading.measurement.data is DataSet.COUNTERFACTUAL and not row.is_unseen
            else ""
        )
        yield (
            f"In this check (up to {format_day(at, forest.year)} {at:%H:%M} UTC): {row.n:,} records of "
            f"{row.name} and {row.n_reference:,} of {row.reference_name}{scored}."
        )
    if row.evidence is not None:
        yield f"State: {say_state(row.evidence)}"


def format_day(at: datetime, year: int | None) -> str:
    """`19 Nov` in UTC, with a year other than `year`."""
    moment = at.astimezone(UTC)
    return f"{moment.day} {moment:%b}" if moment.year == year else f"{moment.day} {moment:%b} {moment.year}"


def count_verdicts(strip: Sequence[StripPoint], verdict: Verdict) -> str:
    """Says `3 of the last 72 checks`."""
    if len(strip) == 1:
        return "the only check" if strip[0].verdict == verdict else "no check"
    # There may be more checks than those that are shown.
    count = f"the last {len(strip)}" if len(strip) >= STRIP_CHECKS else f"{len(strip)}"
    return f"{sum(point.verdict == verdict for point in strip)} of {count} checks"


def share_records(strip: Sequence[StripPoint]) -> bool:
    return len(strip) > 1 and any(point.is_topped_up for point in strip)


def say_history(forest: Forest, row: ForestRow) -> Iterator[str]:
    """Says the gravest state over time, what the verdict means, and how many outcomes a group is short of."""
    # The newest hour may be fair by chance, or have too few records.
    states = [
        (figure.evidence, other)
        for other in (row, *forest.rows)
        for figure in other.figures
        if figure.evidence is not None
    ]
    if states:
        state, other = min(states, key=lambda pair: rank_gravity(pair[0]))
        of_group = "" if other is row else f" for {other.name}"
        yield f"state: {state.words[:1].lower()}{state.words[1:]}{of_group}"
        if state.reaches_first_hour:
            yield _FROM_BEFORE
    match row.verdict:
        case Verdict.UNFAIR:
            yield f"unfair in {count_verdicts(row.strip, Verdict.UNFAIR)}"
        case Verdict.SUSPECTED:
            yield "suspected, not certain: its own interval reaches the limit"
        case Verdict.UNDECIDED:
            yield "undecided: its own interval reaches beyond a limit"
        case Verdict.UNWATCHED:
            yield "no limit is set on this side"
        case None:
            yield "no limit is set"
    yield from _say_shortfall(forest, row)


def _say_shortfall(forest: Forest, row: ForestRow) -> Iterator[str]:
    measurement = row.leading.measurement
    shortfall = measurement.details.shortfall
    is_short = (
        _find_disadvantaged(row.leading) is Disadvantaged.MONITORED and measurement.data is DataSet.AS_LOGGED
    )
    if shortfall is not None and round(shortfall) >= 1 and is_short:
        reference = forest.words.subject(row.attribute, row.reference)
        yield f"{round(shortfall):,} fewer favourable outcomes in this check than at the rate of {reference}"


def _say_age(forest: Forest) -> Iterator[str]:
    if forest.check is None:
        return
    at = f"{forest.check.measured_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if forest.is_stale:
        yield f"stale: measured up to {at}"
    if forest.is_outdated:
        yield "measured with an earlier version of the monitor"
