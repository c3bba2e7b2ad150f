"""Report as PDF: tagged, with title and language."""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict
from importlib.resources import files
from typing import Literal

import typst

from ..charts.pictures.drawing import LOOKS, Theme, fonts
from .document import Document, written

_TEMPLATE = (files(__package__) / "templates" / "report.typ").read_bytes()

_MOST_ATTEMPTS = 4
_UNDRAWN = re.compile(r'the text `"(.+?)"` could not be displayed')
_ESCAPED = re.compile(r"\\u\{([0-9a-f]+)\}")
_INVISIBLE = {"Cf", "Mn", "Me"}


def as_pdf(document: Document) -> bytes:
    """Keeps to PDF/UA-1. A character without a glyph becomes its name or number: `[grinning face]`.

    Texts go in as JSON, never as markup.
    """
    attached = [
        asdict(attachment) | {"content": attachment.content.decode()} for attachment in document.attachments
    ]
    content = json.dumps(written(document, LOOKS[Theme.PRINT]), ensure_ascii=False)
    files_json = json.dumps(attached, ensure_ascii=False)
    for _ in range(_MOST_ATTEMPTS):
        try:
            return _compile(content, files_json, document, "ua-1")
        except typst.TypstError as error:
            missing = _UNDRAWN.findall(str(error.diagnostic))
            if not missing:
                break
            content = content.translate(_name_characters(missing))
    # The standard forbids a character without a glyph; a report with a gap is better than none.
    return _compile(content, files_json, document, "1.7")


def _name_characters(texts: Iterable[str]) -> dict[int, str]:
    """Returns what is shown instead; nothing for a character that only changes the one before it."""
    characters = {
        character for text in texts for character in _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    }
    named = {}
    for character in characters:
        if not character.isascii():
            number = f"U+{ord(character):04X}"
            category = unicodedata.category(character)
            name = unicodedata.name(character, number).lower() if category == "So" else number
            named[ord(character)] = "" if category in _INVISIBLE else f"[{name}]"
    return named


def _compile(content: str, attached: str, document: Document, standard: Literal["ua-1", "1.7"]) -> bytes:
    # Without this time the present one would go in, and the same report would be another file.
    return typst.compile(
        _TEMPLATE,
        font_paths=fonts(),
        sys_inputs={"report": content, "files": attached},
        pdf_standards=standard,
        timestamp=document.made.at,
    )
