"""Every stored snapshot is of a test that there is, and holds nothing of the run that wrote it."""

import re

from tests.builders.docs_pages import REPOSITORY
from tests.builders.sources import snapshot_tests

SNAPSHOTS = {file: file.read_text(encoding="utf-8") for file in sorted((REPOSITORY / "tests").rglob("__snapshots__/*.ambr"))}

_NAME = re.compile(r"^# name: (\w+)", re.MULTILINE)
_VARYING = re.compile(r"pytest-of-|\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b|(?:127\.0\.0\.1|localhost):\d{5}|\bevk_")
"""Folders of a test, ids, ports and keys."""


def test_every_snapshot_is_compared_by_a_test() -> None:
    """Syrupy reports what a test that ran no longer uses, but CI leaves tests out, and then it passes over those that are gone."""
    stale = []
    for file, content in SNAPSHOTS.items():
        module = file.parents[1] / f"{file.stem}.py"
        tests = snapshot_tests(module.read_text(encoding="utf-8")) if module.exists() else frozenset()
        stale += [f"{file.relative_to(REPOSITORY)}: {name}" for name in _NAME.findall(content) if name not in tests]

    assert stale == []


def test_no_snapshot_holds_what_changes_from_run_to_run() -> None:
    varying = {str(file.relative_to(REPOSITORY)): match[0] for file, content in SNAPSHOTS.items() if (match := _VARYING.search(content))}

    assert varying == {}
