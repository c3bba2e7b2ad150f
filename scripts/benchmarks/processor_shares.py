"""Shares of a processor: a control group of Linux for each process, which may compute so much of the time and no more."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")

PERIOD_MICROSECONDS = 10_000
"""Time in which a process may use its share. Linux' own 100 ms would let it work for long, and then wait for long."""

END_SECONDS = 5.0
"""Max seconds until a process that was moved out has left its group."""


def can_limit() -> bool:
    """Returns whether this process may make groups with a limit: as root, on Linux, outside most containers."""
    try:
        with _group("evenhand-bench-try", 0.5):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def limited(processes: Sequence[int], share: float) -> Iterator[None]:
    """Lets each of the processes use that share of a processor until the block ends.

    Raises:
        OSError: there are no such groups here, or this process may not make one.
    """
    with contextlib.ExitStack() as groups:
        for process in processes:
            group = groups.enter_context(_group(f"evenhand-bench-{os.getpid()}-{process}", share))
            (group / "cgroup.procs").write_text(str(process))
        yield


@contextlib.contextmanager
def _group(name: str, share: float) -> Iterator[Path]:
    root = GROUPS / "cpu" if (GROUPS / "cpu").is_dir() else GROUPS  # of the first version of control groups, and of the second
    group = root / name
    group.mkdir()
    try:
        used = round(share * PERIOD_MICROSECONDS)
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
            (group / "cpu.cfs_quota_us").write_text(str(used))
        else:
            (group / "cpu.max").write_text(f"{used} {PERIOD_MICROSECONDS}")
        yield group
    finally:
        _remove(group, root)


def _remove(group: Path, root: Path) -> None:
    for process in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):  # it has ended
            (root / "cgroup.procs").write_text(process)
    deadline = time.monotonic() + END_SECONDS
    while True:
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
