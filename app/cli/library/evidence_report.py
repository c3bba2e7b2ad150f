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
from ...library.hours_of_groups import ComparisonEvidence, Evidence
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.e_values.state_words import DAY, MINUTE, State, choose_form, say_start
from .metrics_report import printable

COLOURS = {State.UNFAIR: "red", State.SHOWN_FAIR: "green"}
FIGURES = {
    "disparate_impact": ("disparate impact", "favourable rate"),
    "true_positive_rate_difference": ("TPR difference", "true positive rate"),
    "false_positive_rate_difference": ("FPR difference", "false positive rate"),
    "accuracy_difference": ("accuracy difference", "accuracy"),
}
"""Title of each metric, and the rate that it compares."""


BARS = "▁▂▃▄▅▆▇█"
BAR_COUNT = 20
"""Max bars of a comparison; each shows the highest value of its hours."""


def render_evidence(evidence: Evidence, name: str, console: Console, condition: str) -> str:
    """Report of a file of that name; `condition` is that of the bound on false alarms."""
    with console.capture() as capture:
        for line in _list_heading(evidence, name):
            console.print(escape(fill(line, console.width)))
        console.print(_build_table(evidence))
        for note in _list_notes(evidence, condition):
            console.print(escape(fill(note, console.width)), soft_wrap=True)
        console.print()
        for sentence in map(phrase_evidence, evidence.comparisons):
            console.print(escape(fill(sentence, console.width, "• ")), soft_wrap=True)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def phrase_evidence(evidence: ComparisonEvidence) -> str:
    (_, rate), group = FIGURES[evidence.metric], f"{evidence.attribute} {evidence.group}"
    form, unit = (DAY, "day") if evidence.is_daily else (MINUTE, "hour")
    is_below = evidence.direction is (
        UnfairSide.ABOVE if evidence.metric == "accuracy_difference" else UnfairSide.BELOW
    )
    if evidence.metric == "disparate_impact":
        claim = (
            f"{'less' if is_below else 'more'} than {_format(evidence.limit)} times that of "
            f"{evidence.reference}"
        )
    else:
        side = "below" if is_below else "above"
        claim = f"more than {_format(100 * abs(evidence.limit))} points {side} that of {evidence.reference}"
    earlier = sum(episode.resolved is not None for episode in evidence.episodes)
    times = "once" if earlier == 1 else f"{earlier} times"
    history = f" It was found unfair {times} before, and back inside the limit since." if earlier else ""
    if evidence.state is State.UNFAIR and evidence.since and evidence.alarm_at:
        return (
            f"{group}: the {rate} is {claim} since "
            f"{say_start(evidence.since, evidence.earliest, evidence.latest, form)}; the evidence was enough "
            f"{'on' if evidence.is_daily else 'at'} {evidence.alarm_at:{form}}.{history}"
        )
    if evidence.state is State.SHOWN_FAIR and evidence.since:
        return (
            f"{group}: shown fair since {evidence.since:{form}}; the {unit}s refute that the {rate} is "
            f"always {claim}.{history}"
        )
    forecast = ""
    if evidence.more_hours is not None:
        forecast = (
            " At this traffic and these rates it needs about "
            f"{count_blocks(evidence.more_hours, is_daily=evidence.is_daily)} more."
        )
    return f"{group}: undecided whether the {rate} is {claim}.{forecast}{history}"


def _list_heading(evidence: Evidence, name: str) -> Iterator[str]:
    # The last day, but the end of the last hour.
    last = evidence.first + timedelta(hours=evidence.hours - evidence.is_daily)
    span = count_blocks(evidence.hours, is_daily=evidence.is_daily)
    form = DAY if evidence.is_daily else MINUTE
    yield f"{name}: {span}, {evidence.first:{form}} to {last:{form}}. {evidence.records.text}"
    yield from say_left_out(evidence.left_out)
    yield from evidence.records.lines[1:]
    yield f"Favourable: {', '.join(evidence.favourable)}."
    if evidence.chosen:
        yield f"{evidence.chosen[:1].upper()}{evidence.chosen[1:]}."
    if evidence.labels:
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
        title = group = interval = since = ""
        if figure != before:
            title = escape(FIGURES[comparison.metric][0])
            group = escape(printable(comparison.group))
            interval = " to ".join("open" if end is None else _format(end) for end in comparison.interval)
        before = figure
        limit = f"{'≥' if comparison.direction is UnfairSide.BELOW else '≤'} {_format(comparison.limit)}"
        state = comparison.state.value.replace("_", " ")
        if comparison.state in COLOURS:
            state = f"[{COLOURS[comparison.state]}]{state}[/]"
        if comparison.since:
            form = choose_form(comparison.earliest, comparison.latest, DAY if comparison.is_daily else MINUTE)
            since = f"{comparison.since:{form}}"[5:]
        table.add_row(title, group, limit, interval, state, since, _draw_bars(comparison))
    return table


def _list_notes(evidence: Evidence, condition: str) -> Iterator[str]:
    span = count_blocks(max(1, round(evidence.hours / BAR_COUNT)), is_daily=evidence.is_daily)
    yield (
        f"Evidence: one bar for {'' if span.startswith('1 ') else 'about '}{span}; a full bar is enough for "
        f"an alarm. All {len(evidence.comparisons)} comparisons together raise at most one false alarm a "
        f"year on average{condition}, however often they are looked at."
    )
    yield (
        "Interval: with 95 % probability it contains the figure at all times since the last alarm or its "
        "end, as long as the figure does not change."
    )


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
