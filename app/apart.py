"""Work on bytes of others, in a child process that may use so much memory and dies of more."""

import multiprocessing
import os
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import DupFd
from typing import Any, BinaryIO

from .errors import EvenhandError, InvalidInput, TooLarge

try:
    import resource
except ImportError:  # pragma: no cover - there memory has no limit
    resource = None  # type: ignore[assignment]

NICENESS = 10
"""Niceness of the processes: requests come first."""

MEMORY_BYTES = 2**30
"""Default of `upload_memory_bytes`."""

_LOADED = ("api.imports", "api.training_data")

_PROCESSES = multiprocessing.get_context("forkserver")
# Forked from a process without threads that has loaded them: within milliseconds, and all memory is given back.
_PROCESSES.set_forkserver_preload([f"{__package__}.{name}" for name in _LOADED])


class SentFile:
    """An open file on its way to the child, which gets it as a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_sent, (DupFd(self._file.fileno()),)


def _open_sent(sent: Any) -> BinaryIO:  # noqa: ANN401 - of multiprocessing
    return os.fdopen(sent.detach(), "rb")


class Apart:
    """A call in a child process. With an `answer`, the call's last argument is a function that asks this process."""

    def __init__(
        self,
        memory_bytes: int,
        work: Callable[..., Any],
        *arguments: Any,  # noqa: ANN401 - of the call
        answer: Callable[[Any], Any] | None = None,
    ) -> None:
        self._memory_bytes = memory_bytes
        self._answer = answer
        self._ours, self._theirs = _PROCESSES.Pipe()
        call = (self._theirs, memory_bytes, work, arguments, answer is not None)
        self._child = _PROCESSES.Process(target=_do, args=call, daemon=True)
        self._is_ended = False

    def result(self) -> Any:  # noqa: ANN401 - of the call
        """Blocks. Returns the result, or raises the error, of the call or of an answer.

        Raises:
            TooLarge: the process died, as it does when it needs more memory, or was ended.
        """
        with self._ours:
            try:
                with self._theirs:
                    self._child.start()
                if self._is_ended:
                    self.end()
                while not (message := self._receive())[0]:
                    self._ours.send(self._reply(message[1]))
            finally:
                self.end()
                self._child.join()
        if isinstance(message[1], Exception):
            raise message[1]
        return message[1]

    def end(self) -> None:
        """Kills the process, in any thread."""
        self._is_ended = True
        if self._child.pid is not None and self._child.is_alive():
            self._child.kill()

    def _receive(self) -> tuple[bool, Any]:
        try:
            received: tuple[bool, Any] = self._ours.recv()
        except (EOFError, ConnectionError) as error:
            raise TooLarge(
                f"Reading this takes more than the {self._memory_bytes // 2**20} MiB of EVENHAND_UPLOAD_MEMORY_BYTES, or the process that"
                " read it was ended. Send shorter values, fewer rows or smaller row groups at once."
            ) from error
        return received

    def _reply(self, question: Any) -> Any:  # noqa: ANN401 - of the call
        assert self._answer is not None  # noqa: S101 - else nothing is asked
        try:
            return self._answer(question)
        except InvalidInput as error:
            return error


def limit_memory(memory_bytes: int) -> None:
    """Limits this process's data; where a system has no such limit, nothing happens."""
    if resource is not None:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard), hard))


def _do(parent: Connection, memory_bytes: int, work: Callable[..., Any], arguments: tuple[Any, ...], asks: bool) -> None:  # noqa: FBT001
    os.nice(NICENESS)
    limit_memory(memory_bytes)

    def ask(question: Any) -> Any:  # noqa: ANN401 - of the call
        parent.send((False, question))
        reply = parent.recv()
        if isinstance(reply, Exception):
            raise reply
        return reply

    try:
        result = work(*arguments, *([ask] if asks else []))
    except MemoryError:
        os._exit(1)
    except EvenhandError as error:
        result = error
    except Exception as error:  # noqa: BLE001 - any error must reach the other process
        # Errors of libraries may not survive the way.
        result = RuntimeError("".join(traceback.format_exception(error)))
    parent.send((True, result))
