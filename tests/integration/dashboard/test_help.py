"""The documentation and the API's reference as pages: every link leads somewhere, and nothing comes from another host."""

import html
import re
import shlex
from importlib.resources import files

import httpx
import pytest

from app.access.principals import Role
from app.pages.manual import build_address, list_pages
from app.pages.markdown import render_text
from tests.builders.docs_pages import DOCS, PAGES, REPOSITORY, anchors
from tests.service import RunningService

MAX_BYTES = 300_000
_HELP_OF_PAGE = re.compile(r"{% block help %}(.+?){% endblock %}")


@pytest.mark.thorough
def test_every_link_of_the_documentation_leads_somewhere(reader: httpx.Client) -> None:
    start = [build_address(name) for listed in list_pages().values() for name, _ in listed]

    assert len(start) == len([page for page in PAGES if page.is_relative_to(DOCS)])
    assert find_broken_links(reader, start) == []


@pytest.mark.thorough
def test_every_link_of_the_reference_leads_somewhere(reader: httpx.Client) -> None:
    tags = re.findall(r'<h2 id="[^"]+"><a href="(/docs/[^"]+)"', reader.get("/docs").text)

    assert find_broken_links(reader, ["/docs", *tags]) == []


def find_broken_links(reader: httpx.Client, start: list[str]) -> list[tuple[str, str]]:
    """Links to addresses that do not answer, and to places that are not there; scripts, styles and pictures of other hosts."""
    pages: dict[str, str | None] = {}

    def read(path: str) -> str | None:
        if path not in pages:
            answer = reader.get(path)
            pages[path] = answer.text if answer.status_code == 200 else None
        return pages[path]

    broken = []
    for path in start:
        text = read(path) or ""
        for kind, name, link in re.findall(r'<(\w+)[^>]*?\s(href|src)="([^"]*)"', text):
            target, _, fragment = html.unescape(link).partition("#")
            if target.startswith(("http:", "https:")) and kind == "a":
                continue
            found = read(target or path) if not target or target.startswith("/") else None
            if found is None or (fragment and f'id="{fragment}"' not in found):
                broken.append((path, f"{name} {link}"))
    return broken


def test_a_heading_has_the_address_that_it_has_in_the_repository(reader: httpx.Client) -> None:
    places = re.findall(r'<h\d id="([^"]+)"', reader.get("/help/concepts/checks").text)

    assert anchors(DOCS / "concepts" / "checks.md") <= set(places)


def test_the_help_of_each_page_is_a_section_of_the_documentation(reader: httpx.Client) -> None:
    templates = [file for file in (files("app.pages") / "templates").iterdir() if file.name.endswith(".html")]
    pages = {file.name: text for file in templates if '{% extends "base.html" %}' in (text := file.read_text("utf-8"))}
    sections = {name: found[1] for name, text in pages.items() if (found := _HELP_OF_PAGE.search(text))}

    assert set(pages) - set(sections) == {"help.html", "login.html", "logged_out.html"}
    for name, section in sections.items():
        path, _, heading = section.partition("#")
        assert (DOCS / f"{path}.md").exists(), name
        assert not heading or heading in anchors(DOCS / f"{path}.md"), (name, section)
    assert 'href="/help/how-to/use-a-browser#the-overview">Help' in reader.get("/").text


def test_a_search_finds_sections_that_have_every_word(reader: httpx.Client) -> None:
    page = reader.get("/help", params={"q": "HEARTBEAT 45"}).text
    links = re.findall(r'<h2><a href="([^"]+)"', page)

    assert "/help/operations/runbook#no-worker-answers" in links
    assert find_broken_links(reader, ["/help?q=disparate+impact"]) == []
    assert "No section of the documentation has all of these words" in reader.get("/help", params={"q": "heartbeat zebra"}).text
    assert "<script>alert" not in reader.get("/help", params={"q": "<script>alert"}).text


def test_of_raw_html_only_keys_of_the_keyboard_are_marked() -> None:
    assert "<kbd>K</kbd> &lt;b&gt;" in render_text("<kbd>K</kbd> <b>x</b>")
    assert render_text("<script>\n") == "&lt;script&gt;\n"


def test_only_who_is_logged_in_reads_the_documentation(browser: httpx.Client, service: RunningService) -> None:
    for path in ("/help", "/help/tutorial", "/help/evidence.svg"):
        assert browser.get(path, follow_redirects=False).headers["location"].startswith("/login?next=%2Fhelp"), path
    assert service.client.get("/help/tutorial", headers=service.as_(Role.INGEST)).status_code == 200


def test_what_is_no_page_of_the_documentation_is_not_found(service: RunningService, subtests: pytest.Subtests) -> None:
    for name in ("nothing", "../README", "%2e%2e/README", "tutorial.md", "screenshot.png", "concepts"):
        with subtests.test(name=name):
            assert service.client.get(f"/help/{name}").status_code == 404


def test_links_to_files_of_the_repository_alone_are_text(reader: httpx.Client) -> None:
    assert (REPOSITORY / "CONTRIBUTING.md").exists()
    assert "CONTRIBUTING.md" in reader.get("/help").text
    assert 'CONTRIBUTING.md"' not in reader.get("/help").text


def test_the_reference_has_every_operation_with_an_example_and_is_light(service: RunningService) -> None:
    document = service.client.get("/openapi.json").json()
    operations = {operation["operationId"] for item in document["paths"].values() for operation in item.values()}
    start = service.client.get("/docs")
    pages = {path: service.client.get(path) for path in set(re.findall(r'<h2 id="[^"]+"><a href="(/docs/[^"]+)"', start.text))}
    shown = [name for page in pages.values() for name in re.findall(r'<h2 id="(\w+)">\1</h2>', page.text)]
    examples = [html.unescape(text) for page in pages.values() for text in re.findall(r"<code>(curl .*?)</code>", page.text, re.DOTALL)]

    assert sorted(shown) == sorted(operations)
    assert len(examples) == len(operations)
    assert all(shlex.split(example)[0] == "curl" for example in examples)
    assert max(len(page.content) for page in (start, *pages.values())) < MAX_BYTES
    assert service.client.get("/docs/nothing").status_code == 404


def test_the_reference_describes_types_with_their_limits(service: RunningService) -> None:
    page = html.unescape(service.client.get("/docs/checks").text)

    assert "<td>integer, from 1, to 1000, 100 if left out</td><td>How many at most.</td>" in page
    assert '<a href="#CheckState">CheckState</a> or null' in page
    assert "<dt>202</dt><dd>Queued; read its address until it ends " in page
    assert "-H 'Content-Type: application/json' " in page
