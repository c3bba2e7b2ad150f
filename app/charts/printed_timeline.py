"""A panel over time as SVG for a report: the paths that the page draws, in the colours of print.

It holds shapes and numbers but no name, so nothing in it needs escaping. The text next to it has the same figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..metrics.verdicts import Verdict
from .ratio_pictures import BAND, LINE, SHADES, TEXT, UNJUDGED, write_svg
from .timeline import WIDTH, PanelPicture

PRINTED_WIDTH, PRINTED_HEIGHT = 340, 46
_SCALE: Final = PRINTED_WIDTH / WIDTH
_ALERT = "#8a1c7c"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedMarks:
    """Paths of a panel that are not about its group, and the places of its alerts in per cent of the width."""

    changes: str = ""
    gaps: str = ""
    alerts: Sequence[float] = ()


def print_panel(picture: PanelPicture, marks: PrintedMarks) -> str:
    """Returns the picture, whose height is `PRINTED_HEIGHT`, with the marks on it."""
    parts = [f'<rect width="{PRINTED_WIDTH}" height="{PRINTED_HEIGHT}" fill="#f3f4f6"/>', f'<g transform="scale({_SCALE:g} 1)">']

    def add(path: str, look: str) -> None:
        if path:
            parts.append(f'<path d="{path}" {look}/>')

    add(picture.band, f'fill="{BAND}"')
    if picture.equal is not None:
        add(f"M0 {picture.equal:g}H{WIDTH}", f'stroke="{LINE}" stroke-width="0.5"')
    add(picture.hull, f'fill="{UNJUDGED}" fill-opacity="0.2"')
    for verdict, path in picture.bars:
        add(path, f'fill="{UNJUDGED if verdict == "none" else SHADES.get(Verdict(verdict), UNJUDGED)}"')
    # The widths of upright lines shrink with the width of the picture.
    add(marks.changes, f'stroke="{TEXT}" stroke-width="{0.7 / _SCALE:.1f}" stroke-dasharray="2 1.5"')
    add(marks.gaps, f'fill="{UNJUDGED}" transform="translate(0 {PRINTED_HEIGHT - 3})"')
    parts.append("</g>")
    for at in marks.alerts:
        x = at / 100 * PRINTED_WIDTH
        parts.append(f'<polygon points="{x - 3:.2f},0 {x + 3:.2f},0 {x:.2f},5" fill="{_ALERT}"/>')
    return write_svg(PRINTED_WIDTH, PRINTED_HEIGHT, parts)
