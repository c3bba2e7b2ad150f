"""Modules as tests of the code's shape read them: each source is parsed once for all of these tests."""

import ast
from functools import cache


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """Every node of a module, in the order of `ast.walk`."""
    return tuple(ast.walk(ast.parse(source)))
