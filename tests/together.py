"""Files whose tests run one after the other in one process, because they share what takes long to make.

`--dist loadfile` alone would deal them out to all processes, and each would make it for itself.
"""

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = REPOSITORY / "tests" / "e2e" / "pages"

SHARING_AN_EXAMPLE = (
    ("test_accessibility.py", "test_every_page.py"),
    (
        "test_configure.py",
        "test_firefox.py",
        "test_firefox_flows.py",
        "test_layout.py",
        "test_nights.py",
        "test_pages.py",
        "test_range.py",
        "test_tasks.py",
    ),
)
"""Files of PAGES that look at a running worked example, which takes half a minute to start and works until its process ends.

The two groups take about the same time. One for all of them would end long after everything else.
"""

_GROUPS = {
    (PAGES / name).relative_to(REPOSITORY).as_posix(): f"sharing example {no}"
    for no, group in enumerate(SHARING_AN_EXAMPLE)
    for name in group
}
"""The name of its group by the file, as the ids of tests name it."""


class GroupScheduling(LoadFileScheduling):
    """Gives all files of a group to the same process, and any other file to any."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return _GROUPS.get(file, file)


def put_groups_first(items: list[pytest.Item]) -> None:
    """Sorts tests: the groups take longest, and what begins last leaves the other processes nothing to do."""
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in _GROUPS)


def shares_an_example(file: Path) -> bool:
    """Whether the file is one of those that look at the worked example."""
    return file.parent == PAGES and any(file.name in group for group in SHARING_AN_EXAMPLE)
