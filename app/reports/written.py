"""A document as plain data, which both templates read: texts stay texts, charts become SVG."""

from typing import Any

from ..charts.rendering import render_svg, replace_undrawable
from ..charts.theme import Theme
from .document import Bullets, Document, Figure, Paragraph, Table
from .numbers import moment

WIDTH = 640
"""Pixels of a chart in a report."""


def written(document: Document, theme: Theme) -> dict[str, Any]:
    """Returns the document with its charts drawn for that background. `alt` is the chart in a sentence.

    Characters that neither PDF nor XML can carry are replaced.
    """
    sections: list[dict[str, Any]] = []
    for place, section in enumerate(document.sections, start=1):
        blocks: list[dict[str, Any]] = []
        for block in section.blocks:
            match block:
                case Paragraph(text, is_caution):
                    blocks.append({"kind": "caution" if is_caution else "paragraph", "text": text})
                case Bullets(items):
                    blocks.append({"kind": "bullets", "items": list(items)})
                case Table(caption, columns, rows, note, is_last_wide):
                    cells = {"columns": list(columns), "rows": [list(row) for row in rows]}
                    blocks.append({"kind": "table", "caption": caption, "note": note, "is_last_wide": is_last_wide, **cells})
                case Figure(caption, draw):
                    spec = draw(theme)
                    svg = render_svg(spec, width=WIDTH)
                    blocks.append({"kind": "figure", "caption": caption, "alt": spec["description"], "svg": svg})
        sections.append({"title": section.title, "level": section.level, "id": f"s{place}", "blocks": blocks})
    found: dict[str, Any] = replace_undrawable(
        {
            "title": document.title,
            "subtitle": document.subtitle,
            "made_at": moment(document.made.at),
            "made_by": document.made.by,
            "sections": sections,
        }
    )
    return found
