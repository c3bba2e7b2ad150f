"""Engines that run a task on each piece of a table. Tasks take and answer bytes wherever they run."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from enum import StrEnum
from typing import Protocol, TypeAlias

from ..apart import MEMORY_BYTES, Apart
from ..errors import SetupError

Task: TypeAlias = Callable[[bytes], bytes]
"""Pickled for Spark: holds no open file or connection."""

Done: TypeAlias = Callable[[int], None]
"""Called with the number of finished pieces, about once a second; what it raises ends the run."""

POLL_SECONDS = 1.0


class EngineName(StrEnum):
    """Engines by their names in the settings."""

    LOCAL = "local"
    SPARK = "spark"


class Engine(Protocol):
    """Runs tasks. `slots`: pieces at the same time; `is_apart`: on other machines."""

    slots: int
    is_apart: bool

    def run(self, task: Task, pieces: Sequence[bytes], done: Done) -> Iterator[bytes]:
        """Yields the answer to each piece, in any order. Raises the error that the task raised."""


class LocalEngine:
    """Works in a child process for each piece, on as many at a time as there are processors."""

    is_apart = False

    def __init__(self, slots: int | None = None, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory_bytes = memory_bytes
        allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.slots = slots or allowed

    def run(self, task: Task, pieces: Sequence[bytes], done: Done) -> Iterator[bytes]:
        waiting, running, ended = iter(pieces), set[Future[bytes]](), 0
        with ThreadPoolExecutor(self.slots, thread_name_prefix="pieces") as pool:
            try:
                while True:
                    # Not all at once: unread answers would pile up in memory.
                    for piece in waiting:
                        running.add(pool.submit(Apart(self._memory_bytes, task, piece).result))
                        if len(running) > self.slots:
                            break
                    if not running:
                        return
                    finished, running = wait(running, POLL_SECONDS, FIRST_COMPLETED)
                    ended += len(finished)
                    done(ended)
                    for one in finished:
                        yield one.result()
            finally:
                for one in running:
                    one.cancel()


def open_engine(name: str, spark_url: str, memory_bytes: int = MEMORY_BYTES) -> Engine:
    """Returns the engine; `spark_url` is the address of a Spark Connect server or of a master."""
    if name == EngineName.LOCAL:
        return LocalEngine(memory_bytes=memory_bytes)
    if name != EngineName.SPARK:
        raise SetupError(f"EVENHAND_ENGINE must be {' or '.join(EngineName)}, found {name!r}.")
    try:
        from .spark_engine import SparkEngine  # noqa: PLC0415 - an extra that few installations have
    except ImportError as error:
        raise SetupError(f"The engine spark needs the extra packages of evenhand[spark] ({error}). Install them for workers.") from error
    return SparkEngine(spark_url)
