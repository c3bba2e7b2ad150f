"""One public class name has one meaning, and no name says nothing."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.builders.sources import nodes_of

APP = Path(__file__).parents[2] / "app"
GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff", "base_utils", "manager", "managers"}


def test_no_two_public_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in sorted(APP.rglob("*.py")):
        for node in nodes_of(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{path.relative_to(APP)}:{node.lineno}")

    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_no_file_or_folder_is_a_grab_bag() -> None:
    names = {part.removesuffix(".py") for path in APP.rglob("*.py") for part in path.relative_to(APP).parts}

    assert names & GRAB_BAGS == set()
