"""The documentation of `docs/`, which is shipped with the package: its pages as HTML, and a search in it."""

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from msgspec import Struct
from starlette.responses import Response

from ..access.gate.caller import AnyKey, Reader
from ..base.errors import NotFound
from ..statistics.catalogue import CATALOGUE
from ..web.compress import build_file_response
from .markdown import SlugNames, render_page
from .render import show_page
from .terms import TERMS

HELP = "/help"

MAX_RESULTS = 30

_SNIPPET_CHARACTERS = 200
"""Characters of a section that a result of the search shows."""

_HEADING = re.compile(r"^(#+) (.*)$")

_MARKS = re.compile(r"\[([^\]]*)\]\([^)]*\)|[`*|]|^\s*[-:| ]+$", re.MULTILINE)

_FOLDERS = {
    "": "Start",
    "how-to": "How to",
    "concepts": "Concepts",
    "operations": "Operations",
    "adr": "Decisions",
}

router = APIRouter(include_in_schema=False)


class ManualPage(Struct, frozen=True):
    """Page of the documentation. `name` is its path without `.md`; that of the first page is empty."""

    name: str
    title: str
    content: Markup
    headings: list[tuple[str, str]]


class ManualSection(Struct, frozen=True):
    title: str
    address: str
    heading: str
    text: str

    def cut(self, word: str) -> str:
        start = max(0, self.text.lower().find(word.lower()) - _SNIPPET_CHARACTERS // 4)
        end = self.text.find(" ", start + _SNIPPET_CHARACTERS)
        return f"… {self.text[self.text.rfind(' ', 0, start) + 1 : None if end < 0 else end]} …"


def build_address(name: str) -> str:
    return f"{HELP}/{name}" if name else HELP


@cache
def read_page(name: str) -> ManualPage | None:
    """Renders the page; None where there is none of that name."""
    text = _read_texts().get(name)
    if text is None:
        return None
    content, headings = render_page(text, lambda target: _find_address(name, target))
    return ManualPage(name, _find_title(text), content, headings)


@cache
def list_pages() -> dict[str, list[tuple[str, str]]]:
    listed: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _FOLDERS.values()}
    for name, text in sorted(_read_texts().items(), key=lambda item: (item[0] != "", _find_title(item[1]))):
        listed[_FOLDERS.get(name.partition("/")[0], "Start")].append((name, _find_title(text)))
    return listed


def search(query: str) -> list[ManualSection]:
    """Finds the sections with every word of a query, those first that have them in the heading."""
    words = query.lower().split()
    ranked = []
    for section in _list_sections() if words else ():
        text = section.text.lower()
        heading = f"{section.title} {section.heading}".lower()
        if all(word in text or word in heading for word in words):
            # A word in the heading outweighs all that a text can count.
            weight = sum(20 * (word in heading) + min(text.count(word), 5) for word in words)
            ranked.append((-weight, section))
    return [section for _, section in sorted(ranked, key=itemgetter(0))[:MAX_RESULTS]]


def find_folder() -> Path:
    """Finds `docs/` in the installed package, else in the repository."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "docs"
    return installed if installed.exists() else package.parent / "docs"


@cache
def _read_texts() -> dict[str, str]:
    folder = find_folder()
    return {
        _name_page(path.relative_to(folder).as_posix()): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.md"))
    }


def _name_page(path: str) -> str:
    name = path.removesuffix(".md")
    return "" if name == "README" else name


def _find_title(text: str) -> str:
    return _MARKS.sub(r"\1", text.partition("\n")[0].removeprefix("# "))


def _find_address(name: str, target: str) -> str | None:
    """Finds the address of a link of a page; None for a file that is in the repository alone."""
    path, mark, fragment = target.partition("#")
    if ":" in path:
        return target
    if not path:
        return f"{mark}{fragment}"
    linked_path = posixpath.normpath(posixpath.join(posixpath.dirname(name or "README"), path))
    if linked_path.startswith(".."):
        return None
    return build_address(_name_page(linked_path)) + mark + fragment


@cache
def _list_sections() -> list[ManualSection]:
    return [section for name, text in _read_texts().items() for section in _divide_page(name, text)]


def _divide_page(name: str, text: str) -> Iterator[ManualSection]:
    title = _find_title(text)
    heading = ""
    slug = ""
    is_code = False
    slugs = SlugNames()
    lines: list[str] = []

    def build_section() -> ManualSection:
        content = " ".join(_MARKS.sub(r"\1", "\n".join(lines)).split())
        return ManualSection(title, build_address(name) + (f"#{slug}" if slug else ""), heading, content)

    for line in text.splitlines():
        is_code ^= line.startswith("```")
        match = None if is_code else _HEADING.match(line)
        if match is None:
            lines.append(line)
            continue
        next_slug = slugs.choose(match[2])
        if match[1] != "#":
            yield build_section()
            heading = _MARKS.sub(r"\1", match[2])
            slug = next_slug
            lines = []
    yield build_section()


@router.get(HELP)
def show_help_start(
    request: Request, _: AnyKey, q: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    return _show_manual(request, manual=read_page("") if q is None else None, query=q or "")


@router.get(HELP + "/{name:path}")
def show_help_page(name: str, request: Request, _: AnyKey) -> Response:
    picture = next((path.read_bytes() for path in find_folder().glob("*.svg") if path.name == name), None)
    if picture is not None:
        return build_file_response(
            request.scope, picture, "image/svg+xml", cache_control="private, max-age=3600"
        )
    manual = read_page(name)
    if manual is None:
        raise NotFound("page of the documentation", name)
    return _show_manual(request, manual=manual, query="")


@router.get("/glossary")
def show_glossary_page(request: Request, _: Reader) -> Response:
    metrics = sorted(CATALOGUE.items(), key=lambda item: item[1].title)
    return show_page(request, "glossary.html", {"terms": TERMS, "metrics": metrics})


def _show_manual(request: Request, *, manual: ManualPage | None, query: str) -> Response:
    values = {"manual": manual, "query": query, "results": search(query), "folders": list_pages()}
    return show_page(request, "help.html", values | {"address_of": build_address})
