"""The executors of the Spark workers that `scripts/trials/spark` started, and their memory."""

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

SECONDS_BETWEEN_LOOKS = 0.2


def executors() -> list[psutil.Process]:
    workers = [psutil.Process(int(no)) for no in os.environ["EVENHAND_TEST_SPARK_WORKERS"].split(",")]
    return [child for worker in workers for child in worker.children(recursive=True) if _is_executor(child)]


def peak_megabytes(process: int | str = "self") -> float:
    """Returns the peak of a process's own memory [MB]. That of getrusage begins with the memory of the process that started it."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


class ExecutorMemory:
    """Follows the peaks of memory of executors until the block ends [MB]: `java` of the largest one, `python` of its largest process."""

    def __init__(self) -> None:
        self.java = 0.0
        self.python = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._is_over.wait(SECONDS_BETWEEN_LOOKS):
            for executor in executors():
                self.java = max(self.java, _peak_of(executor))
                self.python = max([self.python, *(_peak_of(one) for one in _below(executor))])


def _is_executor(process: psutil.Process) -> bool:
    try:
        return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
    except psutil.Error:
        return False


def _below(process: psutil.Process) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = process.children(recursive=True)
    except psutil.Error:
        return []
    return found


def _peak_of(process: psutil.Process) -> float:
    try:
        return peak_megabytes(process.pid)
    except (OSError, StopIteration):
        return 0.0
