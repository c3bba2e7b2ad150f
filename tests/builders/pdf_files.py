"""Looks into PDF files, as Typst writes them."""

import re
import zlib
from collections.abc import Iterator

_SHOWN = re.compile(rb"1 0 0 -1 \S+ (\S+) cm|/(\w+) \S+ Tf|((?:\((?:[^\\()]|\\.)*\)[-\d.\s]*)+)\]?\s*T[Jj]", re.DOTALL)
_STRING = re.compile(rb"\(((?:[^\\()]|\\.)*)\)", re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def page_count(pdf: bytes) -> int:
    """The number of pages that the page tree has."""
    (count,) = re.findall(rb"/Type\s*/Pages[^>]*?/Count (\d+)", pdf)
    return int(count)


def page_texts(pdf: bytes) -> list[str]:
    """The text of each page, as it is copied: characters by the fonts' own tables, a new line where the baseline changes."""
    objects = {int(no): content for no, content in re.findall(rb"(?:^|\n)(\d+) 0 obj\s(.*?)\sendobj", pdf, re.DOTALL)}
    pages = [content for content in objects.values() if b"/Type/Page/" in content]
    return ["".join(_read_page(objects, page)) for page in pages]


def _read_page(objects: dict[int, bytes], page: bytes) -> Iterator[str]:
    resources, content = (int(re.search(name + rb" (\d+) 0 R", page)[1]) for name in (rb"/Resources", rb"/Contents"))  # type: ignore[index]
    listed = re.findall(rb"/(\w+) (\d+) 0 R", (re.search(rb"/Font<<(.*?)>>", objects[resources], re.DOTALL) or [b"", b""])[1])
    fonts = {name: _characters(objects, objects[int(no)]) for name, no in listed}
    baseline, font = b"", b""
    for moved, chosen, shown in _SHOWN.findall(_content_of(objects[content])):
        if moved and moved != baseline:
            yield "\n"
        baseline, font = moved or baseline, chosen or font
        for text in _STRING.findall(shown):
            plain = _ESCAPE.sub(_unescape, text)
            yield "".join(fonts[font][plain[place : place + 2]] for place in range(0, len(plain), 2))


def _unescape(escape: re.Match[bytes]) -> bytes:
    word = escape[1]
    return bytes([int(word, 8)]) if len(word) > 1 else _LETTERS.get(word, b"" if word == b"\n" else word)


def _characters(objects: dict[int, bytes], font: bytes) -> dict[bytes, str]:
    """The text of each glyph."""
    table = _content_of(objects[int(re.search(rb"/ToUnicode (\d+) 0 R", font)[1])])  # type: ignore[index]
    pairs = re.findall(rb"<([0-9A-F]{4})> <([0-9A-F]+)>\n", table)
    return {bytes.fromhex(glyph.decode()): bytes.fromhex(text.decode()).decode("utf-16-be") for glyph, text in pairs}


def _content_of(stream: bytes) -> bytes:
    return zlib.decompress(stream.split(b"stream\n", 1)[1])
