"""Charts over time as SVG: of a series or of volumes, in UTC, and the rows that reports print."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from zoneinfo import ZoneInfo

from ...base.clock import HOUR
from ...base.values import frozen_by_name
from ...checks.days.day_queries import DAY, ORIGIN, CheckStep
from ...checks.days.roll_up import Period
from ...checks.views.explain_figure import DATA_WORDS
from ...domain.alert import Alert
from ...domain.check import Span
from ...statistics.catalogue import CATALOGUE
from ...statistics.e_values.state_words import capitalise
from ...statistics.sentences.figure_sentences import write_limits
from ..series import GroupSeries, Series, Volume
from ..time_ranges import choose_picture_step
from ..timeline import MAX_PANELS, MAX_STEPS, SCOPE_NAMES, TimePanel, find_step_start, join_points
from .axes import list_time_ticks
from .drawing import LINE_HEIGHT, LOOKS, Chart, Drawing, Theme, ThemeLook, clip_name, write_text
from .timeline_picture import (
    VOLUME_HEIGHT,
    WIDTH,
    LevelTick,
    PanelPicture,
    TimeAxis,
    build_level_axis,
    count_step,
    draw_panel,
    draw_stretches,
    draw_volume,
    say_panel,
    say_steps,
)

MAX_ALERTS = 200
"""Alerts that a chart marks, the newest."""

GAP_HEIGHT = 5
"""Pixels of the marks of checks without figures."""

_PERIOD_LENGTHS = {Period.DAY: DAY, Period.WEEK: 7 * DAY, Period.MONTH: 30 * DAY}
_GUTTER_PIXELS = 48
_MAX_TITLED_BARS = 100
_MARGIN_SHARE = 0.015
"""Share of the time by which an axis is longer at either end, so that a bar there is whole."""

_UTC = ZoneInfo("UTC")


@frozen_by_name
class ReportRowMarks:
    """Marks of a report's row: `outside` is tinted, `gaps` is a path at the bottom, others are moments."""

    outside: Sequence[Span] = ()
    changes: Sequence[datetime] = ()
    alerts: Sequence[datetime] = ()
    gaps: str = ""


def draw_row(picture: PanelPicture, axis: TimeAxis, marks: ReportRowMarks) -> str:
    """Draws one row of a report, without words: they are in the text next to it."""
    drawing = _start_print_drawing()
    _draw_alerts(drawing, axis, [(moment, "") for moment in marks.alerts])
    top = drawing.height
    tint = "".join(
        draw_stretches([span.start], span.end - span.start, axis, height=picture.height)
        for span in marks.outside
    )
    _add_panel(drawing, picture, gaps=marks.gaps, tint=tint)
    look = drawing.look
    rules = dict.fromkeys(marks.changes, f'stroke="{look.text}" stroke-dasharray="3 2"')
    rules |= {span.start: f'stroke="{look.unfair}"' for span in marks.outside}
    for moment, stroke in rules.items():
        x = drawing.place(axis.percent(moment) / 100)
        drawing.add(f'<line x1="{x}" x2="{x}" y1="{top:g}" y2="{top + picture.height:g}" {stroke}/>')
    return drawing.finish("").svg


def draw_row_axis(axis: TimeAxis, zone: ZoneInfo) -> str:
    drawing = _start_print_drawing()
    _draw_times(drawing, axis, None, zone)
    return drawing.finish("").svg


def _start_print_drawing() -> Drawing:
    return Drawing("", "", LOOKS[Theme.PRINT], gutter=_GUTTER_PIXELS, has_heading=False)


def draw_series_chart(series: Series, look: ThemeLook, *, alerts: Sequence[Alert] = ()) -> Chart:
    """Draws a panel for each group, at most `MAX_PANELS`, and the newest `MAX_ALERTS` alerts."""
    shown_alerts = _choose_alerts(alerts, series)
    openings = [alert.opened_at for alert in shown_alerts]
    moments = [point.at for group in series.groups for point in group.points]
    moments += [gap.at for gap in series.gaps]
    span = _find_span(moments, series.rollup, openings)
    step = choose_picture_step(span, MAX_STEPS) if series.rollup is None else HOUR
    axis = build_axis(span)
    panels = [_build_panel(group, series, span, step) for group in series.groups[:MAX_PANELS]]
    levels = build_level_axis(series.metric, panels)
    pictures = [draw_panel(panel, series.metric, axis, levels) for panel in panels]

    notes = _write_notes(series, step, pictures, has_alerts=bool(shown_alerts))
    drawing = Drawing(write_heading(series), notes, look, gutter=_GUTTER_PIXELS)
    titles = [
        f"{format_moment(alert.opened_at)}: {alert.sentence or alert.worst.rule_name}"
        for alert in shown_alerts
    ]
    _draw_alerts(drawing, axis, list(zip(openings, titles, strict=True)))
    gaps = draw_stretches(
        sorted({find_step_start(gap.at, step) for gap in series.gaps}), step, axis, height=GAP_HEIGHT
    )
    sentences = []
    for panel, picture in zip(panels, pictures, strict=True):
        figures = say_panel(series.metric, panel, picture, _name_unit(series.rollup))
        if not picture.places:
            figures += f": {panel.absence}"
        drawing.write(panel.name, is_bold=True)
        drawing.write(figures, fill=look.muted)
        drawing.height += 2
        _add_panel(drawing, picture, gaps=gaps, titles=_draw_titles(series, picture))
        sentences.append(f"{panel.name}: {figures}")
    if not panels:
        drawing.write("No measurements in this time.", fill=look.muted)
    _draw_times(drawing, axis, series.rollup)
    return drawing.finish(_describe_series(series, sentences))


