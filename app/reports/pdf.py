"""Report as PDF: tagged, with its title and language, text that can be selected, and fonts that come with the writer."""

import json
from importlib.resources import files
from typing import Literal

import typst

from ..charts.theme import Theme
from .document import Document
from .written import written

_TEMPLATE = (files(__package__) / "templates" / "report.typ").read_bytes()


def as_pdf(document: Document) -> bytes:
    """Returns the file. It keeps to PDF/UA-1 where there is a font for every character; else it is tagged all the same.

    All texts go in as data: the template reads them from JSON and never as markup.
    """
    content = json.dumps(written(document, Theme.PRINT))
    try:
        return _compiled(content, document, "ua-1")
    except typst.TypstError:
        # No font here has some character of a name. The standard forbids that; a report with a gap in a name is better than none.
        return _compiled(content, document, "1.7")


def _compiled(content: str, document: Document, standard: Literal["ua-1", "1.7"]) -> bytes:
    # Without this time, the writer would put in the present one, and the same report would be another file.
    return typst.compile(_TEMPLATE, sys_inputs={"report": content}, pdf_standards=standard, timestamp=document.made.at)
