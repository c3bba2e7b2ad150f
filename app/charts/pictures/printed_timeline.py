"""A panel over time as SVG for a report, in the colours of print.

It holds no name, so nothing needs escaping.
"""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from ...base.values import frozen
from ...domain.check import Span
from .axes import time_ticks
from .ratio_pictures import BAND, FONT, LINE, SHADES, TEXT, UNJUDGED, write_svg
from .timeline_picture import WIDTH, PanelPicture

PRINTED_WIDTH, PRINTED_HEIGHT = 340, 46
_EDGE = 4
"""At both ends, so that a triangle there is whole."""
_INNER = PRINTED_WIDTH - 2 * _EDGE
_SCALE = _INNER / WIDTH
_MOST_TICKS = 6
_NEAR_END = 5
"""Per cent from an end within which a text would be cut."""
_ALERT = "#8a1c7c"


@frozen
class PrintedMarks:
    changes: str
    gaps: str
    alerts: Sequence[float]


def print_panel(picture: PanelPicture, marks: PrintedMarks) -> str:
    elements = [
        f'<rect width="{PRINTED_WIDTH}" height="{PRINTED_HEIGHT}" fill="#f3f4f6"/>',
        f'<g transform="translate({_EDGE} 0) scale({_SCALE:g} 1)">',
    ]

    def add(path: str, look: str) -> None:
        if path:
            elements.append(f'<path d="{path}" {look}/>')

    add(picture.band, f'fill="{BAND}"')
    if picture.equal is not None:
        add(f"M0 {picture.equal:g}H{WIDTH}", f'stroke="{LINE}" stroke-width="0.5"')
    add(picture.hull, f'fill="{UNJUDGED}" fill-opacity="0.2"')
    add(picture.limits, f'fill="none" stroke="{TEXT}" stroke-width="0.5" stroke-dasharray="6 4"')
    for verdict, path in picture.bars:
        add(path, f'fill="{SHADES.get(verdict, UNJUDGED)}"')
    # The widths of upright lines shrink with the width of the picture.
    add(marks.changes, f'stroke="{TEXT}" stroke-width="{0.7 / _SCALE:.1f}" stroke-dasharray="2 1.5"')
    add(marks.gaps, f'fill="{UNJUDGED}" transform="translate(0 {PRINTED_HEIGHT - 3})"')
    elements.append("</g>")
    for at in marks.alerts:
        x = _across(at)
        elements.append(f'<polygon points="{x - 3:.2f},0 {x + 3:.2f},0 {x:.2f},5" fill="{_ALERT}"/>')
    return write_svg(PRINTED_WIDTH, PRINTED_HEIGHT, elements)


def time_axis_svg(span: Span) -> str:
    elements = []
    for tick in time_ticks(span, ZoneInfo("UTC"), limit=_MOST_TICKS):
        x = _across(tick.at)
        anchor = "start" if tick.at < _NEAR_END else "end" if tick.at > 100 - _NEAR_END else "middle"
        elements.append(
            f'<line x1="{x:.2f}" x2="{x:.2f}" y1="0" y2="2.5" stroke="{LINE}" stroke-width="0.5"/>'
        )
        elements.append(
            f'<text x="{x:.2f}" y="9.5" font-size="7" text-anchor="{anchor}" fill="{TEXT}" '
            f"{FONT}>{tick.text}</text>"
        )
    return write_svg(PRINTED_WIDTH, 12, elements)


def _across(percent: float) -> float:
    return _EDGE + percent / 100 * _INNER
