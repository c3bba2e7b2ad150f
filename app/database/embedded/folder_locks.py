"""Locks between processes that share a data folder. The kernel releases them."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ...base.errors import SetupError

WAIT_SECONDS = 90.0
POLL_SECONDS = 0.02


@contextlib.contextmanager
def one_at_a_time(data_dir: Path) -> Iterator[None]:
    descriptor = _open(data_dir / ".postgres.starting.lock")
    try:
        deadline = time.monotonic() + WAIT_SECONDS
        while not _take(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise SetupError(
                    f"Another process has been starting or stopping the database in {data_dir} for "
                    f"{WAIT_SECONDS:.0f} seconds."
                )
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


class Users:
    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / ".postgres.users.lock"
        self._descriptor: int | None = None

    def join(self) -> None:
        """Once. Call while holding `one_at_a_time`."""
        if self._descriptor is None:
            self._descriptor = _open(self._path)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def leave(self) -> bool:
        """Whether it was the last. Call while holding `one_at_a_time`."""
        if self._descriptor is None:
            return False
        try:
            return _take(self._descriptor, fcntl.LOCK_EX)
        finally:
            os.close(self._descriptor)
            self._descriptor = None


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SetupError(
            f"{path} cannot be opened: {error}. Run as the user who owns the data folder."
        ) from error


def _take(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
