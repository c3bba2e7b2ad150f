"""MLflow models that are loaded where copies are asked about, in the place of an endpoint."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx

from ...base.errors import EndpointDown, ScoringFailed
from ...base.settings import count_cores
from ...base.values import printable
from ..model_uris import check_files
from . import model_process
from .ask_page import MAX_ANSWER_BYTES
from .model_process import HEAD, OK, SIZE, ModelNotLoaded, PageAnswer, answer_page, load_model

MAX_RESTARTS = 1

_MAX_REASON_CHARACTERS = 1000

_SECRET_PREFIXES = ("EVENHAND_", "DATABASE_", "PG")
"""A model's code does not get variables that begin so: they hold the worker's secrets."""


class _ModelEnded(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.manner = (
            f"was ended by signal {-status} ({signal.strsignal(-status)})"
            if status < 0
            else f"ended with exit status {status}"
        )


class ModelProcesses(httpx.AsyncBaseTransport):
    """Child processes with the model, one for each page in flight; end with this process or by `close`."""

    def __init__(self, uri: str, prefixes: Sequence[str]) -> None:
        self.max_at_once = count_cores()
        self._uri = uri
        self._prefixes = tuple(prefixes)
        self._idle: list[_Child] = []
        self._crashes = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Asks an idle process. One that ended by itself is replaced once.

        Raises:
            EndpointDown: another one ended by itself.
            ScoringFailed: the model cannot be loaded.
        """
        while True:
            child = (
                self._idle.pop() if self._idle else _Child(self._uri, check_files(self._uri, self._prefixes))
            )
            try:
                answer = await asyncio.to_thread(child.ask, request.content)
            except _ModelEnded as ended:
                child.end()
                self._crashes += 1
                if self._crashes > MAX_RESTARTS:
                    raise EndpointDown(
                        f"The process of the MLflow model {self._uri} {ended.manner}, and again after a "
                        "restart. Answers until then are kept. Signal 9 mostly means that memory ran out: "
                        "reduce endpoint.concurrency or endpoint.page_size, or give the worker more. Then "
                        "check again."
                    ) from ended
                continue
            except BaseException:  # a time-out or a cancelled check among them
                child.end()
                raise
            if not child.is_ended:
                self._idle.append(child)
            return httpx.Response(answer.status, content=answer.body)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().end()


class _Child:
    """Child process with the model, started by its first page."""

    def __init__(self, uri: str, location: str) -> None:
        self._uri = uri
        self._location = location
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.is_ended = False

    def ask(self, page: bytes) -> PageAnswer:
        """Blocks. Raises _ModelEnded, or ScoringFailed if the model cannot be loaded."""
        with self._lock:
            if self.is_ended:
                raise _ModelEnded(-signal.SIGKILL)
            is_new = self._process is None
            if self._process is None:
                self._process = subprocess.Popen(  # noqa: S603 - our own program; its argument is an allowed URI
                    [sys.executable, "-P", str(Path(model_process.__file__)), self._location],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={
                        name: value
                        for name, value in os.environ.items()
                        if not name.startswith(_SECRET_PREFIXES)
                    },
                    start_new_session=True,
                )
            process = self._process
        if is_new:
            loading = self._read(process)
            if loading.status != OK:
                raise _build_load_error(self._uri, loading.body.decode(errors="replace"))
        assert process.stdin is not None  # noqa: S101 - opened as a pipe
        try:
            process.stdin.write(SIZE.pack(len(page)) + page)
            process.stdin.flush()
        except OSError as error:
            raise _ModelEnded(process.wait()) from error
        return self._read(process)

    def end(self) -> None:
        with self._lock:
            self.is_ended = True
            process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _read(self, process: subprocess.Popen[bytes]) -> PageAnswer:
        assert process.stdout is not None  # noqa: S101 - opened as a pipe
        head = process.stdout.read(HEAD.size)
        if len(head) == HEAD.size:
            status, size = HEAD.unpack(head)
            # The model's code may have written any size.
            body = process.stdout.read(min(size, MAX_ANSWER_BYTES + 1))
            if size > MAX_ANSWER_BYTES:
                self.end()
                return PageAnswer(status, body)
            if len(body) == size:
                return PageAnswer(status, body)
        raise _ModelEnded(process.wait())


def _build_load_error(uri: str, reason: str) -> ScoringFailed:
    return ScoringFailed(
        f"The MLflow model {uri} cannot be loaded: {printable(reason, _MAX_REASON_CHARACTERS)}"
    )


class InProcessModel(httpx.AsyncBaseTransport):
    """Loads the model once for each `turn`, in this process, an executor's."""

    max_at_once = 1

    def __init__(self, uri: str, prefixes: Sequence[str], turn: str) -> None:
        self._uri = uri
        self._prefixes = tuple(prefixes)
        self._turn = turn

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            model = _load_once(self._uri, self._prefixes, self._turn)
        except ModelNotLoaded as error:
            raise _build_load_error(self._uri, str(error)) from error
        answer = answer_page(model, request.content)
        return httpx.Response(answer.status, content=answer.body)

    def close(self) -> None:
        """Keeps the model for the next piece."""


@lru_cache(maxsize=1)
def _load_once(uri: str, prefixes: tuple[str, ...], turn: str) -> Any:  # noqa: ANN401, ARG001 - a model of a package that few have; part of the key
    # Once, too: there may be thousands of files.
    return load_model(check_files(uri, prefixes))


LoadedModel = ModelProcesses | InProcessModel
