"""Modules as tests of the code's shape read them: each source is parsed once for all of these tests."""

import ast
from functools import cache


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """Every node of a module, in the order of `ast.walk`."""
    return tuple(ast.walk(ast.parse(source)))


@cache
def snapshot_tests(source: str) -> frozenset[str]:
    """The tests of a module that compare something with a stored snapshot."""
    functions = (node for node in nodes_of(source) if isinstance(node, ast.FunctionDef))
    return frozenset(function.name for function in functions if any(one.arg == "snapshot" for one in _arguments(function)))


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.args, *function.args.kwonlyargs]
