"""Looks of charts. Colours never carry a meaning alone."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType

from ..frozen import frozen

WIDTH = 640
"""Pixels of a chart in a file; in a page it is as wide as its place."""


class Theme(StrEnum):
    """Background that a chart is drawn for; its own is transparent. `print` is light with the fonts of the PDF report."""

    LIGHT = "light"
    DARK = "dark"
    PRINT = "print"


@frozen(kw_only=True)
class ThemeLook:
    """Colours by their names in the pages' style sheet. `width` None: as wide as its place."""

    text: str
    muted: str
    line: str
    surface: str
    link: str
    monitored: str
    fair: str
    fair_ground: str
    suspected: str
    unfair: str
    other: str
    font: str
    width: int | None = WIDTH


# The PDF writer, which also makes PNG, takes fonts by name only; the one before the last comes with it.
_SCREEN = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', 'Libertinus Serif', sans-serif"

_LIGHT = ThemeLook(
    text="#1b2430",
    muted="#515c6b",
    line="#d3d8df",
    surface="#fff",
    link="#164f9c",
    monitored="#b14a00",
    fair="#17653b",
    fair_ground="#e3f3e9",
    suspected="#7a4b00",
    unfair="#a01528",
    other="#465160",
    font=_SCREEN,
)

LOOKS: Mapping[Theme, ThemeLook] = MappingProxyType(
    {
        Theme.LIGHT: _LIGHT,
        Theme.DARK: ThemeLook(
            text="#e6eaf0",
            muted="#a9b3c0",
            line="#37414e",
            surface="#1a2028",
            link="#8cbcff",
            monitored="#ffb066",
            fair="#8ddbab",
            fair_ground="#173325",
            suspected="#f3c768",
            unfair="#ff9aa5",
            other="#b7c1cd",
            font=_SCREEN,
        ),
        # The PDF writer brings this font with it, so a report looks the same on every machine.
        Theme.PRINT: replace(_LIGHT, font="'Libertinus Serif', serif"),
    }
)

PAGE = ThemeLook(
    text="var(--text)",
    muted="var(--muted)",
    line="var(--line)",
    surface="var(--surface)",
    link="var(--link)",
    monitored="var(--monitored)",
    fair="var(--fair)",
    fair_ground="var(--fair-ground)",
    suspected="var(--suspected)",
    unfair="var(--unfair)",
    other="var(--other)",
    font="inherit",
    width=None,
)
"""Look in a page, whose style sheet has the colours."""
