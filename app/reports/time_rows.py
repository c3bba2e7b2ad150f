"""Rows of a report over time: the headline of one attribute on one data set, as bars with the events on them."""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from ..charts.ratio_pictures import RatioBar, TimeMarks, time_svg
from ..domain.checks import CheckState, Span
from ..metrics.catalogue import CATALOGUE
from ..metrics.sides import both_sides
from ..metrics.verdicts import GRAVEST
from ..views.headlines import IMPACT, VERDICT_WORDS
from .days import step_of
from .document import TimeRow
from .source import History, ReportSource
from .verdict_counts import DATA_NAMES

TICKS = 5


def time_row(source: ReportSource, history: History) -> TimeRow:
    """Returns the row; the history has at least one point of its own."""
    span, step = source.span, step_of(source.span)
    days, fresh = history.days, history.fresh
    bars = [
        RatioBar(
            start=max(_place(span, day.start), 0.0),
            end=min(_place(span, day.start + step), 1.0),
            lowest=day.lowest,
            highest=day.highest,
            verdict=day.gravest,
        )
        for day in days
        if day.lowest is not None and day.highest is not None
    ]
    about = [alert for alert in source.alerts if alert.subject.attribute == history.attribute and alert.subject.data == history.data]
    versions_at = [(run.span_end, run.monitor_version, run.model_revision) for run in source.runs if run.state == CheckState.SUCCEEDED]
    marks = TimeMarks(
        alerts=[_place(span, alert.opened_at) for alert in about if span.start <= alert.opened_at <= span.end],
        changes=[_place(span, now[0]) for before, now in pairwise(versions_at) if before[1:] != now[1:]],
        gaps=sorted({round(_place(span, run.span_end), 3) for run in source.runs if run.state != CheckState.SUCCEEDED}),
    )
    counts = {verdict: sum(day.verdicts.get(verdict, 0) for day in days) for verdict in GRAVEST}
    said = ", ".join(f"{VERDICT_WORDS[verdict]} {count:,}" for verdict, count in counts.items() if count)
    band = both_sides(CATALOGUE[IMPACT], (fresh[-1].lower_limit, fresh[-1].upper_limit))
    checks = "1 check" if len(fresh) == 1 else f"{len(fresh):,} checks"
    return TimeRow(
        name=f"{history.attribute}, {DATA_NAMES[history.data]}",
        picture=time_svg(bars, marks, band),
        summary=f"{checks}: {said}",
    )


def list_ticks(span: Span) -> Iterator[str]:
    """Yields moments at even distances, from the start to the end."""
    form = "%d %b %H:%M" if step_of(span).days == 0 else "%d %b %Y"
    for place in range(TICKS):
        yield f"{span.start + (span.end - span.start) * place / (TICKS - 1):{form}}"


def _place(span: Span, at: datetime) -> float:
    return (at - span.start) / (span.end - span.start)
