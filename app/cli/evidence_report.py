"""The report that `evidence` prints."""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import timedelta

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..domain.record_times import LeftOutTimes
from ..evidence.nulls import UnfairSide
from ..evidence.sentences import DAY, MINUTE, State, choose_form, say_start
from ..frames.evidence import ComparisonEvidence, Evidence
from ..frames.times import DAY_HOURS
from .metrics_report import printable

COLOURS = {State.UNFAIR: "red", State.SHOWN_FAIR: "green"}
TITLES = {
    "disparate_impact": "disparate impact",
    "true_positive_rate_difference": "TPR difference",
    "false_positive_rate_difference": "FPR difference",
    "accuracy_difference": "accuracy difference",
}


BARS = "▁▂▃▄▅▆▇█"
BAR_COUNT = 20
"""Max bars of a comparison; each shows the highest value of its hours."""

FIGURES = {
    "disparate_impact": "favourable rate",
    "true_positive_rate_difference": "true positive rate",
    "false_positive_rate_difference": "false positive rate",
    "accuracy_difference": "accuracy",
}


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


def phrase_evidence(one: ComparisonEvidence) -> str:
    rate, group = FIGURES[one.metric], f"{one.attribute} {one.group}"
    form, unit = (DAY, "day") if one.is_daily else (MINUTE, "hour")
    if one.metric == "disparate_impact":
        bound = f"{_format(one.limit)} times that of {one.reference}"
        below, above = f"less than {bound}", f"more than {bound}"
    else:
        bound = f"{_format(100 * abs(one.limit))} points"
        below, above = f"more than {bound} below that of {one.reference}", f"more than {bound} above that of {one.reference}"
    is_below = one.direction is (UnfairSide.ABOVE if one.metric == "accuracy_difference" else UnfairSide.BELOW)
    claim = below if is_below else above
    earlier = [episode for episode in one.episodes if episode.resolved is not None]
    times = "once" if len(earlier) == 1 else f"{len(earlier)} times"
    history = f" It was found unfair {times} before, and back inside the limit since." if earlier else ""
    if one.state is State.UNFAIR and one.since and one.alarm_at:
        return (
            f"{group}: the {rate} is {claim} since {say_start(one.since, one.earliest, one.latest, form)}; "
            f"the evidence was enough {'on' if one.is_daily else 'at'} {one.alarm_at:{form}}.{history}"
        )
    if one.state is State.SHOWN_FAIR and one.since:
        return f"{group}: shown fair since {one.since:{form}}; the {unit}s refute that the {rate} is always {claim}.{history}"
    more = ""
    if one.more_hours is not None:
        more = f" At this traffic and these rates it needs about {count_blocks(one.more_hours, is_daily=one.is_daily)} more."
    return f"{group}: undecided whether the {rate} is {claim}.{more}{history}"


def _list_heading(evidence: Evidence, name: str) -> Iterator[str]:
    # The last day, but the end of the last hour.
    last = evidence.first + timedelta(hours=evidence.hours - evidence.is_daily)
    span = count_blocks(evidence.hours, is_daily=evidence.is_daily)
    form = DAY if evidence.is_daily else MINUTE
    yield f"{name}: {span}, {evidence.first:{form}} to {last:{form}}. {evidence.records.text}"
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
        table.add_column(heading, justify="right" if heading in ("limit", "interval") else "left", no_wrap=heading != "group")
    before: tuple[str, str] | None = None
    for one in evidence.comparisons:
        figure = (one.metric, one.group)
        lower, upper = ("open" if end is None else _format(end) for end in one.interval)
        named = (TITLES[one.metric], one.group, f"{lower} to {upper}") if figure != before else ("", "", "")
        title, group, interval = named
        before = figure
        word = one.state.value.replace("_", " ")
        colour = COLOURS.get(one.state)
        table.add_row(
            escape(title),
            escape(printable(group)),
            f"{'≥' if one.direction is UnfairSide.BELOW else '≤'} {_format(one.limit)}",
            interval,
            f"[{colour}]{word}[/]" if colour else word,
            "" if one.since is None else f"{one.since:{choose_form(one.earliest, one.latest, DAY if one.is_daily else MINUTE)}}"[5:],
            _draw_bars(one),
        )
    return table


def _list_notes(evidence: Evidence, condition: str) -> Iterator[str]:
    span = count_blocks(max(1, round(evidence.hours / BAR_COUNT)), is_daily=evidence.is_daily)
    yield (
        f"Evidence: one bar for {'' if span.startswith('1 ') else 'about '}{span}; a full bar is enough for an alarm. "
        f"All {len(evidence.comparisons)} comparisons together raise at most one false alarm a year on average"
        f"{condition}, however often they are looked at."
    )
    yield (
        "Interval: with 95 % probability it contains the figure at all times since the last alarm or its end, "
        "as long as the figure does not change."
    )


def _draw_bars(one: ComparisonEvidence) -> str:
    """Draws the evidence over time; a full bar is the evidence that an alarm needs."""
    parts = np.clip(one.log_evidence / one.log_threshold, 0, 1)
    for episode in one.episodes:
        parts[episode.alarm : len(parts) if episode.resolved is None else episode.resolved] = 1.0
    blocks = parts[:: DAY_HOURS if one.is_daily else 1]
    most = [float(piece.max()) for piece in np.array_split(blocks, min(BAR_COUNT, len(blocks)))]
    return "".join(BARS[min(int(part * len(BARS)), len(BARS) - 1)] for part in most)


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
    return textwrap.fill(printable(text), width, initial_indent=bullet, subsequent_indent=" " * len(bullet), break_on_hyphens=False)
