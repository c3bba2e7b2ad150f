"""A chart as SVG, filled from the top, and as PNG. Colours never carry a meaning alone.

In a page, places across are per cent, so that letters keep their size; in a file they are pixels.
"""

import re
from dataclasses import replace
from enum import StrEnum
from functools import cache
from html import escape
from math import ceil
from textwrap import wrap
from typing import NamedTuple

import typst

from ...base.values import frozen_by_name

WIDTH = 640
"""Pixels in a file; in a page a chart is as wide as its place."""

LINE_HEIGHT = 16

_LINE_CHARACTERS = 44
"""Max characters of a line in a page, so that it fits on a telephone."""
_FILE_LINE_CHARACTERS = 84
_FONT_SIZE, _TITLE_SIZE = 12, 14
_MAX_NAME_CHARACTERS = 60
_DESCENT = 4
"""Pixels from the base of a line of text to its bottom."""

_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_END_SHARE = 0.05
"""Share of an axis, from either end, on which a text is not in the middle of its tick."""

_PIXELS_PER_INCH = 144
"""Two pixels for one of the chart."""

_PAGE_OF_PNG = f"""#set page(width: auto, height: auto, margin: 0pt, fill: none)
#image(bytes(sys.inputs.svg), format: "svg", width: {WIDTH}pt)""".encode()


class Theme(StrEnum):
    """Background that a chart is drawn for; its own is transparent. `print` is light with the fonts of the
    PDF report.
    """

    LIGHT = "light"
    DARK = "dark"
    PRINT = "print"


@frozen_by_name
class ThemeLook:
    """Look of a chart; names are those of the pages' style sheet. `width` None: as wide as its place."""

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

    def shade(self, verdict: str | None) -> str:
        shades = {"fair": self.fair, "unfair": self.unfair}
        shades |= dict.fromkeys(("suspected", "unwatched"), self.suspected)
        return shades.get(verdict or "", self.other)


# The PDF writer, which also makes PNG, takes fonts by name only; the one before the last comes with it.
_SCREEN_FONTS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', 'Libertinus "
    "Serif', sans-serif"
)

_LIGHT = ThemeLook(
    text="#1b2430",
    muted="#515c6b",
    line="#d3d8df",
    surface="#fff",
    link="#164f9c",
    monitored="#b14a00",
    fair="#196c45",
    fair_ground="#e3f3e9",
    suspected="#925a00",
    unfair="#880714",
    other="#465160",
    font=_SCREEN_FONTS,
)

LOOKS = {
    Theme.LIGHT: _LIGHT,
    Theme.DARK: ThemeLook(
        text="#e6eaf0",
        muted="#a9b3c0",
        line="#37414e",
        surface="#1a2028",
        link="#8cbcff",
        monitored="#ffb066",
        fair="#86f9b8",
        fair_ground="#173325",
        suspected="#f2c85f",
        unfair="#ff5c69",
        other="#b7c1cd",
        font=_SCREEN_FONTS,
    ),
    # The PDF writer brings this font with it, so a report looks the same on every machine.
    Theme.PRINT: replace(_LIGHT, font="'Libertinus Serif', serif"),
}

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


class Chart(NamedTuple):
    """Chart as SVG; in a page `title` and `notes` are outside. `description` has the figures in words."""

    svg: str
    title: str
    notes: str
    description: str


