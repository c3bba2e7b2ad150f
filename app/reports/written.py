"""A document as plain data, which both templates read: texts stay texts, charts become SVG."""

from typing import Any

from app.charts.rendering import render_svg
from app.charts.theme import Theme
from app.reports.document import Block, Bullets, Document, Figure, Paragraph, Table
from app.reports.numbers import moment

WIDTH = 640
"""Pixels of a chart in a report."""


def written(document: Document, theme: Theme) -> dict[str, Any]:
    """The document with its charts drawn for that background. `alt` is the chart in a sentence."""
    return {
        "title": document.title,
        "subtitle": document.subtitle,
        "made_at": moment(document.made.at),
        "made_by": document.made.by,
        "sections": [
            {
                "title": section.title,
                "level": section.level,
                "id": f"s{place}",
                "blocks": [_block(block, theme) for block in section.blocks],
            }
            for place, section in enumerate(document.sections, start=1)
        ],
    }


def _block(block: Block, theme: Theme) -> dict[str, Any]:
    match block:
        case Paragraph(text, is_caution):
            return {"kind": "caution" if is_caution else "paragraph", "text": text}
        case Bullets(items):
            return {"kind": "bullets", "items": list(items)}
        case Table(caption, columns, rows, note, is_last_wide):
            cells = {"columns": list(columns), "rows": [list(row) for row in rows]}
            return {"kind": "table", "caption": caption, "note": note, "is_last_wide": is_last_wide, **cells}
        case Figure(caption, draw):
            spec = draw(theme)
            return {"kind": "figure", "caption": caption, "alt": spec["description"], "svg": render_svg(spec, width=WIDTH)}
