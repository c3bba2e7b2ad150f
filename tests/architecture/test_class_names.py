"""One public class name has one meaning."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.builders.sources import nodes_of

APP = Path(__file__).parents[2] / "app"

# Words of different fields, each in a room that does not meet the other. Shorten this list; do not add to it.
TWICE = {"Direction", "Form", "Group", "Grouping"}


def test_no_two_public_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in sorted(APP.rglob("*.py")):
        for node in nodes_of(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{path.relative_to(APP)}:{node.lineno}")

    assert {name: places for name, places in found.items() if len(places) > 1 and name not in TWICE} == {}
    assert {name for name in TWICE if len(found[name]) < 2} == set(), "no longer used twice: remove it from TWICE"
