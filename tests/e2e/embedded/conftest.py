"""Folders for servers. Not pytest's own: they are closed to the account that stands in for root."""

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database.embedded.embedded_server import EmbeddedPostgres, find_postmaster


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that every account can reach; what runs in it at the end is killed."""
    base = Path(tempfile.mkdtemp(prefix="evenhand-test-"))
    base.chmod(0o711)
    yield base
    for pid_file in base.rglob("postmaster.pid"):
        running = find_postmaster(pid_file.parent)
        if running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGKILL)
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedPostgres]:
    """A running server on `folder / "data"`."""
    server = EmbeddedPostgres(folder / "data", system_dir=folder / "system")
    server.start()
    yield server
    server.stop()
