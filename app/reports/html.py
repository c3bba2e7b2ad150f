"""Report as one HTML file that needs nothing else: style and charts are in it, and no script is."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..charts.theme import LOOKS, Theme
from ..domain.bidi import FIRST, LAST
from .document import Document
from .written import written

_ENVIRONMENT = Environment(
    loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def as_html(document: Document) -> str:
    """Returns the file's text."""
    return _ENVIRONMENT.get_template("report.html").render(written(document, LOOKS[Theme.LIGHT]))


def mark_names(text: str) -> Markup:
    """Returns the text, escaped, with isolated names as elements; marks in the text would be lost when it is copied."""
    return Markup(str(escape(text)).replace(FIRST, "<bdi>").replace(LAST, "</bdi>"))  # noqa: S704 - escaped before


_ENVIRONMENT.filters |= {"names": mark_names, "picture": Markup}
