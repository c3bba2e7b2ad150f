"""Small pictures of ratios on one logarithmic axis, as SVG: a row of a forest plot, the axis above the rows, and ratios over time.

They hold shapes and numbers but no name, so nothing in them needs escaping. The text next to a picture has the same figures.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..metrics.verdicts import Limits, Verdict
from .log_axis import LogAxis

AXIS = LogAxis()
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0)

ROW_WIDTH, ROW_HEIGHT = 150, 18
TIME_WIDTH, TIME_HEIGHT = 340, 46

_EDGE = 6
"""Space at both ends of a row, so that a mark at an end is whole."""

_BAND, _LINE, _TEXT = "#e3efe6", "#8c959f", "#424a53"
_SHADES = {Verdict.UNFAIR: "#b42318", Verdict.SUSPECTED: "#b35900", Verdict.UNWATCHED: "#8250a8", Verdict.FAIR: "#1a7f37"}
_UNJUDGED = "#57606a"
_FONT = "font-family=\"'Libertinus Serif', system-ui, sans-serif\""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioMark:
    """A ratio of at least 0 with its interval, where an end of None is unbounded. `is_hollow` draws a ring instead of a disc."""

    value: float
    lower: float | None
    upper: float | None
    verdict: str | None
    is_hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioBar:
    """The ratios of a stretch of time: from the lowest to the highest. `start` and `end` are shares of the axis of time."""

    start: float
    end: float
    lowest: float
    highest: float
    verdict: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMarks:
    """Moments on the axis of time, as shares of it: alerts opened, changes of monitor or model, and checks without measurements."""

    alerts: Sequence[float] = ()
    changes: Sequence[float] = ()
    gaps: Sequence[float] = ()


def row_svg(marks: Sequence[RatioMark], band: Limits) -> str:
    """Returns one row of a forest plot: the fair band, the line of equality, and each mark below the one before it."""
    equal = _across(1.0)
    line = f'<line x1="{equal:.2f}" x2="{equal:.2f}" y1="0" y2="{ROW_HEIGHT}" stroke="{_LINE}" stroke-width="0.5"/>'
    parts = [_band(band, ROW_HEIGHT, vertical=False), line]
    for place, mark in enumerate(marks):
        y = ROW_HEIGHT / 2 if len(marks) == 1 else 5.5 + 7.5 * place
        shade = _SHADES.get(Verdict(mark.verdict), _UNJUDGED) if mark.verdict is not None else _UNJUDGED
        low = _across(AXIS.low if mark.lower is None else mark.lower)
        high = _across(AXIS.high if mark.upper is None else mark.upper)
        parts.append(f'<line x1="{low:.2f}" x2="{high:.2f}" y1="{y}" y2="{y}" stroke="{shade}" stroke-width="1.6"/>')
        x, fill = _across(mark.value), "#ffffff" if mark.is_hollow else shade
        if AXIS.holds(mark.value):
            parts.append(f'<circle cx="{x:.2f}" cy="{y}" r="2.9" fill="{fill}" stroke="{shade}" stroke-width="1.2"/>')
        else:  # an arrow: the ratio is beyond the axis
            tip = -4.5 if mark.value < AXIS.low else 4.5
            corners = f"{x + tip:.2f},{y} {x:.2f},{y - 3} {x:.2f},{y + 3}"
            parts.append(f'<polygon points="{corners}" fill="{fill}" stroke="{shade}" stroke-width="1.2"/>')
    return _svg(ROW_WIDTH, ROW_HEIGHT, parts)


def axis_svg() -> str:
    """Returns the numbers of the axis, as wide as a row."""
    texts = []
    for tick in TICKS:
        # The numbers at the ends would be cut in half.
        x, anchor = {AXIS.low: (0.0, "start"), AXIS.high: (ROW_WIDTH, "end")}.get(tick, (_across(tick), "middle"))
        texts.append(f'<text x="{x:.2f}" y="7.5" font-size="7" text-anchor="{anchor}" fill="{_TEXT}" {_FONT}>{tick:g}</text>')
    return _svg(ROW_WIDTH, 10, texts)


def time_svg(bars: Iterable[RatioBar], marks: TimeMarks, band: Limits) -> str:
    """Returns the ratios of an attribute over time, the lower ones further down."""
    parts = [f'<rect width="{TIME_WIDTH}" height="{TIME_HEIGHT}" fill="#f3f4f6"/>', _band(band, TIME_HEIGHT, vertical=True)]
    equal = _down(1.0)
    parts.append(f'<line x1="0" x2="{TIME_WIDTH}" y1="{equal:.2f}" y2="{equal:.2f}" stroke="{_LINE}" stroke-width="0.5"/>')
    for bar in bars:
        shade = _SHADES.get(Verdict(bar.verdict), _UNJUDGED) if bar.verdict is not None else _UNJUDGED
        top, bottom = _down(bar.highest), _down(bar.lowest)
        x, width = bar.start * TIME_WIDTH, max((bar.end - bar.start) * TIME_WIDTH * 0.85, 0.6)
        height = max(bottom - top, 1.6)
        y = min(max((top + bottom - height) / 2, 0), TIME_HEIGHT - height)
        parts.append(f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{shade}"/>')
    for x in (share * TIME_WIDTH for share in marks.changes):
        place = f'x1="{x:.2f}" x2="{x:.2f}" y1="0" y2="{TIME_HEIGHT}"'
        parts.append(f'<line {place} stroke="{_TEXT}" stroke-width="0.7" stroke-dasharray="2 1.5"/>')
    for x in (share * TIME_WIDTH for share in marks.gaps):
        place = f'x="{x - 0.5:.2f}" y="{TIME_HEIGHT - 3}" width="1" height="3"'
        parts.append(f'<rect {place} fill="{_UNJUDGED}"/>')
    at = [share * TIME_WIDTH for share in marks.alerts]
    parts += [f'<polygon points="{x - 3:.2f},0 {x + 3:.2f},0 {x:.2f},5" fill="#8a1c7c"/>' for x in at]
    return _svg(TIME_WIDTH, TIME_HEIGHT, parts)


def _across(ratio: float) -> float:
    return _EDGE + AXIS.place(ratio) * (ROW_WIDTH - 2 * _EDGE)


def _down(ratio: float) -> float:
    return (1 - AXIS.place(ratio)) * TIME_HEIGHT


def _band(band: Limits, height: float, *, vertical: bool) -> str:
    if band == (None, None):
        return ""
    low, high = (end if limit is None else limit for limit, end in zip(band, (AXIS.low, AXIS.high), strict=True))
    if vertical:
        return f'<rect x="0" width="{TIME_WIDTH}" y="{_down(high):.2f}" height="{_down(low) - _down(high):.2f}" fill="{_BAND}"/>'
    return f'<rect x="{_across(low):.2f}" width="{_across(high) - _across(low):.2f}" y="0" height="{height}" fill="{_BAND}"/>'


def _svg(width: float, height: float, parts: Iterable[str]) -> str:
    # Screen readers skip it: the same figures are in the text next to it.
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    return f"{opened}{''.join(parts)}</svg>"
