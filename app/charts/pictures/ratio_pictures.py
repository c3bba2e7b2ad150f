"""Small pictures of ratios on one logarithmic axis, as SVG.

They hold no name, so nothing needs escaping.
"""

from collections.abc import Iterable, Sequence

from ...base.values import frozen_by_name
from ...statistics.intervals.verdicts import Limits
from .axes import LogAxis
from .drawing import LOOKS, Theme

_AXIS = LogAxis()
_TICKS = (0.25, 0.5, 1.0, 2.0, 4.0)

ROW_WIDTH, ROW_HEIGHT = 150, 18

_EDGE = 6
"""Pixels free at both ends, so that a mark there is whole."""

_BAND, _LINE, _TEXT = "#e3efe6", "#8c959f", "#424a53"
_PRINT = LOOKS[Theme.PRINT]
_FONT = "font-family=\"'Libertinus Serif', system-ui, sans-serif\""


@frozen_by_name
class RatioMark:
    """Ratio of at least 0; an end of None is unbounded. `is_hollow` draws a ring."""

    value: float
    lower: float | None
    upper: float | None
    verdict: str | None
    is_hollow: bool = False


def draw_ratio_row(marks: Sequence[RatioMark], band: Limits) -> str:
    equal = _place(1.0)
    line = (
        f'<line x1="{equal:.2f}" x2="{equal:.2f}" y1="0" y2="{ROW_HEIGHT}" stroke="{_LINE}" '
        'stroke-width="0.5"/>'
    )
    elements = [_draw_band(band, ROW_HEIGHT), line]
    for position, mark in enumerate(marks):
        # Two marks are one above the other.
        y = ROW_HEIGHT / 2 if len(marks) == 1 else 5.5 + 7.5 * position
        shade = _PRINT.shade(mark.verdict)
        low = _place(_AXIS.low if mark.lower is None else mark.lower)
        high = _place(_AXIS.high if mark.upper is None else mark.upper)
        elements.append(
            f'<line x1="{low:.2f}" x2="{high:.2f}" y1="{y}" y2="{y}" stroke="{shade}" stroke-width="1.6"/>'
        )
        x = _place(mark.value)
        fill = "#ffffff" if mark.is_hollow else shade
        if _AXIS.holds(mark.value):
            elements.append(
                f'<circle cx="{x:.2f}" cy="{y}" r="2.9" fill="{fill}" stroke="{shade}" stroke-width="1.2"/>'
            )
        else:  # an arrow at the edge
            tip = -4.5 if mark.value < _AXIS.low else 4.5
            corners = f"{x + tip:.2f},{y} {x:.2f},{y - 3} {x:.2f},{y + 3}"
            elements.append(
                f'<polygon points="{corners}" fill="{fill}" stroke="{shade}" stroke-width="1.2"/>'
            )
    return _write_svg(ROW_WIDTH, ROW_HEIGHT, elements)


def draw_ratio_axis() -> str:
    texts = []
    for tick in _TICKS:
        # The numbers at the ends would be cut in half.
        x, anchor = {_AXIS.low: (0.0, "start"), _AXIS.high: (ROW_WIDTH, "end")}.get(
            tick, (_place(tick), "middle")
        )
        texts.append(
            f'<text x="{x:.2f}" y="7.5" font-size="7" text-anchor="{anchor}" fill="{_TEXT}" '
            f"{_FONT}>{tick:g}</text>"
        )
    return _write_svg(ROW_WIDTH, 10, texts)


def _place(ratio: float) -> float:
    return _EDGE + _AXIS.place(ratio) * (ROW_WIDTH - 2 * _EDGE)


def _draw_band(band: Limits, height: float) -> str:
    if band == (None, None):
        return ""
    low = _AXIS.low if band[0] is None else band[0]
    high = _AXIS.high if band[1] is None else band[1]
    return (
        f'<rect x="{_place(low):.2f}" width="{_place(high) - _place(low):.2f}" y="0" '
        f'height="{height}" fill="{_BAND}"/>'
    )


def _write_svg(width: float, height: float, elements: Iterable[str]) -> str:
    # Screen readers skip it: the same figures are in the text next to it.
    start_tag = (
        f'<svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">'
    )
    return f"{start_tag}{''.join(elements)}</svg>"
