"""Looks of charts: light, dark and printed. Colour-blind readers can distinguish the colours, which never carry a meaning alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any

import altair as alt


class Theme(StrEnum):
    """Background that a chart is drawn for; its own is transparent. `print` is light with the fonts of the PDF report."""

    LIGHT = "light"
    DARK = "dark"
    PRINT = "print"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeLook:
    """The colours and the font of one theme. `surface` is the page under the chart, with which hollow points are filled."""

    text: str
    muted: str
    grid: str
    surface: str
    limit: str
    alert: str
    groups: tuple[str, ...]
    font: str


DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4))
"""Strokes of lines: with eight colours and these five, forty groups differ in one of the two."""

MOST_TEXT = 60
"""Max characters of a name that is drawn; the table twin and the tooltip have it whole."""

_SCREEN = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_LIGHT = ThemeLook(
    text="#1b1f24",
    muted="#57606a",
    grid="#d8dee4",
    surface="#ffffff",
    limit="#b42318",
    alert="#8a1c7c",
    groups=("#0067a5", "#c24a00", "#00785c", "#9a3d86", "#7a5f00", "#4a4a9c", "#a6354a", "#3a6b7c"),
    font=_SCREEN,
)

LOOKS: Mapping[Theme, ThemeLook] = MappingProxyType(
    {
        Theme.LIGHT: _LIGHT,
        Theme.DARK: ThemeLook(
            text="#e6edf3",
            muted="#9da7b3",
            grid="#343b44",
            surface="#14181d",
            limit="#ff8a80",
            alert="#e7a1ff",
            groups=("#58b4ea", "#f28c45", "#3cc9a0", "#e58cc9", "#e3c34a", "#a9a5f5", "#ff8fa0", "#8cc7d6"),
            font=_SCREEN,
        ),
        Theme.PRINT: ThemeLook(
            **{name: getattr(_LIGHT, name) for name in ("text", "muted", "grid", "surface", "limit", "alert", "groups")},
            # The PDF writer brings this font with it, so a report looks the same on every machine.
            font="'Libertinus Serif', serif",
        ),
    }
)


def clip_name(name: str) -> str:
    """Returns a name as a chart draws it: on one line, and cut where it is too long."""
    line = " ".join(name.split())
    return line if len(line) <= MOST_TEXT else f"{line[: MOST_TEXT - 1]}…"


@cache
def config(look: ThemeLook) -> dict[str, Any]:
    """Returns the configuration that every chart of this look carries. It is shared: do not change it."""
    lettering: dict[str, Any] = {
        "labelFont": look.font,
        "titleFont": look.font,
        "labelColor": look.text,
        "titleColor": look.muted,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    titles: dict[str, Any] = {
        "font": look.font,
        "subtitleFont": look.font,
        "color": look.text,
        "subtitleColor": look.muted,
        "fontSize": 14,
        "subtitleFontSize": 12,
        "fontWeight": "bold",
        "anchor": "start",
        "frame": "group",
        "offset": 10,
    }
    # Percentages as on the pages: 63.2 %. The other members are those of Vega's own locale.
    locale = alt.Locale(number=alt.NumberLocale(decimal=".", thousands=",", grouping=[3], currency=["$", ""], percent="\u00a0%"))
    found: dict[str, Any] = alt.Config(
        locale=locale,
        background="transparent",
        font=look.font,
        view=alt.ViewConfig(stroke=None),
        # A screen reader reads the chart as one image and the figures from the table; a thousand single marks help no reader.
        mark=alt.MarkConfig(aria=False),
        axis=alt.AxisConfig(**lettering, gridColor=look.grid, domainColor=look.muted, tickColor=look.muted),
        legend=alt.LegendConfig(**lettering, symbolLimit=0, labelLimit=220),
        title=alt.TitleConfig(**titles),
        text=alt.MarkConfig(font=look.font, fontSize=12, color=look.text),
    ).to_dict()
    return found
