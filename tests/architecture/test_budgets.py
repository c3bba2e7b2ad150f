"""Sizes and names that keep the code readable; the rest is ruff's and mypy's."""

import ast
from pathlib import Path

from tests.builders.sources import nodes_of

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = sorted((REPOSITORY / "app").rglob("*.py"))
CLIENT_FILES = sorted((REPOSITORY / "client").rglob("*.py"))
LONGEST_FILE = 400
LONGEST_FUNCTION = 50
GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff", "base_utils", "manager", "managers"}


def test_a_file_is_short_enough_to_read_at_once() -> None:
    lines = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in [*FILES, *CLIENT_FILES]}

    too_long = {name: length for name, length in lines.items() if length > LONGEST_FILE}
    assert too_long == {}


def test_a_function_fits_on_a_page() -> None:
    too_long = [
        (_name(path), node.name, _length(node))
        for path in [*FILES, *CLIENT_FILES]
        for node in nodes_of(path.read_text(encoding="utf-8"))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _length(node) > LONGEST_FUNCTION
    ]

    assert too_long == []


def test_no_file_or_folder_is_a_grab_bag() -> None:
    names = {part.removesuffix(".py") for path in FILES for part in path.relative_to(REPOSITORY).parts}

    assert names & GRAB_BAGS == set()


def test_only_the_clock_asks_what_time_it_is() -> None:
    offenders = [_name(path) for path in FILES if path.name != "clock.py" and "datetime.now(" in path.read_text(encoding="utf-8")]

    assert offenders == []


def _name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
