"""Report as one HTML file that needs nothing else: style and charts are in it, and no script is."""

import re

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..charts.theme import Theme
from ..domain.bidi import FIRST, LAST
from .document import Document
from .written import written

_ENVIRONMENT = Environment(
    loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_CLIP = re.compile(r'(<clipPath id="|clip-path="url\(#)(clip\d+)')


def as_html(document: Document) -> str:
    """Returns the file's text."""
    content = written(document, Theme.LIGHT)
    number = 0
    for section in content["annex"]:
        for block in section["blocks"]:
            if block["kind"] == "figure":
                number += 1
                # Vega counts the ids of clips on from chart to chart as long as the process lives. With ids of its own, each chart
                # differs from the others of the page, and the same report comes out the same.
                clips = dict.fromkeys(name for _, name in _CLIP.findall(block["svg"]))
                ids = {clip: f"f{number}-clip{place}" for place, clip in enumerate(clips, start=1)}
                svg = "".join(ids.get(part, part) for part in _CLIP.split(block["svg"]))
                block["svg"] = Markup(svg)  # noqa: S704 - Vega's output has every text of ours escaped
    return _ENVIRONMENT.get_template("report.html").render(content)


def mark_names(text: str) -> Markup:
    """Returns the text, escaped, with isolated names as elements; marks in the text would be lost when it is copied."""
    return Markup(str(escape(text)).replace(FIRST, "<bdi>").replace(LAST, "</bdi>"))  # noqa: S704 - escaped before


_ENVIRONMENT.filters |= {"names": mark_names, "picture": Markup}
