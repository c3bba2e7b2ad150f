"""One public class name has one meaning, and no name says nothing."""

import re
from collections import defaultdict
from pathlib import Path

APP = Path(__file__).parents[2] / "app"
CLASS = re.compile(r"^[ \t]*class ([A-Za-z]\w*)[(:\[]", re.MULTILINE)
GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff", "base_utils", "manager", "managers"}


def test_no_two_public_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in sorted(APP.rglob("*.py")):
        for name in CLASS.findall(path.read_text(encoding="utf-8")):
            found[name].append(str(path.relative_to(APP)))

    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_no_file_or_folder_is_a_grab_bag() -> None:
    names = {part.removesuffix(".py") for path in APP.rglob("*.py") for part in path.relative_to(APP).parts}

    assert names & GRAB_BAGS == set()
