"""A model server in a process of its own, slow or faulty on demand: POST /control sets the fault, GET /counts tells what it saw.

python -m tests.crashes.model [PORT]     # prints the port
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from typing import Any

import httpx
import msgspec

from tests.models.faulty import Fault, FaultyServer
from tests.models.serving import Reply, running
from tests.ports import free_port


class ControlledServer(FaultyServer):
    """Obeys whoever posts `{fault, delay_seconds}` to /control."""

    def handled(self, path: str, body: bytes, headers: Message) -> Reply:
        """As the base class; but orders are not counted."""
        if path != "/control":
            return super().handled(path, body, headers)
        order = msgspec.json.decode(body)
        with self.lock:
            self.fault = Fault(order["fault"])
            self.delay_seconds = float(order["delay_seconds"])
        return Reply(200, b"{}")

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver's signature
        """Says nothing: clients are killed in the middle of a request."""


class ModelProcess:
    """The handle of a running one."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self._process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}/score"

    def behave(self, fault: Fault = Fault.NONE, *, delay_seconds: float = 0.0) -> None:
        """From now on."""
        order = {"fault": fault.value, "delay_seconds": delay_seconds}
        httpx.post(f"http://127.0.0.1:{self.port}/control", json=order).raise_for_status()

    def slow(self, seconds: float) -> None:
        """Each page takes that long from now on."""
        self.behave(Fault.SLOW, delay_seconds=seconds)

    def rows(self) -> int:
        """Rows it was asked to score, so far."""
        return int(httpx.get(f"http://127.0.0.1:{self.port}/counts").json()["rows"])

    def kill(self) -> None:
        """Ends it without a word."""
        self._process.kill()
        self._process.wait()


@contextmanager
def model_process(port: int | None = None) -> Iterator[ModelProcess]:
    """The rule of `RuleScorer` behind HTTP, until the block ends."""
    command = (sys.executable, "-m", "tests.crashes.model", str(port or free_port()))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield ModelProcess(process, int(process.stdout.readline()))
        finally:
            process.kill()


if __name__ == "__main__":
    with running(ControlledServer(Fault.NONE, port=int(sys.argv[1]))) as started:
        sys.stdout.write(f"{started.server_port}\n")
        sys.stdout.flush()
        while True:
            time.sleep(3600)
