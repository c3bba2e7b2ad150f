"""Prints gauges of the code's shape, and the places that go beyond what CONTRIBUTING.md aims at. They fail nothing.

scripts/check --report
"""

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
RUFF_RULES = "C901,PLR0911,PLR0912,PLR0913,PLR0915"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("app", "client")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    trees = {name: ast.parse(source) for name, source in sources.items()}
    functions = {name: [node for node in ast.walk(tree) if isinstance(node, Function)] for name, tree in trees.items()}
    lines = {name: len(source.splitlines()) for name, source in sources.items()}
    count = sum(map(len, functions.values()))
    comments = sum(map(_count_comments, sources.values()))
    _show(f"files of more than {MAX_FILE_LINES} lines", [f"{name}: {n}" for name, n in lines.items() if n > MAX_FILE_LINES])
    _show(
        f"functions of more than {MAX_FUNCTION_LINES} lines",
        [
            f"{name}:{function.lineno}: {function.name}: {length}"
            for name, inside in functions.items()
            for function in inside
            if (length := (function.end_lineno or function.lineno) - function.lineno + 1) > MAX_FUNCTION_LINES
        ],
    )
    _show(
        "parameters that pack unlike things into a tuple",
        [f"{name}: {parameter}" for name, inside in functions.items() for parameter in _packed_parameters(inside)],
    )
    ruff = (sys.executable, "-m", "ruff", "check", "--quiet", "--exit-zero", "--output-format", "concise")
    found = subprocess.run(  # noqa: S603 - our own tool and paths
        [*ruff, "--select", RUFF_RULES, "app", "client"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    _show(f"functions beyond ruff's {RUFF_RULES}", found.stdout.splitlines())
    once = sum(len(_called_once(trees[name], inside)) for name, inside in functions.items())
    _show(f"private functions with one caller: {100 * once / count:.1f} % of {count:,} functions")
    _show(f"comments: {1000 * comments / sum(lines.values()):.1f} in 1,000 lines")


def _show(gauge: str, places: Sequence[str] | None = None) -> None:
    print(gauge if places is None else f"{gauge}: {len(places)}")
    for place in places or ():
        print(f"    {place}")


def _packed_parameters(functions: Sequence[Function]) -> Iterator[str]:
    for function in functions:
        arguments = function.args
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if parameter.annotation is not None and any(map(_is_mixed_tuple, ast.walk(parameter.annotation))):
                yield f"{function.name}({parameter.arg}: {ast.unparse(parameter.annotation)})"


def _is_mixed_tuple(node: ast.AST) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=members)):
            return len({ast.unparse(member) for member in members} - {"..."}) > 1
    return False


def _called_once(tree: ast.Module, functions: Sequence[Function]) -> list[str]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
    named = Counter(node.id if isinstance(node, ast.Name) else node.attr for node in nodes)
    private = (function.name for function in functions if function.name.startswith("_"))
    return [name for name in private if not name.startswith("__") and named[name] == 1]


def _count_comments(source: str) -> int:
    """Returns the comments that say something: a bare `noqa` or `type: ignore` does not, one with its reason does."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return sum(" - " in comment or not comment.startswith(("# noqa", "# type:")) for comment in comments)


if __name__ == "__main__":
    main()
