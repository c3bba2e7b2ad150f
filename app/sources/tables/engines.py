"""Engines that run a task on each piece of a table. Tasks take and answer bytes wherever they run."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from enum import StrEnum
from typing import Protocol

from ...base.apart import Apart
from ...base.errors import SetupError
from ...base.settings import count_cores

Task = Callable[[bytes], bytes]

Done = Callable[[int], None]
"""Called with the number of finished pieces, about once a second; what it raises ends the run."""

POLL_SECONDS = 1.0


class EngineName(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


class Engine(Protocol):
    """`slots`: pieces at the same time; `is_apart`: on other machines."""

    slots: int
    is_apart: bool

    def run(self, task: Task, pieces: Sequence[bytes], done: Done) -> Iterator[bytes]:
        """Yields the answer to each piece, in any order. Raises the error that the task raised."""


class LocalEngine:
    is_apart = False

    def __init__(self, slots: int | None = None) -> None:
        self.slots = slots or count_cores()

    def run(self, task: Task, pieces: Sequence[bytes], done: Done) -> Iterator[bytes]:
        children = [
            Apart(map, task, pieces[start :: self.slots]) for start in range(min(self.slots, len(pieces)))
        ]
        ended = 0
        with ThreadPoolExecutor(self.slots, thread_name_prefix="pieces") as pool:
            running = {
                pool.submit(next, answers, None): answers
                for answers in (child.stream() for child in children)
            }
            try:
                while running:
                    finished = wait(running, POLL_SECONDS, FIRST_COMPLETED)[0]
                    done(ended)
                    for future in finished:
                        answers = running.pop(future)
                        answer = future.result()
                        if answer is not None:
                            ended += 1
                            running[pool.submit(next, answers, None)] = answers
                            yield answer
            finally:
                for child in children:
                    child.end()


def open_engine(name: str, spark_url: str) -> Engine:
    if name == EngineName.LOCAL:
        return LocalEngine()
    if name != EngineName.SPARK:
        raise SetupError(f"EVENHAND_ENGINE must be {' or '.join(EngineName)}, found {name!r}.")
    try:
        from .spark_engine import SparkEngine  # noqa: PLC0415 - an extra that few installations have
    except ImportError as error:
        raise SetupError(
            f"The engine spark needs the extra packages of evenhand[spark] ({error}). Install them for "
            "workers."
        ) from error
    return SparkEngine(spark_url)
