"""Memory of processes, and of the executors of the Spark workers that `scripts/trials/spark` started."""

import os
from contextlib import suppress
from pathlib import Path

import psutil


def peak_megabytes(process: int | str = "self") -> float:
    """Returns the peak of a process's own memory [MB]. That of getrusage begins with the memory of the process that started it."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def executors_megabytes() -> float:
    """Returns the largest peak of a Python process of an executor [MB]: their Java takes what its heap allows."""
    peaks = [0.0]
    for worker in os.environ["EVENHAND_TEST_SPARK_WORKERS"].split(","):
        for child in psutil.Process(int(worker)).children(recursive=True):
            # Any of them may have ended.
            with suppress(psutil.Error, OSError, StopIteration):
                if any("CoarseGrainedExecutorBackend" in word for word in child.cmdline()):
                    peaks += [peak_megabytes(process.pid) for process in child.children(recursive=True)]
    return max(peaks)
