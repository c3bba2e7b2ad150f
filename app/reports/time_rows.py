"""Rows of a report over time."""

from datetime import timedelta
from itertools import pairwise

from ..charts.printed_timeline import PRINTED_HEIGHT, PrintedMarks, print_panel
from ..charts.timeline import TimeAxis, draw_moments, draw_panel, draw_stretches, level_axis
from ..domain.checks import CheckState, Scope, Span
from ..store.checks.timeline import ORIGIN
from ..views.headlines import IMPACT
from ..views.timeline import TimePanel, join_points
from ..views.timeline_words import say_steps
from .days import step_of
from .document import TimeRow
from .source import History, ReportSource
from .verdict_counts import DATA_NAMES

_GAP_HEIGHT = 3
_LEAST = timedelta(microseconds=1)


def time_rows(source: ReportSource, histories: list[History]) -> tuple[TimeRow, ...]:
    """One row a history, all on one axis; each needs a point of its own."""
    span = observed_span(source)
    step = step_of(span)
    axis = TimeAxis(span=span)
    panels = [
        TimePanel(
            attribute=one.attribute,
            group=None,
            scope=Scope.WORST,
            name=f"{one.attribute}, {DATA_NAMES[one.data]}",
            steps=join_points(one.fresh, span, step),
        )
        for one in histories
    ]
    levels = level_axis(IMPACT, panels, height=PRINTED_HEIGHT)
    succeeded = [run for run in source.runs if run.state == CheckState.SUCCEEDED]
    changed = [
        after.span_end
        for before, after in pairwise(succeeded)
        if (before.monitor_version, before.model_revision) != (after.monitor_version, after.model_revision)
    ]
    failed = sorted({ORIGIN + (run.span_end - _LEAST - ORIGIN) // step * step for run in source.runs if run.state != CheckState.SUCCEEDED})
    changes, gaps = draw_moments(changed, axis, bottom=PRINTED_HEIGHT), draw_stretches(failed, step, axis, height=_GAP_HEIGHT)
    rows = []
    for history, panel in zip(histories, panels, strict=True):
        about = [one for one in source.alerts if one.subject.attribute == history.attribute and one.subject.data == history.data]
        alerts = [axis.percent(one.opened_at) for one in about if span.start <= one.opened_at <= span.end]
        drawn = draw_panel(panel, IMPACT, axis, levels)
        picture = print_panel(drawn, PrintedMarks(changes=changes, gaps=gaps, alerts=alerts))
        summary = "; ".join(part for part in (say_steps(IMPACT, panel.steps), drawn.words) if part)
        rows.append(TimeRow(name=panel.name, picture=picture, summary=summary))
    return tuple(rows)


def observed_span(source: ReportSource) -> Span:
    """Part of the time with checks and alerts, in whole steps and one more; all where that is half of it."""
    span = source.span
    moments = [moment for run in source.runs for moment in (run.span_start, run.span_end)]
    moments += [alert.opened_at for alert in source.alerts]
    within = [moment for moment in moments if span.start <= moment <= span.end]
    if not within or (max(within) - min(within)) * 2 >= span.end - span.start:
        return span
    step = step_of(Span(start=min(within), end=max(within) + _LEAST))
    first, last = ((moment - ORIGIN) // step for moment in (min(within), max(within) - _LEAST))
    # A point at the very end of the axis would be cut in half.
    return Span(start=max(span.start, ORIGIN + first * step), end=min(span.end, ORIGIN + (last + 2) * step))
