"""A report as one HTML file that needs nothing else: style and charts are in it, and no script is."""

import re
from itertools import count

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from app.charts.theme import Theme
from app.reports.document import Document
from app.reports.written import written

_ENVIRONMENT = Environment(
    loader=PackageLoader("app.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_CLIP = re.compile(r'(<clipPath id="|clip-path="url\(#)(clip\d+)')


def as_html(document: Document) -> str:
    """The file's text."""
    content = written(document, Theme.LIGHT)
    numbers = count(1)
    for section in content["sections"]:
        for block in section["blocks"]:
            if block["kind"] == "figure":
                block["svg"] = _inline(block["svg"], next(numbers))
    return _ENVIRONMENT.get_template("report.html").render(content)


def _inline(svg: str, number: int) -> Markup:
    """The chart as a part of the page, its ids unlike those of the other charts."""
    # Vega counts on from chart to chart as long as the process lives; the same report must come out the same.
    places = {found: place for place, found in enumerate(dict.fromkeys(name for _, name in _CLIP.findall(svg)), start=1)}
    named = _CLIP.sub(lambda found: f"{found[1]}f{number}-clip{places[found[2]]}", svg)
    return Markup(named)  # noqa: S704 - what Vega writes has every text of ours escaped
