"""The report that `evidence` prints."""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import timedelta

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...domain.record_times import LeftOutTimes
from ...library.frame_hours import DAY_HOURS
from ...library.hours_of_groups import FIGURES, ComparisonEvidence, Evidence
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.e_values.state_words import (
    DAY,
    MINUTE,
    NOT_COVERED,
    FigureState,
    IntervalKind,
    choose_form,
)
from .metrics_report import printable

COLOURS = {FigureState.UNFAIR: "red", FigureState.CONFIRMED_FAIR: "green", FigureState.FAIR: "green"}

BARS = "▁▂▃▄▅▆▇█"
BAR_COUNT = 20
"""Max bars of a comparison; each shows the highest value of its hours."""


def render_evidence(evidence: Evidence, name: str, console: Console) -> str:
    """Report of a file of that name."""
    with console.capture() as capture:
        for line in _list_heading(evidence, name):
            console.print(escape(fill(line, console.width)))
        console.print(_build_table(evidence))
        for note in _list_notes(evidence):
            console.print(escape(fill(note, console.width)), soft_wrap=True)
        console.print()
        for sentence in dict.fromkeys(map(phrase_evidence, evidence.comparisons)):
            console.print(escape(fill(sentence, console.width, "• ")), soft_wrap=True)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def phrase_evidence(evidence: ComparisonEvidence) -> str:
    group = printable(evidence.group)
    earlier = sum(episode.resolved is not None for episode in evidence.episodes)
    times = "once" if earlier == 1 else f"{earlier} times"
    history = f" It was found unfair {times} before, and back inside the limit since." if earlier else ""
    alarm = ""
    if evidence.alarm_at is not None:
        at = f"on {evidence.alarm_at:{DAY}}" if evidence.is_daily else f"at {evidence.alarm_at:{MINUTE}}"
        alarm = f" The evidence was enough {at}."
    return (
        f"{FIGURES[evidence.metric][0]}, {evidence.attribute} {group}: {evidence.statement.sentence}"
        f"{alarm}{history}"
    )


def _list_heading(evidence: Evidence, name: str) -> Iterator[str]:
    # The last day, but the end of the last hour.
    last = evidence.first + timedelta(hours=evidence.hours - evidence.is_daily)
    span = count_blocks(evidence.hours, is_daily=evidence.is_daily)
    form = DAY if evidence.is_daily else MINUTE
    when = f"{span}, {evidence.first:{form}} to {last:{form}}" if evidence.has_times else "without times, one block"
    yield f"{name}: {when}. {evidence.records.text}"
    yield from say_left_out(evidence.left_out)
    yield from evidence.records.lines[1:]
    yield f"Favourable: {', '.join(evidence.favourable)}."
    if evidence.chosen is not None:
        yield f"{evidence.chosen[:1].upper()}{evidence.chosen[1:]}."
    if evidence.labels is not None:
        yield evidence.labels
    for warning in evidence.warnings:
        yield f"Warning: {warning}."


def _build_table(evidence: Evidence) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("metric", "group", "limit", "interval", "state", "since (UTC)", "evidence"):
        table.add_column(
            heading,
            justify="right" if heading in ("limit", "interval") else "left",
            no_wrap=heading != "group",
        )
    before = None
    for comparison in evidence.comparisons:
        figure = (comparison.metric, comparison.group)
        title = group = interval = since = state = ""
        if figure != before:
            title, group = escape(FIGURES[comparison.metric][0]), escape(printable(comparison.group))
            statement = comparison.statement
            ends = statement.interval or ()
            interval = " to ".join("open" if end is None else _format(end) for end in ends)
            state = statement.state.value
            if statement.state in COLOURS:
                state = f"[{COLOURS[statement.state]}]{state}[/]"
        before = figure
        limit = f"{'≥' if comparison.direction is UnfairSide.BELOW else '≤'} {_format(comparison.limit)}"
        if comparison.since is not None:
            form = choose_form(comparison.earliest, comparison.latest, DAY if comparison.is_daily else MINUTE)
            since = f"{comparison.since:{form}}"[5:]
        table.add_row(title, group, limit, interval, state, since, _draw_bars(comparison))
    return table


TELL_PERSONS = (
    "Say whose records they are: --person COLUMN names the column of a person's id, "
    "--each-record-another-person NAME declares that no two are of one person. Evidence then counts in full."
)


def _list_notes(evidence: Evidence) -> Iterator[str]:
    if evidence.some_group is not None:
        yield evidence.some_group
    span = count_blocks(max(1, round(evidence.hours / BAR_COUNT)), is_daily=evidence.is_daily)
    yield (
        f"Evidence: one bar for {'' if span.startswith('1 ') else 'about '}{span}; a full bar is enough for "
        f"an alarm. {evidence.guarantee} {NOT_COVERED}"
    )
    if evidence.divisor > 1:
        yield TELL_PERSONS
    kinds = dict.fromkeys(comparison.statement.interval_kind for comparison in evidence.comparisons)
    meanings = [f"{kind}: {INTERVALS[kind]}" for kind in kinds if kind is not None]
    if meanings:
        yield f"Interval, 95 %, {'; '.join(meanings)}."


INTERVALS = {
    IntervalKind.ONSET: "of the records since the figure is unfair",
    IntervalKind.CHAPTER: "of all records since the last alarm or the first record",
    IntervalKind.HOUR: "of the newest records alone",
}


def _draw_bars(evidence: ComparisonEvidence) -> str:
    """Draws the evidence over time; a full bar is the evidence that an alarm needs."""
    heights = np.clip(evidence.log_evidence / evidence.log_threshold, 0, 1)
    for episode in evidence.episodes:
        heights[episode.alarm : len(heights) if episode.resolved is None else episode.resolved] = 1.0
    blocks = heights[:: DAY_HOURS if evidence.is_daily else 1]
    highest = [float(piece.max()) for piece in np.array_split(blocks, min(BAR_COUNT, len(blocks)))]
    return "".join(BARS[min(int(height * len(BARS)), len(BARS) - 1)] for height in highest)


def _format(number: float) -> str:
    return f"{number:.3g}"


def say_left_out(times: Sequence[LeftOutTimes]) -> Iterator[str]:
    if times:
        yield f"Times that cannot be: {', '.join(map(str, times))}."


def count_blocks(hours: int, *, is_daily: bool) -> str:
    """`240 hours`, or `10 days` where only days are known."""
    number, unit = (-(-hours // DAY_HOURS), "day") if is_daily else (hours, "hour")
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def fill(text: str, width: int, bullet: str = "") -> str:
    """Returns lines of at most `width` characters, the first of which begins with the bullet."""
    return textwrap.fill(
        printable(text),
        width,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_on_hyphens=False,
    )
