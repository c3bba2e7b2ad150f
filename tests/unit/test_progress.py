"""The limit on progress, with looks in quick succession."""

import os
import signal
import subprocess
import sys
import threading
import time
from hashlib import sha256

import pytest

from tests.progress import Stuck, Watch, _family, _family_by_parents, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

SPIN = "while True: pass"


def impatient() -> Watch:
    return Watch(pause_seconds=0.02, quiet_looks=3)


def test_what_waits_for_nothing_is_ended_with_the_stack_of_each_thread() -> None:
    waiting = threading.Event()
    other = threading.Thread(target=waiting.wait, name="the other one")
    other.start()
    try:
        with pytest.raises(Stuck, match="Nothing moves") as stuck, impatient().looking():
            threading.Event().wait()
    finally:
        waiting.set()
        other.join()

    assert "the other one" in str(stuck.value)
    assert "MainThread" in str(stuck.value)


def test_what_asks_again_and_again_for_something_that_never_comes_is_ended_and_says_for_what() -> None:
    with pytest.raises(Stuck) as stuck, impatient().looking():
        wait_until(lambda: False, "pigs fly")

    assert stuck.value.__notes__ == ["It waited until pigs fly holds."]


def test_what_works_is_not_ended() -> None:
    block = bytes(1_000_000)
    with impatient().looking() as watch:
        while watch.looks < 20:
            sha256(block)  # works without the interpreter's lock, for which each look would wait


def test_what_works_without_an_end_is_ended() -> None:
    def work() -> None:
        block = bytes(1_000_000)
        while True:
            sha256(block)

    with pytest.raises(Stuck, match="too many looks"), Watch(pause_seconds=0.02, most_looks=5).looking():
        work()


@pytest.mark.nightly
def test_what_works_a_third_of_the_time_is_not_ended() -> None:
    with Watch(pause_seconds=0.1, quiet_looks=3).looking() as watch:
        while watch.looks < 20:
            end = time.thread_time() + 0.01
            while time.thread_time() < end:
                pass
            time.sleep(0.02)


@pytest.mark.thorough
def test_what_waits_for_a_process_that_works_is_not_ended() -> None:
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}])"
    with subprocess.Popen([sys.executable, "-c", grandchild], start_new_session=True) as child:
        try:
            with impatient().looking() as watch:
                wait_until(lambda: watch.looks >= 20)
        finally:
            os.killpg(child.pid, signal.SIGKILL)


def test_descendants_are_those_whose_parents_lead_here() -> None:
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}])"
    with subprocess.Popen([sys.executable, "-c", grandchild], start_new_session=True) as child:
        try:
            wait_until(lambda: len(_family()) >= 3, "the grandchild runs")
            found = _family()
            # Processes of other tests begin and end between two looks.
            wait_until(lambda: set(_family()) == set(_family_by_parents([str(os.getpid())])), "both see the same processes")
        finally:
            os.killpg(child.pid, signal.SIGKILL)

    assert str(child.pid) in found


def test_a_wait_ends_as_soon_as_it_holds() -> None:
    answers = iter([False, False, True])

    wait_until(lambda: next(answers))

    assert list(answers) == []
