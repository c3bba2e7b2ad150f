"""Markdown as HTML: raw HTML but `<kbd>` is escaped, tables scroll by the keyboard, headings have addresses."""

import re
from collections.abc import Callable, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

IDS_OF_EVERY_PAGE = ("content", "said", "workers", "worker-notice")
"""Ids of elements that a heading must not repeat."""

_NOT_IN_ADDRESSES = re.compile(r"[^\w\- ]")

_SCROLLED_TAG = '<div class="scroll" role="group" aria-label="Table" tabindex="0">'


def render_text(text: str) -> Markup:
    return Markup(_build_parser().render(text))  # noqa: S704 - the parser escapes HTML


def render_line(text: str) -> Markup:
    return Markup(_build_parser().renderInline(text))  # noqa: S704 - as above


def render_page(text: str, find_address: Callable[[str], str | None]) -> tuple[Markup, list[tuple[str, str]]]:
    """Renders a page, and returns id and text of its headings of the second level, too.

    `find_address` gives the address of the target of a link or picture; a link to None is its text alone.
    """
    tokens = _build_parser().parse(text)
    headings = []
    slugs = SlugNames()
    for token, following, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.type == "heading_open":
            slug = slugs.choose(following.content)
            token.attrSet("id", slug)
            if token.tag == "h2":
                shown = [child for child in following.children or [] if child.type in {"text", "code_inline"}]
                headings.append((slug, "".join(child.content for child in shown)))
        elif token.type == "th_open" and not following.content:
            token.tag = closing.tag = "td"
    for token in tokens:
        _set_addresses(token, find_address)
    content = _build_parser().renderer.render(tokens, _build_parser().options, {})
    return Markup(content), headings  # noqa: S704 - as above


class SlugNames:
    """Ids of the headings of a page, as GitHub makes them; a repeated one gets a number."""

    def __init__(self) -> None:
        self._uses = dict.fromkeys(IDS_OF_EVERY_PAGE, 0)

    def choose(self, heading: str) -> str:
        slug = _NOT_IN_ADDRESSES.sub("", heading.lower()).replace(" ", "-")
        uses = self._uses[slug] = self._uses.get(slug, -1) + 1
        return f"{slug}-{uses}" if uses else slug


def _set_addresses(inline: Token, find_address: Callable[[str], str | None]) -> None:
    is_left_out = False
    for token in inline.children or []:
        if token.type == "image":
            token.attrSet("src", find_address(str(token.attrGet("src"))) or "")
        elif token.type == "link_open":
            address = find_address(str(token.attrGet("href")))
            is_left_out = address is None
            token.attrSet("href", address or "")
        if is_left_out and token.type in {"link_open", "link_close"}:
            is_left_out = token.type == "link_open"
            token.hidden = True


@cache
def _build_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.add_render_rule("table_open", lambda *_: f"{_SCROLLED_TAG}<table>")
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    parser.add_render_rule("fence", _render_block)
    parser.add_render_rule("html_inline", _render_tag)
    parser.add_render_rule("html_block", _render_tag)
    return parser


def _render_block(_: object, tokens: Sequence[Token], position: int, *__: object) -> str:
    return Markup('<pre tabindex="0"><code>{}</code></pre>').format(tokens[position].content)


def _render_tag(_: object, tokens: Sequence[Token], position: int, *__: object) -> str:
    tag = tokens[position].content
    return tag if tag in {"<kbd>", "</kbd>"} else escape(tag)
