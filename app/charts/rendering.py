"""From a specification to a picture. Nothing is fetched: data stand in the specification, fonts are those of the machine."""

import re
from html import escape
from typing import Any, TypeAlias

import altair as alt
import vl_convert

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification with its data in it, as JSON has it. The tests hold every kind against the schema; at run time that would
take longer than drawing."""

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
"""The version of Vega-Lite that the specifications are written for, and that draws them."""

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

WIDTH = 720
"""Pixels of a picture whose width nobody chose. In a page a chart is as wide as its place."""

MOST_SCALE = 4.0
"""The most pixels of a PNG for one of the chart."""


def render_svg(spec: Spec, *, width: int = WIDTH) -> str:
    """The chart as SVG text, which is one image with its description to those who do not see it.

    Raises:
        ValueError: it is no valid specification.
    """
    picture = str(vl_convert.vegalite_to_svg(_drawable(spec, width), vl_version=VEGA_LITE, allowed_base_urls=[]))
    return picture.replace("<svg ", f'<svg role="img" aria-label="{escape(spec.get("description", ""))}" ', 1)


def render_png(spec: Spec, scale: float = 2.0, *, width: int = WIDTH) -> bytes:
    """The chart as PNG; `scale` is at most MOST_SCALE.

    Raises:
        ValueError: it is no valid specification.
    """
    picture = vl_convert.vegalite_to_png(_drawable(spec, width), vl_version=VEGA_LITE, scale=min(scale, MOST_SCALE), allowed_base_urls=[])
    return bytes(picture)


def _drawable(spec: Spec, width: int) -> Spec:
    # A picture has no container that could give it a width.
    return {name: _shown(part) for name, part in spec.items()} | {"width": width}


def _shown(part: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same with every character that XML cannot carry replaced: measuring such a text ends the whole process, not only the call."""
    match part:
        case str():
            return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", part)
        case dict():
            return {_shown(name): _shown(value) for name, value in part.items()}
        case list() | tuple():
            return [_shown(value) for value in part]
        case _:
            return part
