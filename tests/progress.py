"""The limits of every test: it is ended when nothing of it moves any more, or when it moves without an end. None has a limit in seconds.

A watcher looks, once in a while, how much this process and all that it started have worked since it looked last, or have waited for a
processor. A look at which they did hardly either is quiet. When the quiet looks outnumber the others by QUIET_LOOKS, the test fails with
the stack of each thread. A machine with other work lets a test wait longer for a processor, which is no quiet: it takes longer, and is not
ended. So tests wait without any limit of their own, `wait_until()` included.

A test that asks in vain for what never comes, next to services that have something to do, is never quiet. It fails after MOST_LOOKS, twenty
times what the longest test takes on two processors.
"""

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGALRM, pthread_kill, signal
from time import process_time, thread_time

import httpx

PAUSE_SECONDS = 1.0
"""Between two looks."""

QUIET_LOOKS = 300
QUIET_SHARE = 0.1
"""Of one processor. A test that only asks again and again uses less."""

MOST_LOOKS = 2400
"""At one test, however busy: forty minutes, or longer on a machine that lets the watcher wait as well."""

LONGEST_POLL_SECONDS = 0.5

PROCESSES = Path("/proc")


def lift_limits() -> None:
    """Takes away the limit in seconds that a library has by itself: httpx gives up after 5."""
    for step in ("connect", "read", "write", "pool"):
        setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, step, None)  # noqa: SLF001 - every client takes it unless it says otherwise


class Stuck(AssertionError):
    """Nothing moves any more, or something moves without an end."""


def wait_until(holds: Callable[[], object], what: str = "") -> None:
    """Returns soon after it holds. `what` is for people, should it never hold."""
    pause = threading.Event()
    seconds = 0.01
    try:
        while not holds():
            pause.wait(seconds)
            seconds = min(1.2 * seconds, LONGEST_POLL_SECONDS)
    except Stuck as stuck:
        stuck.add_note(f"It waited until {what or 'what it waited for'} holds.")
        raise


class Watch:
    """Looks at this process and its descendants, and interrupts the main thread after too many quiet looks."""

    def __init__(self, *, pause_seconds: float = PAUSE_SECONDS, quiet_looks: int = QUIET_LOOKS, most_looks: int = sys.maxsize) -> None:
        self.looks = 0
        self._pause_seconds = pause_seconds
        self._quiet_looks = quiet_looks
        self._most_looks = most_looks
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)

    @contextmanager
    def looking(self) -> Iterator["Watch"]:
        """Raises Stuck in the block once nothing moves. Call it from the main thread."""
        if not (PROCESSES / "self" / "schedstat").exists():
            yield self  # not Linux: the limit is that of the person in front of it
            return
        before = signal(SIGALRM, _interrupt)
        self._thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            self._thread.join()
            signal(SIGALRM, before)

    def _look(self) -> None:
        quiet, busy_since = 0, 0
        worked: dict[str, int] = {}  # a look takes milliseconds: no test that is shorter than a pause pays for one
        ran = process_time() - thread_time()
        while not self._stopping.wait(self._pause_seconds):
            if self.looks - busy_since >= self._most_looks:
                busy_since = self.looks
                pthread_kill(threading.main_thread().ident or 0, SIGALRM)
            before, ran = ran, process_time() - thread_time()
            if ran - before >= QUIET_SHARE * self._pause_seconds:
                # Enough without the other processes, of which a busy machine has hundreds to read.
                self.looks += 1
                quiet = max(quiet - 1, 0)
                continue
            now = _work()
            moved = sum(nanoseconds - worked.get(task, 0) for task, nanoseconds in now.items())
            worked = now
            self.looks += 1
            quiet = quiet + 1 if moved < QUIET_SHARE * self._pause_seconds * 1e9 else max(quiet - 1, 0)
            if quiet >= self._quiet_looks:
                quiet = 0
                pthread_kill(threading.main_thread().ident or 0, SIGALRM)


def _interrupt(_number: int, _frame: object) -> None:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    stacks = [f"{names.get(no)}:\n{''.join(traceback.format_stack(frame))}" for no, frame in sys._current_frames().items()]  # noqa: SLF001 - documented for this
    raise Stuck("\n".join(["Nothing moves any more, or for too many looks.", *stacks]))


def _work() -> dict[str, int]:
    """For each thread of ours but this one: the nanoseconds that it ran or waited for a processor."""
    own = str(threading.get_native_id())
    nanoseconds = {}
    for process in _family():
        for task in _names(PROCESSES / process / "task"):
            ran, waited, *_ = (_text(PROCESSES / process / "task" / task / "schedstat") or "0 0").split()
            if task != own:
                nanoseconds[task] = int(ran) + int(waited)
    return nanoseconds


def _family() -> list[str]:
    """This process and all its descendants."""
    family = [str((PROCESSES / "self").readlink())]
    if not (PROCESSES / family[0] / "task" / family[0] / "children").exists():  # a kernel that leaves the lists of children out
        return _family_by_parents(family)
    # While it grows: descendants follow their parents. To read every process of a busy machine took a fifth of the tests' own time.
    for process in family:
        for task in _names(PROCESSES / process / "task"):
            family += _text(PROCESSES / process / "task" / task / "children").split()
    return family


def _family_by_parents(family: list[str]) -> list[str]:
    """The same with the parents that all processes of the machine name."""
    children: dict[str, list[str]] = {}
    for process in _names(PROCESSES):
        # pid (name) state parent …; a name may hold anything, parentheses as well
        after_name = _text(PROCESSES / process / "stat").rpartition(")")[2].split()
        if after_name:
            children.setdefault(after_name[1], []).append(process)
    for process in family:
        family += children.get(process, [])
    return family


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir() if entry.name.isdecimal()]
    except OSError:  # it has ended
        return []


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # as above
        return ""
