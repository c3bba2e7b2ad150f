"""Markdown against the code: every path exists, and every claim about imports agrees with import-linter or with the imports."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.builders.docs_pages import DOCS, PAGES, REPOSITORY, blocks, name_of, section, table
from tests.builders.sources import imports_of

APP = REPOSITORY / "app"
ARCHITECTURE = DOCS / "ARCHITECTURE.md"
CONTRIBUTING = REPOSITORY / "CONTRIBUTING.md"

ABOUT_THE_CODE = [page for page in PAGES if page in (ARCHITECTURE, CONTRIBUTING) or page.parent == DOCS / "adr"]
"""Pages that may name a file by the end of its path: `checks/lease_queries.py`."""

RECIPES = ("a metric", "a payload format", "an alert channel", "a payload column", "a page", "a role", "a chart")
"""Things a contributor adds, each with its list of files."""

ALL_BUT = "every room but "

_PATH = re.compile(r"(?<![\w/.:$-])(?:app|tests|scripts|docs|migrations|\.ci)/[\w./*-]*[\w/*]")
_MODULE = re.compile(r"(?<![\w/.-])app(?:\.[a-z_]\w*)+")
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_SHORT_PATH = re.compile(r"[\w/]+(?:\.py|/)")
_CLAIM = re.compile(
    r"\b(?:(?:numpy|scipy|pandas|pyarrow|the standard library|no library) only|only (?:numpy|the standard library)"
    r"|(?:never|only) imports?|imports? (?:only|no)\b)",
    re.IGNORECASE,
)
_NODE = re.compile(r"^ +(\w+)\[", re.MULTILINE)


def rooms() -> set[str]:
    """Names of every folder and module of `app`."""
    return {path.stem for path in APP.iterdir() if path.name[0] not in "_." and (path.is_dir() or path.suffix == ".py")}


def contracts(kind: str) -> list[dict[str, Any]]:
    """The contracts of that type in import-linter's configuration."""
    configuration = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    return [contract for contract in configuration["tool"]["importlinter"]["contracts"] if contract["type"] == kind]


def libraries_of(room: Path) -> set[str]:
    """The third-party packages that the room imports."""
    files = room.rglob("*.py") if room.is_dir() else [room.with_suffix(".py")]
    return {name for file in files for name in _imported(file)} - set(sys.stdlib_module_names) - {"app"}


def _imported(file: Path) -> Iterator[str]:
    for node in imports_of(file.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def missing_paths(text: str) -> list[str]:
    """Paths from the root of the repository, and dotted names within `app`, that lead nowhere."""
    paths = [path for path in _PATH.findall(text) if not _leads_somewhere(path)]
    return paths + [name for name in _MODULE.findall(text) if not _is_defined(name)]


def _leads_somewhere(path: str) -> bool:
    return any(REPOSITORY.glob(path)) if "*" in path else (REPOSITORY / path).exists()


def _is_defined(name: str) -> bool:
    place, parts = APP, name.split(".")[1:]
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if parts and (place / f"{parts[0]}.py").is_file():
        place /= f"{parts.pop(0)}.py"
    file = place / "__init__.py" if place.is_dir() else place
    return not parts or re.search(rf"\b{parts[0]}\b", file.read_text(encoding="utf-8")) is not None


def missing_short_paths(text: str) -> list[str]:
    """Files and folders in code marks that no path below `app`, or from the root, ends with."""
    spans = [span for span in _CODE_SPAN.findall(text) if _SHORT_PATH.fullmatch(span)]
    return [span for span in spans if not (REPOSITORY / span).exists() and not any(APP.glob(f"**/{span.rstrip('/')}"))]


def test_a_path_that_leads_nowhere_is_seen() -> None:
    text = "See `app/nowhere.py`, `app.domain.nothing_here`, `app/domain/`, app.main:app_from_environment, `tests/unit/*/test_laws.py`."

    assert missing_paths(text) == ["app/nowhere.py", "app.domain.nothing_here"]
    assert missing_short_paths("`checks/lease_queries.py`, `checks/nowhere.py`, `tables/`, `no_tables/`, `a.json`") == [
        "checks/nowhere.py",
        "no_tables/",
    ]


def test_every_path_in_markdown_exists() -> None:
    missing = {name_of(page): missing_paths(page.read_text(encoding="utf-8")) for page in PAGES}

    assert {page: paths for page, paths in missing.items() if paths} == {}


def test_every_file_named_by_the_end_of_its_path_exists() -> None:
    missing = {name_of(page): missing_short_paths(page.read_text(encoding="utf-8")) for page in ABOUT_THE_CODE}

    assert {page: paths for page, paths in missing.items() if paths} == {}


def test_the_picture_of_the_rooms_has_every_room_and_its_bands_go_down() -> None:
    picture = blocks(ARCHITECTURE)[0]
    bands = [set(_NODE.findall(band)) for band in picture.body.split("subgraph ")[1:]]
    (contract,) = contracts("layers")
    depth = {room: depth for depth, layer in enumerate(contract["layers"]) for room in layer.split(" | ")}

    assert picture.language == "mermaid"
    assert set.union(*bands) == rooms() == set(depth)
    for upper, lower in pairwise(bands):
        assert max(depth[room] for room in upper) < min(depth[room] for room in lower), (upper, lower)


def test_the_table_of_forbidden_imports_is_the_contracts() -> None:
    written = {row[0]: (_modules_in(row[1]), _modules_in(row[2])) for row in table(ARCHITECTURE, "Contract")}

    assert written == {
        contract["id"]: (_short(contract["source_modules"]), _short(contract["forbidden_modules"])) for contract in contracts("forbidden")
    }


def _modules_in(cell: str) -> set[str]:
    named = set(re.findall(r"[\w.]+", cell.removeprefix(ALL_BUT)))
    return rooms() - named if cell.startswith(ALL_BUT) else named


def _short(modules: list[str]) -> set[str]:
    return {module.removeprefix("app.") for module in modules}


def test_a_room_imports_the_libraries_that_its_row_names() -> None:
    for room, named, _ in table(ARCHITECTURE, "Room and its libraries"):
        assert libraries_of(APP / room.removesuffix(".py")) == _modules_in(named) - {"none"}, room


def test_claims_about_imports_are_made_in_the_tables_that_are_checked() -> None:
    for page in (ARCHITECTURE, CONTRIBUTING):
        assert [claim.group() for claim in _CLAIM.finditer(page.read_text(encoding="utf-8"))] == [], page


@pytest.mark.parametrize("thing", RECIPES)
def test_a_recipe_names_the_files_that_change(thing: str) -> None:
    recipe = section(CONTRIBUTING, f"Add {thing}")
    files = _PATH.findall(recipe)

    assert len(files) >= 3
    assert any(file.startswith("tests/") for file in files)
