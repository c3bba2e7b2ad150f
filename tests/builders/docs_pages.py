"""What the pages of the documentation say, as data: blocks, tables, links and addresses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
TUTORIAL = DOCS / "tutorial.md"
PAGES = sorted([*DOCS.rglob("*.md"), *REPOSITORY.glob("*.md")])

RUN = ("sh", "python")
OUTPUT = "output"
CONTINUED = "continued"
"""Behind `python`: the block goes on where the Python block before it stopped."""

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
"""A fenced block."""

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_ADDRESS = re.compile(
    r"(?:\b(?P<method>GET|POST|PUT|PATCH|DELETE) |\$EVENHAND|(?<=[\"'`(]))(?P<path>/(?:v1|health|metrics|docs|openapi)[\w/{}.-]*)"
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, the word behind it, and its lines."""

    language: str
    word: str
    body: str


@dataclass(frozen=True, slots=True)
class Step:
    """One block to run, and the block with its output, if the page shows one."""

    run: Block
    output: Block | None


def name_of(page: Path) -> str:
    """The page's path within the repository."""
    return page.relative_to(REPOSITORY).as_posix()


def blocks(page: Path) -> list[Block]:
    """Every fenced block, in order."""
    fenced = []
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        language, _, word = match["info"].partition(" ")
        fenced.append(Block(language, word.strip(), match["body"]))
    return fenced


def steps(page: Path) -> list[Step]:
    """The blocks to run, in order; before a continued one, silently, those that it continues."""
    every = blocks(page)
    to_run, earlier = [], ""
    for block, after in zip(every, [*every, None][1:], strict=True):
        if block.language not in RUN:
            continue
        body = block.body
        if block.language == "python":
            body = _silently(earlier) + body if block.word == CONTINUED else body
            earlier = earlier + block.body if block.word == CONTINUED else block.body
        to_run.append(Step(replace(block, body=body), after if after is not None and after.word == OUTPUT else None))
    return to_run


def pages_before(page: Path) -> list[Path]:
    """The pages that must have been gone through first, as the page's sentence `Before: …` names them."""
    sentence = re.search(r"\bBefore: (.*?\))\.(?:\s|$)", page.read_text(encoding="utf-8"), re.DOTALL)
    return [(page.parent / link).resolve() for link in _LINK.findall(sentence[1])] if sentence else []


def how_to_pages() -> list[Path]:
    """The how-to pages that have blocks to run, in the order of the list of tasks, each at its first place."""
    index = DOCS / "README.md"
    listed = dict.fromkeys((index.parent / link).resolve() for link in links(index))
    return [page for page in listed if page.parent == DOCS / "how-to" and steps(page)]


def links(page: Path) -> list[str]:
    """Every link that is not in a block."""
    return _LINK.findall(_prose(page))


def anchors(page: Path) -> set[str]:
    """The fragments that headings of the page give."""
    headings = re.findall(r"^#+ (.*)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def section(page: Path, heading: str) -> str:
    """The text below the heading, up to the next one of the same level or a higher one."""
    text = page.read_text(encoding="utf-8")
    start = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    if start is None:
        raise LookupError(f"{name_of(page)} has no heading {heading!r}")
    end = re.compile(rf"^#{{1,{len(start[1])}}} ", re.MULTILINE).search(text, start.end())
    return text[start.end() : end.start() if end else None]


def addresses(page: Path) -> Iterator[tuple[str | None, str]]:
    """Each HTTP method (None where none is named) and path that the page speaks of."""
    for match in _ADDRESS.finditer(page.read_text(encoding="utf-8")):
        yield match["method"], match["path"].rstrip(".")


def table(page: Path, heading: str) -> list[list[str]]:
    """The rows of the first table whose first column is headed so, code marks taken off."""
    return _rows(_prose(page).splitlines(), heading)


def tables(page: Path, heading: str) -> list[list[str]]:
    """The rows of every table whose first column is headed so, one after the other."""
    lines = _prose(page).splitlines()
    starts = [no for no, line in enumerate(lines) if line.startswith(f"| {heading} |")]
    return [row for start in starts for row in _rows(lines[start:], heading)]


def _rows(lines: list[str], heading: str) -> list[list[str]]:
    start = next(no for no, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return rows


def _prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def _silently(program: str) -> str:
    return f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    exec({program!r}, globals())\n"
