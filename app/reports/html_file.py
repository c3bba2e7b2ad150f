"""Report as one HTML file with its style and charts, without scripts."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..base.values import FIRST, LAST
from ..charts.pictures.drawing import LOOKS, Theme
from .document import Document, write_document

_ENVIRONMENT = Environment(
    loader=PackageLoader(__package__),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write_html(document: Document) -> str:
    return _ENVIRONMENT.get_template("report.html").render(write_document(document, LOOKS[Theme.LIGHT]))


def mark_names(text: str) -> Markup:
    """Escapes the text and makes isolated names elements, because copying would lose marks in the text."""
    escaped = str(escape(text))
    return Markup(escaped.replace(FIRST, "<bdi>").replace(LAST, "</bdi>"))  # noqa: S704 - escaped before


_ENVIRONMENT.filters |= {"names": mark_names, "picture": Markup}
