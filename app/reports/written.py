"""A document as plain data for both templates."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ..charts.drawing import replace_undrawable
from ..charts.theme import ThemeLook
from ..domain.bidi import isolate
from .document import Block, Bullets, Document, Paragraph, ReportChart, ReportTable
from .numbers import moment

_PICTURES = frozenset({"svg", "picture", "axis"})
"""Members that are SVG."""


def written(document: Document, look: ThemeLook) -> dict[str, Any]:
    """Draws the charts in that look; `alt` is the chart in a sentence.

    Characters that neither PDF nor XML can carry are replaced, and names written from right to left isolated.
    """
    annex = [
        {"title": section.title, "level": section.level, "id": f"s{place}", "blocks": list(_write_blocks(section.blocks, look))}
        for place, section in enumerate(document.annex, start=1)
    ]
    content = {
        "title": document.title,
        "subtitle": document.subtitle,
        "made_at": moment(document.made.at),
        "made_by": document.made.author,
        "first": None if document.first is None else asdict(document.first),
        "second": None if document.second is None else asdict(document.second),
        "annex": annex,
    }
    found: dict[str, Any] = _isolated(replace_undrawable(content))
    return found


def _write_blocks(blocks: Iterable[Block], look: ThemeLook) -> Iterable[dict[str, Any]]:
    for block in blocks:
        match block:
            case Paragraph(text, is_caution):
                yield {"kind": "caution" if is_caution else "paragraph", "text": text}
            case Bullets(items):
                yield {"kind": "bullets", "items": list(items)}
            case ReportTable(caption, columns, rows, note, is_last_wide):
                cells = {"columns": list(columns), "rows": [list(row) for row in rows]}
                yield {"kind": "table", "caption": caption, "note": note, "is_last_wide": is_last_wide, **cells}
            case ReportChart(caption, draw):
                chart = draw(look)
                yield {"kind": "figure", "caption": caption, "alt": chart.description, "svg": chart.svg}


def _isolated(part: Any, name: str = "") -> Any:  # noqa: ANN401 - any JSON
    match part:
        case str():
            return part if name in _PICTURES else isolate(part)
        case dict():
            return {key: _isolated(value, key) for key, value in part.items()}
        case list():
            return [_isolated(value) for value in part]
        case _:
            return part
