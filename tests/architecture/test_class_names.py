"""One public class name has one meaning."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.builders.sources import nodes_of

APP = Path(__file__).parents[2] / "app"


def test_no_two_public_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in sorted(APP.rglob("*.py")):
        for node in nodes_of(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{path.relative_to(APP)}:{node.lineno}")

    assert {name: places for name, places in found.items() if len(places) > 1} == {}