def _choose_alerts(alerts: Iterable[Alert], series: Series) -> list[Alert]:
    of_series = [
        alert
        for alert in alerts
        if alert.attribute == series.attribute and alert.is_about(series.metric, series.data)
    ]
    return sorted(of_series, key=attrgetter("opened_at"))[-MAX_ALERTS:]


def draw_volume_chart(volumes: Sequence[Volume], look: ThemeLook, *, rollup: Period | None = None) -> Chart:
    span = _find_span([volume.at for volume in volumes], rollup)
    step = choose_picture_step(span, MAX_STEPS) if rollup is None else _PERIOD_LENGTHS[rollup]
    logged: Counter[datetime] = Counter()
    for volume in volumes:
        logged[volume.at if rollup else find_step_start(volume.at, step)] += volume.records
    highest = max(logged.values(), default=0)
    total = sum(logged.values())
    step_name = count_step(max(step, HOUR)) if rollup is None else f"one {rollup.value}"
    summary = f"{total:,} records, at most {highest:,} in {step_name}"

    drawing = Drawing(
        "Records logged", "As the checks counted them. Time in UTC.", look, gutter=_GUTTER_PIXELS
    )
    if volumes:
        axis = build_axis(span)
        steps = [
            CheckStep(start=start, failed=0, reason=None, topped_up=0, logged=count)
            for start, count in sorted(logged.items())
        ]
        drawing.write(summary, fill=look.muted)
        drawing.height += 6
        _draw_levels(drawing, (LevelTick(f"{highest:,}", 0), LevelTick("0", VOLUME_HEIGHT)), VOLUME_HEIGHT)
        path = f'<path d="{draw_volume(steps, step, axis)}" fill="{look.link}" fill-opacity="0.8"/>'
        drawing.add(_frame_paths(drawing, VOLUME_HEIGHT, path))
        drawing.height += VOLUME_HEIGHT
        _draw_times(drawing, axis, rollup)
    else:
        drawing.write("No hour of this time was checked.", fill=look.muted)
    return drawing.finish(
        f"Column chart of records logged over time: {summary}. The table next to it has the figures."
    )


def write_heading(series: Series) -> str:
    title = CATALOGUE[series.metric].title
    return title if series.attribute is None else f"{title} by {clip_name(series.attribute)}"


def format_moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _find_span(moments: Sequence[datetime], rollup: Period | None, events: Sequence[datetime] = ()) -> Span:
    """Finds the span of the checks or periods at these moments, and of the events.

    A check is about the hour before its moment, a period about the time after it.
    """
    placed = moments or events or [ORIGIN]
    before, after = (HOUR, timedelta()) if rollup is None else (timedelta(), _PERIOD_LENGTHS[rollup])
    return Span(min([min(placed) - before, *events]), max([max(placed) + after, *events]))


def build_axis(span: Span) -> TimeAxis:
    margin = (span.end - span.start) * _MARGIN_SHARE
    return TimeAxis(Span(span.start - margin, span.end + margin))


def _build_panel(group: GroupSeries, series: Series, span: Span, step: timedelta) -> TimePanel:
    # A bar of a roll-up is in the middle of its period.
    points = [point._replace(at=point.at + _find_middle(series.rollup)) for point in group.points]
    name = clip_name(SCOPE_NAMES[group.scope] if group.group is None else group.group) or "(blank)"
    return TimePanel(
        attribute=series.attribute,
        group=group.group,
        scope=group.scope,
        name=name,
        steps=join_points(points, span, step),
    )


def _find_middle(rollup: Period | None) -> timedelta:
    return timedelta() if rollup is None else _PERIOD_LENGTHS[rollup] / 2


def _write_notes(
    series: Series, step: timedelta, pictures: Sequence[PanelPicture], *, has_alerts: bool
) -> str:
    bars = f"one bar a {_name_unit(series.rollup)}"
    if step > HOUR:
        bars = f"each bar from the lowest to the highest check of {count_step(step)}"
    notes = (
        (
            f"{capitalise(DATA_WORDS[series.data])}; {bars}, in the colour of the verdict. Grey: 95 % "
            "intervals; shaded: the fair range."
        ),
        "Hollow: carried forward." if any(picture.carried for picture in pictures) else "",
        "Dark at the bottom: checks without figures." if series.gaps else "",
        "Triangle: alert opened." if has_alerts else "",
        f"The first {MAX_PANELS} of {len(series.groups)} groups." if len(series.groups) > MAX_PANELS else "",
        "Time in UTC.",
    )
    return " ".join(filter(None, notes))


