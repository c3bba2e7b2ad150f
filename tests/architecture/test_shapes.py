"""Shapes that make code hard to follow: parameters that pack unlike things into a tuple, and fragments with one caller."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.builders.sources import parse

REPOSITORY = Path(__file__).resolve().parents[2]

MOST_PACKED = 0
"""Parameters in the whole of `app/`."""

MOST_CALLED_ONCE = 0.12
"""Share of all functions."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of `app/` by its path."""
    return {
        path.relative_to(REPOSITORY).as_posix(): parse(path.read_text(encoding="utf-8"))
        for path in sorted((REPOSITORY / "app").rglob("*.py"))
    }


def functions(tree: ast.AST) -> list[Function]:
    """The functions and methods of a module."""
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def packed_parameters(tree: ast.AST) -> list[str]:
    """The parameters that are annotated as a tuple of a fixed length whose members have different types."""
    return [
        f"{function.name}({one.arg}: {ast.unparse(one.annotation)})"
        for function in functions(tree)
        for one in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        if one.annotation is not None and any(map(_is_mixed_tuple, ast.walk(one.annotation)))
    ]


def _is_mixed_tuple(node: ast.AST) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[_, *more] as members)):
            return bool(more) and len({ast.unparse(member) for member in members} - {"..."}) > 1
    return False


def called_once(tree: ast.AST) -> list[str]:
    """The private functions that the module names exactly once."""
    named = Counter(
        node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)
    )
    return [one.name for one in functions(tree) if one.name.startswith("_") and not one.name.startswith("__") and named[one.name] == 1]


def test_parameters_are_not_unlike_things_packed_into_a_tuple() -> None:
    found = [f"{path}: {parameter}" for path, tree in trees().items() for parameter in packed_parameters(tree)]

    assert len(found) <= MOST_PACKED, found


def test_private_functions_with_one_caller_are_the_exception() -> None:
    found = {path: called_once(tree) for path, tree in trees().items()}
    count = sum(len(functions(tree)) for tree in trees().values())

    assert sum(map(len, found.values())) <= MOST_CALLED_ONCE * count, found


@pytest.mark.parametrize(
    "line",
    [
        "def add(pair: tuple[str, int]): ...",
        "def add(*, pair: tuple[str, int] | None = None): ...",
        "async def add(pairs: Sequence[tuple[str, float]]): ...",
    ],
)
def test_a_packed_parameter_is_seen(line: str) -> None:
    assert len(packed_parameters(ast.parse(line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "def add(words: tuple[str, ...]): ...",
        "def span(ends: tuple[float, float]): ...",
        "def pair() -> tuple[str, int]: ...",
        "pair: tuple[str, int]",
    ],
)
def test_members_of_one_type_and_answers_are_not(line: str) -> None:
    assert packed_parameters(ast.parse(line)) == []


def test_a_private_function_with_one_caller_is_seen() -> None:
    source = "def said(a): return _once(a) + _twice(a) + _twice(a)\ndef _once(a): return a\ndef _twice(a): return a"

    assert called_once(ast.parse(source)) == ["_once"]
