"""Modules as tests of the code's shape read them: each source is parsed once for all of these tests."""

import ast
import re
from functools import cache

_IMPORT = re.compile(r"^[ \t]*((?:from[ \t]+\S+[ \t]+)?import[ \t]+(?:\([^)]*\)|[^\n;#(]+))", re.MULTILINE)


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """Every node of a module, in the order of `ast.walk`."""
    return tuple(ast.walk(ast.parse(source)))


def imports_of(source: str) -> tuple[ast.AST, ...]:
    """Every statement of a module that imports: to parse the others as well takes thirty times as long."""
    try:
        return tuple(ast.parse("\n".join(statement[1] for statement in _IMPORT.finditer(source))).body)
    except SyntaxError:  # a text that is no statement begins with the same word
        return nodes_of(source)


@cache
def snapshot_tests(source: str) -> frozenset[str]:
    """The tests of a module that compare something with a stored snapshot."""
    functions = (node for node in nodes_of(source) if isinstance(node, ast.FunctionDef))
    return frozenset(function.name for function in functions if any(argument.arg == "snapshot" for argument in _arguments(function)))


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.args, *function.args.kwonlyargs]
