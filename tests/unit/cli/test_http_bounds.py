"""Bounds that follow from the limit of open files."""

import resource
import subprocess
import sys

import pytest

from app.cli.http_bounds import RESERVED_FILES, HttpBounds

RAISING = """
import resource
from app.cli.http_bounds import raise_open_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_open_file_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""

HARD = 4096


@pytest.mark.parametrize("soft", [256, HARD])
@pytest.mark.nightly
def test_the_limit_of_open_files_is_raised_as_far_as_the_system_allows(soft: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard >= HARD
    # In a process of its own, which cannot raise its hard limit again.
    command = [sys.executable, "-c", RAISING.format(soft=soft, hard=HARD)]

    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert printed.split() == [str(HARD)] * 3


def test_fewer_files_allow_fewer_connections() -> None:
    bounds = HttpBounds(max_connections=2000)

    assert bounds.within(1000).max_connections == 1000 - RESERVED_FILES
    assert bounds.within(2000 + RESERVED_FILES) == bounds
    assert bounds.within(10).max_connections == 1
