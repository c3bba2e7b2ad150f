"""No page uses a word that `docs/STYLE.md` replaces, and docstrings open as it says. The page's own table is the list of words."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.builders.docs_pages import DOCS, FENCE, REPOSITORY, name_of, table
from tests.builders.sources import nodes_of

STYLE = DOCS / "STYLE.md"

ROOTS = (
    "*.md",
    "docs/**/*.md",
    "app/**/*.py",
    "client/*.md",
    "client/**/*.py",
    "app/**/*.html",
    "app/**/*.js",
    "app/**/*.css",
    "scripts/*",
    "scripts/*/*",
)
"""Globs of the files to read."""

DOCSTRING_ROOTS = ("tests/architecture/*.py", "app/**/*.py", "client/**/*.py", "scripts/**/*.py")
"""Globs of the modules whose docstrings are read."""

OPENINGS = ("What", "Which", "Whom", "By")
"""First words of noun clauses, where a verb or a plain noun phrase belongs."""

_CODE_SPAN = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: words to avoid, each phrase also as the set of its words, and phrases in which they are right."""

    words: re.Pattern[str]
    phrases: tuple[frozenset[str], ...]
    allowed: re.Pattern[str] | None
    instead: str


@cache
def rules() -> tuple[Rule, ...]:
    """The vocabulary of `docs/STYLE.md`."""
    return tuple(
        Rule(_any_of(row[0]), tuple(map(_single_words, row[0].split(","))), _any_of(row[2]) if row[2] else None, row[1])
        for row in table(STYLE, "Word")
    )


def _single_words(text: str) -> frozenset[str]:
    return frozenset(re.findall("[a-z]+", text.lower()))


def _any_of(cell: str) -> re.Pattern[str]:
    # Letters end a word, underscores do not: `_told` is refused in code.
    phrases = (re.escape(phrase.strip("` ")).replace(r"\ ", r"\s+") for phrase in cell.split(","))
    return re.compile(rf"(?<![a-z])(?:{'|'.join(phrases)})(?![a-z])", re.IGNORECASE)


def prose_of(path: Path) -> str:
    """The words of a file: of Markdown without code, which may quote names and outputs; of other files everything."""
    text = path.read_text(encoding="utf-8")
    return _CODE_SPAN.sub("`", FENCE.sub(_blank_lines, text)) if path.suffix == ".md" else text


def _blank_lines(block: re.Match[str]) -> str:
    # Line numbers stay right.
    return "\n" * block[0].count("\n")


def words_to_avoid(text: str) -> list[str]:
    """Each refused word with its line and what to write instead."""
    found = []
    single = _single_words(text)
    for rule in rules():
        if not any(phrase <= single for phrase in rule.phrases):
            continue
        read = rule.allowed.sub(lambda phrase: "\n" * phrase[0].count("\n"), text) if rule.allowed else text
        found += [f"line {read.count(chr(10), 0, hit.start()) + 1}: {hit[0]!r}; write: {rule.instead}" for hit in rule.words.finditer(read)]
    return found


def docstrings(source: str) -> list[str]:
    """Docstrings of the module, its classes and functions, and the strings that follow its assignments."""
    return [
        node.value.value
        for node in nodes_of(source)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


def test_no_word_is_used_that_the_style_replaces() -> None:
    files = sorted({path for root in ROOTS for path in REPOSITORY.glob(root) if path.is_file() and path.suffix != ".pyc"})
    found = {name_of(path): words_to_avoid(prose_of(path)) for path in files}

    assert {name: words for name, words in found.items() if words} == {}


def test_a_docstring_opens_with_a_verb_or_a_noun() -> None:
    sources = {path: path.read_text(encoding="utf-8") for root in DOCSTRING_ROOTS for path in REPOSITORY.glob(root)}
    opened = [path for path, source in sources.items() if re.search(rf'"""\s*(?:{"|".join(OPENINGS)})\b', source)]
    wrong = [(name_of(path), text) for path in opened for text in docstrings(sources[path]) if text.split()[0] in OPENINGS]

    assert wrong == []


def test_docstrings_of_modules_functions_and_constants_are_read() -> None:
    source = '"""Module."""\nMAX = 1\n"""By what it is bound."""\ndef f():\n    """What it leaves."""\n    return "What is no docstring"'

    assert sorted(docstrings(source)) == ["By what it is bound.", "Module.", "What it leaves."]


def test_an_old_word_is_seen_whatever_its_case_and_in_a_name() -> None:
    found = words_to_avoid("Mend it.\nThe row beside\ndef _told(): its cost is worked\nout")

    assert [line.partition(";")[0] for line in found] == [
        "line 1: 'Mend'",
        "line 3: 'told'",
        "line 2: 'beside'",
        "line 3: 'worked\\nout'",
    ]


@pytest.mark.parametrize("text", ["behind a proxy", "stand-ins", "the standard", "besides", "understands", "recommend", "outstanding"])
def test_a_right_use_is_not_refused(text: str) -> None:
    assert words_to_avoid(text) == []


def test_code_in_markdown_is_exempt(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```text\nit stands\n```\n`stands` and beside\n")

    assert words_to_avoid(prose_of(page)) == ["line 4: 'beside'; write: next to, in addition to, along with"]