class Drawing:
    """Chart that is filled from the top to `height`; a `gutter` at the left has numbers, at negative `x`."""

    def __init__(
        self, title: str, notes: str, look: ThemeLook, *, gutter: int = 0, has_heading: bool = True
    ) -> None:
        self.title = title
        self.notes = notes
        self.look = look
        self.gutter = gutter
        self.height = 0.0
        self._parts: list[str] = []
        if has_heading and look.width is not None:
            self.write(title, size=_TITLE_SIZE, is_bold=True)
            self.write(notes, fill=look.muted)
            self.height += LINE_HEIGHT / 2

    def place(self, share: float) -> str:
        """Places a share of the width: in a page per cent, in a file pixels."""
        return (
            f"{100 * share:.2f}%"
            if self.look.width is None
            else f"{(self.look.width - self.gutter) * share:.1f}"
        )

    def add(self, *fragments: str) -> None:
        self._parts += fragments

    def write(self, text: str, *, fill: str = "", size: int = _FONT_SIZE, is_bold: bool = False) -> None:
        characters = (
            (_LINE_CHARACTERS if self.look.width is None else _FILE_LINE_CHARACTERS) * _FONT_SIZE // size
        )
        for line in wrap(text, characters):
            self.height += LINE_HEIGHT
            self.label(line, -self.gutter, self.height - _DESCENT, fill=fill, size=size, is_bold=is_bold)

    def write_parts(self, texts: list[str]) -> None:
        """Adds parts with dots between them; one that fits on a line is not broken."""
        unbroken = [
            text.replace(" ", _NO_BREAK_SPACE) if len(text) < _LINE_CHARACTERS else text for text in texts
        ]
        self.write(f"{_NO_BREAK_SPACE}· ".join(unbroken))

    def label(
        self,
        text: str,
        x: float | str,
        y: float,
        *,
        anchor: str = "start",
        fill: str = "",
        size: int = _FONT_SIZE,
        is_bold: bool = False,
        attributes: str = "",
    ) -> None:
        weight = ' font-weight="bold"' if is_bold else ""
        look = f'text-anchor="{anchor}" font-size="{size}"{weight} fill="{fill or self.look.text}"'
        content = write_text(text.replace(_NO_BREAK_SPACE, " "))
        self.add(f'<text x="{x}" y="{y:g}" {look}{attributes}>{content}</text>')

    def draw_ticks(self, ticks: list[tuple[float, str, bool]]) -> None:
        """Draws ticks at shares of the width; a spare one has no text where the chart is narrow."""
        for share, text, is_spare in ticks:
            x = self.place(share)
            self.add(
                f'<line x1="{x}" x2="{x}" y1="{self.height:g}" y2="{self.height + 4:g}" '
                f'stroke="{self.look.muted}"/>'
            )
            self.label(
                text,
                x,
                self.height + LINE_HEIGHT,
                anchor=choose_anchor(share),
                fill=self.look.muted,
                attributes=' class="spare"' if is_spare else "",
            )
        self.height += LINE_HEIGHT + _DESCENT

    def finish(self, description: str) -> Chart:
        width = self.look.width
        height = ceil(self.height)

        # Without a description the figures are in the text next to it, and screen readers skip the chart.
        role = f'role="img" aria-label="{write_text(description)}"' if description else 'aria-hidden="true"'
        attributes = f'{role} font-family="{self.look.font}" font-size="{_FONT_SIZE}"'
        content = "".join(self._parts)
        if width is None:
            size = f'width="100%" height="{height}"' + (' class="with-levels"' if self.gutter else "")
        else:
            size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
            content = f'<g transform="translate({self.gutter} 0)">{content}</g>'
        svg = f'<svg {attributes} xmlns="http://www.w3.org/2000/svg" {size}>{content}</svg>'
        return Chart(svg, self.title, self.notes, description)


def choose_anchor(share: float) -> str:
    """Chooses the anchor of a text at that share of an axis: near an end, one in the middle would be cut."""
    if share < _END_SHARE:
        return "start"
    return "end" if share > 1 - _END_SHARE else "middle"


def clip_name(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= _MAX_NAME_CHARACTERS else f"{line[: _MAX_NAME_CHARACTERS - 1]}…"


def write_text(text: str) -> str:
    return escape(replace_undrawable(text))


def replace_undrawable(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def as_png(svg: str) -> bytes:
    return typst.compile(
        _PAGE_OF_PNG, font_paths=load_fonts(), sys_inputs={"svg": svg}, format="png", ppi=_PIXELS_PER_INCH
    )


@cache
def load_fonts() -> typst.Fonts:
    return typst.Fonts()
