"""Renders a specification as a picture. Nothing is fetched: the data are in the specification, fonts are those of the machine."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any, TypeAlias

import altair as alt
import vl_convert

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification with its data in it, as JSON has it. The tests check every kind against the schema; at run time that would
take longer than drawing."""

# Else every part of a chart is checked against the schema as it is made; the tests check whole charts.
alt.utils.schemapi.disable_debug_mode()

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
"""Version of Vega-Lite that the specifications are written for, and that draws them."""

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

WIDTH = 720
"""Pixels of a picture without a requested width. In a page a chart is as wide as its place."""

MOST_SCALE = 4.0
"""Max pixels of a PNG for one pixel of the chart."""


def layer_spec(layers: Sequence[alt.Chart], *, height: float) -> Spec:
    """Returns layers as one specification as wide as its place. Altair's own would copy each of them several times: half of the time."""
    datasets: dict[str, Any] = {}
    # Checking against the schema takes longer than drawing; the tests do it.
    drawn = [one.to_dict(validate=False, context={"top_level": False, "datasets": datasets}) for one in layers]
    sized = {"width": "container", "height": height, "autosize": {"type": "fit-x", "contains": "padding"}}
    return {"$schema": alt.SCHEMA_URL, **sized, "layer": drawn} | ({"datasets": datasets} if datasets else {})


def render_svg(spec: Spec, *, width: int = WIDTH) -> str:
    """Returns the chart as SVG text, which screen readers read as one image with its description.

    Raises:
        ValueError: it is no valid specification.
    """
    # A specification could name an address for its data; none may be fetched.
    picture = str(vl_convert.vegalite_to_svg(_with_width(spec, width), vl_version=VEGA_LITE, allowed_base_urls=[]))
    return picture.replace("<svg ", f'<svg role="img" aria-label="{escape(replace_undrawable(spec.get("description", "")))}" ', 1)


def render_png(spec: Spec, scale: float = 2.0, *, width: int = WIDTH) -> bytes:
    """Returns the chart as PNG; `scale` is at most MOST_SCALE.

    Raises:
        ValueError: it is no valid specification.
    """
    picture = vl_convert.vegalite_to_png(_with_width(spec, width), vl_version=VEGA_LITE, scale=min(scale, MOST_SCALE), allowed_base_urls=[])
    return bytes(picture)


def _with_width(spec: Spec, width: int) -> Spec:
    # A picture has no container that could give it a width.
    return {**replace_undrawable(spec), "width": width}


def replace_undrawable(part: Any) -> Any:  # noqa: ANN401 - any JSON
    """Returns a copy with each character that XML cannot carry replaced: measuring such a text ends the process, not only the call."""
    match part:
        case str():
            return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", part)
        case dict():
            return {replace_undrawable(name): replace_undrawable(value) for name, value in part.items()}
        case list() | tuple():
            return [replace_undrawable(value) for value in part]
        case _:
            return part
