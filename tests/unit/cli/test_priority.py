"""A worker gives way to other processes, whose sessions Linux gives the same share of the processors whatever their niceness."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os
from app.priority import lower_priority
lower_priority(5)
print(os.nice(0), *open('/proc/self/autogroup').read().split()[-1:])
"""

needs_sessions = pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system has no niceness of sessions (autogroup)")


def printed(*, in_own_session: bool) -> str:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, start_new_session=in_own_session)
    return done.stdout.strip()


@needs_sessions
def test_a_session_of_its_own_gets_the_niceness_too() -> None:
    expected = os.nice(0) + 5

    assert printed(in_own_session=True) == f"{expected} {expected}"


@needs_sessions
def test_a_session_of_others_keeps_its_niceness() -> None:
    # Empty for processes that are in the session of the system's first process, as in some containers.
    before = Path("/proc/self/autogroup").read_text().split()[-1:]

    assert printed(in_own_session=False).split() == [str(os.nice(0) + 5), *before]
