"""`evenhand example` in a process of its own, for the tests of the pages and for screenshots of them."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.database.embedded.embedded_server import find_postmaster

REPOSITORY = Path(__file__).resolve().parents[1]
KEY = re.compile(r"evk_[a-z2-7]{8}_[A-Za-z0-9_-]{43}")
TOLD = "A series, day by day"
"""The last words before the example does nothing but stream."""


@dataclass(frozen=True)
class Example:
    """Where it is, its data folder, a key for it, and a client that holds the key."""

    base_url: str
    data_dir: Path
    key: str
    client: httpx.Client


@contextlib.contextmanager
def running_example(*, hours: int, settings: Mapping[str, str] | None = None) -> Iterator[Example]:
    """The example with its results shown, until the block ends; nothing of it is left then. `settings` are further variables.

    Raises:
        RuntimeError: it ended before it came to its results.
    """
    # Not pytest's own folder: it is closed to the account that stands in for root.
    folder = Path(tempfile.mkdtemp(prefix="evenhand-pages-"))
    folder.chmod(0o711)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "NO_COLOR", "FORCE_COLOR"}}
    environment |= {"EVENHAND_DATA_DIR": str(folder / "data"), "EVENHAND_PORT": str(port), "TMPDIR": str(folder), "COLUMNS": "80"}
    environment |= settings or {}
    printed = folder / "printed.txt"
    command = [sys.executable, "-m", "app.cli", "example", "--hours", str(hours)]
    try:
        with (
            printed.open("w") as output,
            subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=output, stderr=output) as process,
        ):
            try:
                key = _key_when_told(printed, process)
                base_url = f"http://127.0.0.1:{port}"
                headers = {"Authorization": f"Bearer {key}"}
                with httpx.Client(base_url=base_url, headers=headers, trust_env=False) as client:
                    yield Example(base_url, folder / "data", key, client)
            finally:
                process.send_signal(signal.SIGINT)
                process.wait()
    finally:
        running = find_postmaster(folder / "data" / "postgres")
        if running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def _key_when_told(printed: Path, process: "subprocess.Popen[bytes]") -> str:
    while TOLD not in printed.read_text():
        if process.poll() is not None:
            raise RuntimeError(f"The example did not come to its results:\n{printed.read_text()}")
        time.sleep(0.2)
    return str(KEY.findall(printed.read_text())[0])
