"""The programs of the field: each line that they print is right, or its case waits for an issue."""

from functools import cache
from pathlib import Path

import pytest

from tests.field.cases import FIELD, OPEN, at_hand, marks_of
from tests.field.programs import Line, run_program
from tests.service import RunningService

NIGHTLY = {"stat-28-what-stays"}
"""Programs that check many records."""

OF_PROCESSES = {"20-alert-storm", "sec-uploads"}
"""Programs that need the processes of a service: see `test_machines.py`."""

MAKES_FILES = {"37-more-than-100-values"}

FOLDERS = [path.parent.name for path in sorted(FIELD.glob("*/try.py")) if path.parent.name not in OF_PROCESSES]

pytestmark = at_hand


def _mark(folder: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.nightly if folder in NIGHTLY else pytest.mark.thorough]


class Programs:
    """Runs each program once."""

    def __init__(self, service: RunningService, home: Path) -> None:
        self._service = service
        self._home = home
        self.lines = cache(self._lines)

    def _lines(self, folder: str) -> list[Line]:
        url, key = self._service.base_url, self._service.admin_key
        return run_program(folder, self._home, url, key, makes_files=folder in MAKES_FILES)


@pytest.fixture(scope="module")
def programs(shared_service: RunningService, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The programs, with the service that they call."""
    return Programs(shared_service, tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize("folder", [pytest.param(folder, marks=[*_mark(folder), *marks_of(f"{folder}/try.py")]) for folder in FOLDERS])
def test_all_lines_of_a_program_are_right(programs: Programs, folder: str) -> None:
    lines = programs.lines(folder)

    assert lines
    assert [line for line in lines if not line.is_right] == []


@pytest.mark.parametrize(
    "folder",
    [pytest.param(folder, marks=_mark(folder)) for folder in FOLDERS if "" not in getattr(OPEN.get(f"{folder}/try.py"), "lines", [""])],
)
def test_lines_that_wait_for_no_issue_are_right(programs: Programs, folder: str) -> None:
    waiting = OPEN[f"{folder}/try.py"].lines

    assert [line for line in programs.lines(folder) if not line.is_right and not line.case.startswith(waiting)] == []
