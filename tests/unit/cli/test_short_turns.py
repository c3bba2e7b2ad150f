"""Programs that `evenhand serve` starts get short turns on the processors, so that a record does not wait for a check's turn to end."""

import ctypes
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from app.embedded.launch import TURN_NANOSECONDS
from app.embedded.spawn import tied_command

SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}.get(os.uname().machine)

SHOW_TURNS = f"""
import ctypes, os, struct, sys
def shown():
    attributes = ctypes.create_string_buffer(48)
    ctypes.CDLL(None).syscall(ctypes.c_long({SCHED_GETATTR}), ctypes.c_long(0), attributes, ctypes.c_long(48), ctypes.c_long(0))
    _, policy, _, niceness, _, runtime, _, _ = struct.unpack("=IIQiIQQQ", attributes.raw)
    return policy, niceness, runtime
before = shown()
os.nice(3)
print(*before, *shown())
"""


def has_turns_of_processes() -> bool:
    """Returns whether this Linux lets a process choose the length of its turns: it says how long they are."""
    if sys.platform != "linux" or SCHED_GETATTR is None:
        return False
    attributes = ctypes.create_string_buffer(48)
    failed = ctypes.CDLL(None).syscall(ctypes.c_long(SCHED_GETATTR), ctypes.c_long(0), attributes, ctypes.c_long(48), ctypes.c_long(0))
    return not failed and bool(struct.unpack("=IIQiIQQQ", attributes.raw)[5])


needs_turns = pytest.mark.skipif(not has_turns_of_processes(), reason="this system has no turns of a process's own (Linux 6.12)")


def shown_by(command: list[str]) -> list[int]:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(number) for number in done.stdout.split()]


@needs_turns
def test_a_program_gets_short_turns_and_keeps_its_niceness() -> None:
    niceness = os.nice(0)

    # A lower priority, as a worker gives itself later, changes nothing of it.
    assert shown_by(tied_command([sys.executable, "-c", SHOW_TURNS], signal.SIGKILL)) == [
        *(os.SCHED_OTHER, niceness, TURN_NANOSECONDS),
        *(os.SCHED_OTHER, niceness + 3, TURN_NANOSECONDS),
    ]


@needs_turns
def test_another_policy_is_kept() -> None:
    tied = tied_command([sys.executable, "-c", SHOW_TURNS], signal.SIGKILL)
    # The launcher ends when its parent is not the one that asked for it, so the process itself changes its policy before it becomes it.
    program = "import os, sys; os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)); os.execv(sys.argv[1], sys.argv[1:])"

    policy, *_ = shown_by([sys.executable, "-c", program, *tied])

    assert policy == os.SCHED_BATCH


def test_a_machine_without_such_a_call_starts_programs_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = tmp_path / "launch.py"
    launcher = Path(sys.modules[tied_command.__module__].__file__ or "").with_name("launch.py").read_text(encoding="utf-8")
    known = '"x86_64": 314, "aarch64": 274'
    assert known in launcher
    unknown.write_text(launcher.replace(known, '"x86_64": 9_999, "aarch64": 9_999'), encoding="utf-8")
    monkeypatch.setattr("app.embedded.spawn.LAUNCHER", unknown)

    done = subprocess.run(tied_command([sys.executable, "-c", "print('ran')"], signal.SIGKILL), capture_output=True, text=True, check=True)

    assert done.stdout == "ran\n"
