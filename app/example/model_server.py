"""Serves the model over HTTP in its own process, as a team that has never heard of Evenhand would.

`POST /score` takes `{"fields": [...], "values": [[...]]}` and answers in the same form.
"""

import contextlib
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from .model import train
from .serving import ModelServer

OUTPUTS = {"prediction": "prediction", "probability": "probability", "label": "predictedLabel"}
"""Names of the columns in the model's response."""

PORT_FILE = "example-model.port"


@contextlib.contextmanager
def model_listener(folder: Path) -> Iterator[socket.socket]:
    """Yields a listening socket on loopback; on the port of the last run if it is free, so that the stored endpoint stays right."""
    remembered = folder / PORT_FILE
    port = 0
    with contextlib.suppress(OSError, ValueError):
        port = int(remembered.read_text(encoding="ascii"))
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError):
        listener = socket.create_server(("127.0.0.1", 0))
    with listener:
        remembered.write_text(str(listener.getsockname()[1]), encoding="ascii")
        yield listener


def main() -> None:
    """Trains, then serves on the socket whose descriptor is the only argument, until killed."""
    model = train()
    ModelServer(
        socket.socket(fileno=int(sys.argv[1])),
        lambda _path, asked: {"fields": list(OUTPUTS.values()), "values": model.predict(asked["fields"], asked["values"])},
    ).serve_forever()


if __name__ == "__main__":
    main()