def _describe_series(series: Series, sentences: Sequence[str]) -> str:
    points = sorted((point for group in series.groups for point in group.points), key=attrgetter("at"))
    fair_ranges = [
        limits
        for limits, _ in groupby(points, key=attrgetter("lower_limit", "upper_limit"))
        if limits != (None, None)
    ]
    description = (
        f"{write_heading(series)} on {DATA_WORDS[series.data]}",
        f"fair range {', then '.join(map(write_limits, fair_ranges))}" if fair_ranges else "",
        *sentences,
        f"{len(series.gaps):,} checks without figures" if series.gaps else "",
    )
    return ". ".join(filter(None, description)) + ". The table next to it has the figures."


def _draw_titles(series: Series, picture: PanelPicture) -> str:
    if len(picture.places) > _MAX_TITLED_BARS:
        return ""
    half_period = _find_middle(series.rollup)
    unit = _name_unit(series.rollup)
    return "".join(
        f'<rect x="{bar.x - bar.width / 2:.1f}" width="{bar.width:g}" height="{picture.height:g}" '
        'fill-opacity="0">'
        f"<title>{format_moment(bar.step.at - half_period)}: {say_steps(series.metric, [bar.step], unit)}; "
        f"{bar.step.n:,} records</title></rect>"
        for bar in picture.places
    )


def _name_unit(rollup: Period | None) -> str:
    return "check" if rollup is None else rollup.value


def _draw_alerts(drawing: Drawing, axis: TimeAxis, alerts: Sequence[tuple[datetime, str]]) -> None:
    for moment, title in alerts:
        x = drawing.place(axis.percent(moment) / 100)
        title_element = f"<title>{write_text(title)}</title>" if title else ""
        drawing.add(
            f'<svg aria-hidden="true" x="{x}" y="{drawing.height:g}" width="1" height="10" '
            f'overflow="visible"><path d="M-5 1H5L0 10z" fill="{drawing.look.unfair}">{title_element}</path></svg>'
        )
    drawing.height += 10 if alerts else 0


def _add_panel(
    drawing: Drawing, picture: PanelPicture, *, gaps: str, tint: str = "", titles: str = ""
) -> None:
    look = drawing.look
    thin = 'fill="none" stroke-width="1.2" vector-effect="non-scaling-stroke"'
    shapes = [
        (tint, f'fill="{look.unfair}" fill-opacity="0.12"'),
        (picture.band, f'fill="{look.fair_ground}"'),
        (
            "" if picture.equal is None else f"M0 {picture.equal:g}H{WIDTH}",
            f'{thin} stroke="{look.muted}" stroke-opacity="0.6"',
        ),
        (picture.hull, f'fill="{look.muted}" fill-opacity="0.22"'),
        (picture.limits, f'{thin} stroke="{look.text}" stroke-opacity="0.7" stroke-dasharray="4 4"'),
        (picture.line, f'{thin} stroke="{look.muted}"'),
        *((path, f'fill="{look.shade(verdict)}"') for verdict, path in picture.bars),
        (picture.carried, f'fill="{look.surface}" stroke="{look.other}" vector-effect="non-scaling-stroke"'),
        (gaps, f'fill="{look.text}" transform="translate(0 {picture.height - GAP_HEIGHT:g})"'),
    ]
    _draw_levels(drawing, picture.ticks, picture.height)
    paths = "".join(f'<path d="{path}" {style}/>' for path, style in shapes if path)
    drawing.add(_frame_paths(drawing, picture.height, paths + titles))
    drawing.height += picture.height + LINE_HEIGHT / 2


def _frame_paths(drawing: Drawing, height: float, content: str) -> str:
    size = f'y="{drawing.height:g}" width="{drawing.place(1)}" height="{height:g}"'
    return (
        f'<svg aria-hidden="true" {size} viewBox="0 0 {WIDTH} {height:g}" '
        f'preserveAspectRatio="none">{content}</svg>'
    )


def _draw_levels(drawing: Drawing, ticks: Iterable[LevelTick], height: float) -> None:
    look = drawing.look
    frame = f'y="{drawing.height:g}" width="{drawing.place(1)}" height="{height:g}"'
    drawing.add(f'<rect {frame} fill="none" stroke="{look.line}"/>')
    for tick in ticks:
        drawing.label(
            tick.text, -5, drawing.height + min(max(tick.y + 4, 10), height), anchor="end", fill=look.muted
        )


def _draw_times(drawing: Drawing, axis: TimeAxis, rollup: Period | None, zone: ZoneInfo = _UTC) -> None:
    # Sums of days have no ticks at hours.
    ticks = [
        tick
        for tick in list_time_ticks(axis.span, zone)
        if rollup is None or tick.moment.hour == tick.moment.minute == 0
    ]
    drawing.draw_ticks([(tick.at / 100, tick.text, tick.is_spare) for tick in ticks])
