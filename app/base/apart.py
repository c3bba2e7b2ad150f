"""Work on content that others sent, in a child process that ends if it needs more than its memory."""

import multiprocessing
import os
import resource
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing.connection import Connection
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .errors import EvenhandError, TooLarge

NICENESS = 5

MEMORY_BYTES = 2**30

_PRELOADED = (
    "base.system_memory",
    "intake.imports.routes",
    "deployments.training.routes",
    "reports.report_processes",
    "checks.counting.count_files",
    "evidence.count_files",
)

_PACKAGE = __package__.partition(".")[0]
_PROCESSES = multiprocessing.get_context("forkserver")
# They are forked, within milliseconds, from a process without threads that has loaded what they need.
_PROCESSES.set_forkserver_preload([*(f"{_PACKAGE}.{name}" for name in _PRELOADED), "pyarrow.dataset"])
_PARENT_CONNECTION: ContextVar[Connection] = ContextVar("parent")

ITEM_METHOD = ""
"""In place of a method: an item of a stream."""


class HostCall(NamedTuple):
    """Call of a method of the host, which the child waits for."""

    method: str
    arguments: tuple[Any, ...]


class WorkEnd(NamedTuple):
    """Last message of the child: the result, or the error."""

    result: Any


class SentFile:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_sent_file, (DupFd(self._file.fileno()),)


def _open_sent_file(sent: Any) -> BinaryIO:  # noqa: ANN401 - of multiprocessing
    return os.fdopen(sent.detach(), "rb")


class ChildWork:
    """Work in a child process, whose calls of `ask` are methods of `host`."""

    def __init__(self, work: Callable[..., Any], *arguments: object, host: object = None) -> None:
        self._host = host
        self._parent_end, self._child_end = _PROCESSES.Pipe()
        self._child = _PROCESSES.Process(
            target=_run_in_child, args=(self._child_end, work, arguments), daemon=True
        )
        self._result: Any = None
        self._is_ended = False

    def result(self) -> Any:  # noqa: ANN401 - of the call
        """Raises the work's error, and TooLarge if the process ended, as where it needs more memory."""
        for method, arguments in self._calls():
            self._parent_end.send(getattr(self._host, method)(*arguments))
        return self._result

    def stream(self) -> Iterator[Any]:
        for _, (item,) in self._calls():
            yield item
            self._parent_end.send(None)

    def _calls(self) -> Iterator[HostCall]:
        with self._parent_end:
            try:
                with self._child_end:
                    self._child.start()
                if self._is_ended:
                    self.end()
                while isinstance(message := self._parent_end.recv(), HostCall):
                    yield message
                self._result = message.result
            except (EOFError, ConnectionError) as error:
                raise build_too_large() from error
            finally:
                self.end()
                if self._child.pid is not None:
                    self._child.join()
        if isinstance(self._result, Exception):
            raise self._result

    def end(self) -> None:
        self._is_ended = True
        if self._child.pid is not None and self._child.is_alive():
            self._child.kill()


def ask(method: str, *arguments: object) -> Any:  # noqa: ANN401 - of the method
    parent = _PARENT_CONNECTION.get()
    parent.send(HostCall(method, arguments))
    answer = parent.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


def build_too_large() -> TooLarge:
    return TooLarge(
        f"Reading this takes too long, or more memory than the {read_memory_limit() // 2**20} MiB of "
        "EVENHAND_UPLOAD_MEMORY_BYTES. Send fewer rows, shorter values or smaller row groups at once."
    )


def read_memory_limit() -> int:
    return int(os.environ.get("EVENHAND_UPLOAD_MEMORY_BYTES", MEMORY_BYTES))


@contextmanager
def limit_memory() -> Iterator[None]:
    """Limits the memory that this process takes in the block, where the system does that (Linux).

    Raises:
        TooLarge: it needs more.
    """
    limits_before = resource.getrlimit(resource.RLIMIT_DATA)
    # The sixth number: pages of data and stack, which RLIMIT_DATA counts.
    pages = (
        int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) if sys.platform == "linux" else 0
    )
    with suppress(ValueError):  # there is a lower limit already
        resource.setrlimit(
            resource.RLIMIT_DATA, (pages * resource.getpagesize() + read_memory_limit(), limits_before[1])
        )
    try:
        yield
    except MemoryError as error:
        raise build_too_large() from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits_before)


def _run_in_child(parent: Connection, work: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    os.nice(max(0, NICENESS - os.nice(0)))
    _PARENT_CONNECTION.set(parent)
    try:
        with limit_memory():
            result = work(*arguments)
            if isinstance(result, Iterator):
                for item in result:
                    ask(ITEM_METHOD, item)
                result = None
    except EvenhandError as error:
        result = error
    except Exception as error:  # noqa: BLE001 - any error must reach the other process
        # Errors of libraries may not survive the way.
        result = RuntimeError("".join(traceback.format_exception(error)))
    parent.send(WorkEnd(result))
